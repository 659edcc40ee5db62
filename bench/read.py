"""How long lists, pages and effects take over a large store.

    python -m bench.read [--runs 100000] [--home FOLDER]

Fills the store with 4,000 runs through the ordinary door and copies of their rows (`bench.copies`;
`--home` keeps it for the next time), then times the list API and page (filtered too), an effect, a
run page and a window of a 2,000-effect run.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import time
from pathlib import Path
from urllib.parse import quote

from bench.copies import multiply
from bench.product import Client, Product, percentile

REPEAT = 60
FILTERS = (
    "",
    "status=failed",
    "status=cancelled",
    "agent=code-reviewer",
    "environment=staging",
    "model=gpt-4o",
    "tool=run_sql",
    "agent=code-reviewer&status=failed&environment=production",
    "session=nobody",
    "cost_min=0.2",
    "kind=replay",
    "has_errors=yes",
)
SENT = 4000
"""Runs that come in through the door."""


def fill(port: int, key: str, first: int, count: int) -> None:
    import workload

    client = Client(port, key)
    for run in workload.runs(count, seed=1, first=first):
        status, answer = client.send("POST", "/api/v1/runs", workload.to_post(run))
        assert status in (200, 201), answer[:300]


def fill_all(product: Product, count: int, clients: int = 3) -> None:
    each = count // clients + 1
    jobs = [
        multiprocessing.Process(target=fill, args=(product.port, product.key, i * each, each))
        for i in range(clients)
    ]
    began = time.monotonic()
    for job in jobs:
        job.start()
    for job in jobs:
        job.join()
    print(f"filled {count} runs in {time.monotonic() - began:.0f} s")


def timed(client: Client, path: str, repeat: int = REPEAT) -> tuple[float, float]:
    """(p50, p95) in milliseconds of GET `path`."""
    took = []
    for _ in range(repeat):
        began = time.perf_counter()
        status, body = client.send("GET", path)
        took.append((time.perf_counter() - began) * 1e3)
        assert status == 200, f"GET {path}: {status} {body[:200]!r}"
    return percentile(took, 0.5), percentile(took, 0.95)


def show(what: str, figures: tuple[float, float]) -> None:
    print(f"{what:<70} p50 {figures[0]:6.1f} ms   p95 {figures[1]:6.1f} ms")


def measure(product: Product) -> None:
    import workload

    api = product.client()
    web = Client(product.port).sign_in(product.link)
    project = api.get("/api/v1/me")["project"]
    show("machine and stack: /healthz", timed(api, "/healthz"))
    for query in FILTERS:
        show(f"list API ?{query}", timed(api, f"/api/v1/runs?limit=50&{query}"))
    for query in FILTERS:
        show(f"list page ?{query}", timed(web, f"/p/{project}/runs?{query}"))
    api = product.client()  # the server closes one that has been silent for long
    run = api.get("/api/v1/runs?limit=50")["results"][7]["id"]
    show("run page", timed(web, f"/p/{project}/runs/{quote(run)}"))
    show("effect API", timed(api, f"/api/v1/runs/{quote(run)}/effects/5"))
    show("effect page", timed(web, f"/p/{project}/runs/{quote(run)}?at=5"))
    big = workload.big_run(effects=2000)
    status, answer = api.send("POST", "/api/v1/runs", workload.to_post(big))
    assert status in (200, 201), answer[:300]
    name = json.loads(answer)["run_id"]
    show("2,000-effect run: page", timed(web, f"/p/{project}/runs/{name}?at=1000"))
    show(
        "2,000-effect run: window API",
        timed(api, f"/api/v1/runs/{name}/effects?after=900&limit=250"),
    )
    show("2,000-effect run: one effect API", timed(api, f"/api/v1/runs/{name}/effects/1000"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=100_000)
    parser.add_argument("--home", type=Path)
    options = parser.parse_args()
    with Product(options.home) as product:
        marker = product.home / f"filled-{options.runs}"
        if not marker.exists():
            sent = min(options.runs, SENT)
            fill_all(product, sent)
            database = os.environ.get("DATABASE_URL") or str(product.home / "db.sqlite3")
            began = time.monotonic()
            count = multiply(database, options.runs // sent - 1)
            print(f"{count} runs after {time.monotonic() - began:.0f} s of copying")
            marker.touch()
        measure(product)


if __name__ == "__main__":
    main()
