"""How many runs a second become visible, from several clients at once.

    python -m bench.ingest [--runs 10000] [--clients 4]

Bodies are those of shared/bench/workload.py (12 effects, 70 KB a run on average), made before the
clock starts. Prints runs a second, the delay from a POST's answer to the run being listed, bytes
stored of bytes sent (without and for search), and memory before and after. DATABASE_URL chooses the
database.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sqlite3
import statistics
import tempfile
import time
from contextlib import closing
from dataclasses import dataclass
from multiprocessing.sharedctypes import Synchronized
from pathlib import Path

from bench.limits import bare_store
from bench.product import Client, Product, percentile


@dataclass
class Bodies:
    """Bodies in a file, so that memory holds one at a time, and where each begins."""

    path: Path
    places: list[tuple[int, int]]


def make_bodies(path: Path, count: int) -> Bodies:
    import workload

    places = []
    with path.open("wb") as file:
        for run in workload.runs(count, seed=1):
            body = workload.to_post(run)
            places.append((file.tell(), len(body)))
            file.write(body)
    return Bodies(path, places)


def send_all(
    port: int,
    key: str,
    bodies: Bodies,
    sent: Synchronized[int],
    results: multiprocessing.Queue[list[float]],
) -> None:
    """Send whatever body is next, until all are sent: no client is done before the others."""
    client, took = Client(port, key), []
    with bodies.path.open("rb") as file:
        while (place := next_place(bodies, sent)) is not None:
            file.seek(place[0])
            body = file.read(place[1])
            began = time.perf_counter()
            status, answer = client.send("POST", "/api/v1/runs", body)
            took.append(time.perf_counter() - began)
            assert status == 201, answer[:300]
    results.put(took)


def next_place(bodies: Bodies, sent: Synchronized[int]) -> tuple[int, int] | None:
    with sent.get_lock():
        number = sent.value
        sent.value += 1
    return bodies.places[number] if number < len(bodies.places) else None


def visible_delay(product: Product, first: int, count: int = 50) -> list[float]:
    """Seconds from a POST's answer until the read API shows that run."""
    import workload

    client, delays = product.client(), []
    for run in workload.runs(count, seed=2, first=first):
        status, _ = client.send("POST", "/api/v1/runs", workload.to_post(run))
        assert status == 201
        began = time.perf_counter()
        while client.send("GET", f"/api/v1/runs/{run['run_id']}")[0] != 200:
            pass
        delays.append(time.perf_counter() - began)
    return delays


def stored_bytes(product: Product) -> tuple[int, int]:
    """Bytes of the tables with their indexes: without those for search, and those for search.

    SQLite's by the pages, those that stand in its log yet too; a page is told by its table.
    """
    url = os.environ.get("DATABASE_URL", "")
    if url.startswith("postgres"):
        import psycopg

        with psycopg.connect(url) as db:
            found = db.execute(
                "SELECT relname, pg_total_relation_size(oid) FROM pg_class"
                " WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace"
            ).fetchall()
    else:
        with closing(sqlite3.connect(product.home / "db.sqlite3")) as file:
            found = file.execute(
                "SELECT coalesce(tbl_name, name), sum(pgsize) FROM dbstat"
                " LEFT JOIN sqlite_master USING (name) GROUP BY 1"
            ).fetchall()
    searched = sum(size for table, size in found if "search" in table)
    return sum(size for _, size in found) - searched, searched


def send_from(product: Product, bodies: Bodies, clients: int) -> tuple[float, list[float]]:
    """Send every body once; the seconds it took, and those of each POST."""
    results: multiprocessing.Queue[list[float]] = multiprocessing.Queue()
    sent = multiprocessing.Value("q", 0)
    senders = [
        multiprocessing.Process(
            target=send_all, args=(product.port, product.key, bodies, sent, results)
        )
        for _ in range(clients)
    ]
    began = time.perf_counter()
    for sender in senders:
        sender.start()
    took = [t for times in (results.get() for _ in senders) for t in times]
    return time.perf_counter() - began, took


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--clients", type=int, default=4)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        bodies = make_bodies(Path(folder) / "bodies", options.runs)
        import workload

        sample = [workload.to_post(run) for run in workload.runs(400, seed=3)]
        print(f"machine: {bare_store(sample):.0f} runs/s compressed and written by bare code")
        with Product() as product:
            measure(product, bodies, options.clients)


def measure(product: Product, bodies: Bodies, clients: int) -> None:
    (empty, _), before = stored_bytes(product), product.rss_mib()
    count, sent = len(bodies.places), sum(size for _, size in bodies.places)
    seconds, took = send_from(product, bodies, clients)
    after, (full, searched) = product.rss_mib(), stored_bytes(product)
    print(f"product: {count / seconds:.0f} runs/s from {clients} clients ({count} runs)")
    p50, p95 = percentile(took, 0.5) * 1e3, percentile(took, 0.95) * 1e3
    print(f"POST: p50 {p50:.1f} ms, p95 {p95:.1f} ms, slowest {max(took) * 1e3:.0f} ms")
    share, each = (full - empty) / sent, (full - empty) / count / 1e3
    print(f"stored: {share:.1%} of {sent / 1e6:.0f} MB sent, {each:.1f} KB a run,")
    print(f"        and {searched / sent:.1%} for search, of what is indexed yet")
    print(f"memory: {before:.0f} MiB before, {after:.0f} MiB after, all processes")
    delays = visible_delay(product, first=count * 2)
    print(
        f"visible after POST: median {statistics.median(delays) * 1e3:.1f} ms,"
        f" slowest {max(delays) * 1e3:.1f} ms"
    )


if __name__ == "__main__":
    main()
