"""How long it takes to hold two long runs against each other, and to look at what came of it.

    python -m bench.compare [--effects 2000] [--every 7]

The second run is the first with every seventh answer of a model worded otherwise. Prints the first
look (both are read, paired and compared), then, once all is indexed for search, the page again, a
pair far down, and the API.
"""

from __future__ import annotations

import argparse
import statistics
import time
from typing import Any

import orjson

from bench.product import Client, Product, percentile

REPEAT = 15


def send_both(client: Client, effects: int, every: int) -> None:
    import workload

    run = workload.big_run(effects=effects)
    records = workload.rig_log(run)["records"]
    header = workload.rig_log(run)["header"]
    send(client, "a", header, records)
    send(client, "b", header, [reworded(one, n, every) for n, one in enumerate(records)])


def reworded(record: Any, number: int, every: int) -> Any:
    ok = record["outcome"].get("Ok", {})
    if number % every or "choice" not in ok:
        return record
    choice = [{**part, "text": f"{part['text']} Indeed."} if "text" in part else part
              for part in ok["choice"]]  # fmt: skip
    return {**record, "outcome": {"Ok": {**ok, "choice": choice}}}


def send(client: Client, name: str, header: Any, records: list[Any]) -> None:
    body = {"run": {"id": name, "name": name}, "log": {"header": header, "records": records}}
    status, answer = client.send("POST", "/api/v1/runs", orjson.dumps(body))
    assert status == 201, answer[:300]


def took(client: Client, path: str) -> float:
    began = time.perf_counter()
    status, body = client.send("GET", path)
    assert status == 200, (path, status, body[:200])
    return (time.perf_counter() - began) * 1000


def measure(effects: int, every: int) -> None:
    with Product() as product:
        program, person = product.client(), product.client().sign_in(product.link)
        send_both(program, effects, every)
        page = "/p/main/compare?a=a&b=b"
        print(f"first look at two runs of {effects:,} effects: {took(person, page):.0f} ms")
        product.rest()
        looks = {
            "page": page,
            "a pair far down": f"{page}&at=a{effects - 10}&after=a{effects - 60}",
            "changed only": f"{page}&changed=on",
        }
        for name, path in looks.items():
            tell(name, [took(person, path) for _ in range(REPEAT + 1)][1:])
        api = "/api/v1/compare?a=a&b=b"
        tell("API", [took(program, api) for _ in range(REPEAT + 1)][1:])


def tell(name: str, times: list[float]) -> None:
    print(f"{name}: p50 {statistics.median(times):.0f} ms, p95 {percentile(times, 0.95):.0f} ms")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--effects", type=int, default=2000)
    parser.add_argument("--every", type=int, default=7)
    given = parser.parse_args()
    measure(given.effects, given.every)
