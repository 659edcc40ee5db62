"""What a call of an experiment costs beside the provider's own time.

    python -m bench.experiment [--runs 100] [--models 3] [--delay 20] [--parallel 4]

Starts a provider on loopback, in a process of its own, that takes `--delay` ms a call, and the
product; sends it runs of the workload (5 model calls on average), starts one experiment of all runs
and models by API and waits for its end. Overhead a call = wall × parallel ÷ calls − delay.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from bench.product import ROOT, Client, Product, free_port


def provider(port: int, delay_ms: float) -> subprocess.Popen[bytes]:
    """The fake provider, answering a text after its delay."""
    rules = [{"delay_ms": delay_ms, "answer": {"text": "It is done.", "usage": USAGE}}]
    file = Path(tempfile.mkstemp(suffix=".json")[1])
    file.write_text(json.dumps(rules))
    command = ["manage.py", "fake_provider", "--port", str(port), "--rules", str(file)]
    process = subprocess.Popen(
        [sys.executable, *command], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert process.stdout is not None
    process.stdout.readline()  # it listens
    return process


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


def experiment(client: Client, names: list[str], models: int) -> tuple[float, float, Any]:
    """Seconds until it was planned and queued, seconds from then until it was over, its end."""
    asked = {"runs": names, "models": [f"openai:bench-{n}" for n in range(models)]}
    began = time.monotonic()
    status, answer = client.send("POST", "/api/v1/experiments", json.dumps(asked).encode())
    assert status == 201, answer
    queued = time.monotonic()
    path = f"/api/v1/experiments/{json.loads(answer)['id']}"
    while not (found := client.get(path))["finished"]:
        time.sleep(0.5)
    return queued - began, time.monotonic() - queued, found


def measure(asked: argparse.Namespace) -> None:
    port = free_port()
    fake = provider(port, asked.delay)
    environment = {
        "OPENAI_API_KEY": "any",
        "OPENAI_BASE_URL": f"http://127.0.0.1:{port}/v1",
        "WORKER_CONCURRENCY": str(asked.workers),
        "REPLAY_PARALLEL_CALLS": str(asked.parallel // asked.workers),
    }
    try:
        with Product(None, **environment) as product:
            names = send_runs(product.client(), asked.runs)
            product.rest()
            before = product.cpu_seconds()
            planned, wall, found = experiment(product.client(), names, asked.models)
            used = product.cpu_seconds() - before
    finally:
        fake.terminate()
        fake.wait(10)
    calls = sum(one["calls"] for one in found["candidates"])
    overhead = wall * 1000 * asked.parallel / calls - asked.delay
    print(f"{found['status']}: {asked.runs} runs × {asked.models} models, {calls:,} calls")
    print(f"planned and queued in {planned * 1000:.0f} ms, done in {wall:.1f} s")
    print(f"{calls / wall:.0f} calls/s at {asked.parallel} parallel ({asked.workers} replays)")
    print(f"{used * 1000 / calls:.1f} ms of CPU a call, the worker's and all else of the product")
    print(f"overhead a call {overhead:.1f} ms beside the provider's {asked.delay:g} ms")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--models", type=int, default=3)
    parser.add_argument("--delay", type=float, default=20.0)
    parser.add_argument("--parallel", type=int, default=4)
    parser.add_argument("--workers", type=int, default=1, help="replays at once")
    measure(parser.parse_args())
