"""What a call of an experiment costs beside the provider's own time.

    python -m bench.experiment [--runs 100] [--models 3] [--delay 20] [--parallel 4] [--replays 4]

Starts a provider on loopback, in this process, that takes `--delay` ms a call, and the product;
sends it runs of the workload (5 model calls on average), starts one experiment of all runs and
models by API and waits for its end. Overhead a call = wall × parallel ÷ calls − delay.

The product has two web processes, each with a worker. Both together go on with `--replays` at once,
and have `--parallel` calls in the air at most: by WORKER_PARALLEL_CALLS, half of them each, or with
`--by provider` by the limit of the project's provider, which holds for all workers together. The
provider says how many there were, the experiment when it was over.
"""

from __future__ import annotations

import argparse
import json
import time
from datetime import datetime
from typing import Any

from bench.product import Client, Product
from replay.fake_provider import FakeProvider

PROCESSES = 2
LEFT_FREE = 2
"""Threads of each worker that no single provider has (`replay.lanes`)."""


def provider(delay_ms: float) -> FakeProvider:
    """The fake provider, answering a text after its delay."""
    return FakeProvider([{"delay_ms": delay_ms, "answer": {"text": "It is done.", "usage": USAGE}}])


KEY = "sk-of-the-bench"
USAGE = {"input": 1200, "output": 90}


def send_runs(client: Client, count: int) -> list[str]:
    import workload

    names = []
    for number, run in enumerate(workload.runs(count, seed=1)):
        body = json.loads(workload.to_post(run))
        body["run"]["id"] = f"bench-{number}"
        status, answer = client.send("POST", "/api/v1/runs", json.dumps(body).encode())
        assert status in (200, 201), answer
        names.append(f"bench-{number}")
    return names


def limit_provider(client: Client, base_url: str, parallel: int) -> None:
    """The project's own `limited`, which takes so many calls at once."""
    told = {"kind": "compatible", "base_url": base_url, "key": KEY, "parallel": parallel}
    status, answer = client.send("PUT", "/api/v1/providers/limited", json.dumps(told).encode())
    assert status == 201, answer


def experiment(
    client: Client, names: list[str], models: int, provider: str = "openai"
) -> tuple[float, float, Any]:
    """Seconds until it was planned and queued, seconds from then until it was over, its end."""
    asked = {"runs": names, "models": [f"{provider}:bench-{n}" for n in range(models)]}
    began = time.monotonic()
    status, answer = client.send("POST", "/api/v1/experiments", json.dumps(asked).encode())
    assert status == 201, answer
    queued, at = time.monotonic(), time.time()
    path = f"/api/v1/experiments/{json.loads(answer)['id']}"
    while not (found := client.get(path))["finished"]:
        time.sleep(0.5)
    assert found["status"] == "succeeded", found
    ended = datetime.fromisoformat(found["finished_at"]).timestamp()
    return queued - began, ended - at, found


def measure(asked: argparse.Namespace) -> None:
    with provider(asked.delay) as fake:
        environment = {
            "OPENAI_API_KEY": KEY,
            "OPENAI_BASE_URL": fake.openai_base_url,
            "WEB_WORKERS": str(PROCESSES),
            "WORKER_CONCURRENCY": str(asked.replays // PROCESSES + LEFT_FREE),
        }
        if asked.by == "worker":
            environment["WORKER_PARALLEL_CALLS"] = str(asked.parallel // PROCESSES)
        with Product(None, **environment) as product:
            client = product.client()
            names = send_runs(client, asked.runs)
            product.rest()
            if asked.by == "provider":
                limit_provider(client, fake.openai_base_url, asked.parallel)
            asks = "limited" if asked.by == "provider" else "openai"
            if asked.warm:  # the client libraries are imported
                experiment(client, names[:20], 1, asks)
            before, mine = product.cpu_seconds(), time.process_time()
            planned, wall, found = experiment(client, names, asked.models, asks)
            used, mine = product.cpu_seconds() - before, time.process_time() - mine
    calls = sum(one["calls"] for one in found["candidates"])
    overhead = wall * 1000 * asked.parallel / calls - asked.delay
    print(f"{found['status']}: {asked.runs} runs × {asked.models} models, {calls:,} calls")
    print(f"planned and queued in {planned * 1000:.0f} ms, done in {wall:.1f} s")
    print(
        f"{calls / wall:.0f} calls/s of {asked.replays} replays at once, {fake.peak} calls at most"
    )
    print(f"{used * 1000 / calls:.1f} ms of CPU a call, the workers' and all else of the product")
    print(f"{mine * 1000 / calls:.1f} ms of CPU a call of the provider beside it")
    print(f"overhead a call {overhead:.1f} ms beside the provider's {asked.delay:g} ms")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--models", type=int, default=3)
    parser.add_argument("--delay", type=float, default=20.0)
    parser.add_argument("--parallel", type=int, default=4)
    parser.add_argument("--replays", type=int, default=8, help="at once, in both processes")
    parser.add_argument("--by", choices=("worker", "provider"), default="worker")
    parser.add_argument("--warm", action="store_true", help="after a small experiment before it")
    measure(parser.parse_args())
