"""`manage.py up` as a person meets it: three lines, a port, data that stays, a quick stop."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from started import ROOT, Started, free_port, needs_curl, up

pytestmark = pytest.mark.slow


@dataclass
class Twice:
    """What was seen of a first start on an empty home, and the second start on it."""

    home: Path
    first: Started
    runs: list[str]
    ready: dict[str, Any]
    stopped_in: float
    second: Started
    runs_again: list[str]


@pytest.fixture(scope="module")
def twice(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Twice]:
    home, port = tmp_path_factory.mktemp("start") / "home", free_port()
    with up(home, port) as first:
        runs, ready = run_ids(first), first.get("/readyz")
        assert first.get("/healthz")["status"] == "ok"
        stopped_in = first.stop()
    with up(home, port) as second:
        yield Twice(home, first, runs, ready, stopped_in, second, run_ids(second))


def modes_of_the_database(home: Path) -> set[int]:
    """Of the file and SQLite's own two beside it; the lock of `bulk.turn` holds nothing."""
    files = [home / f"db.sqlite3{end}" for end in ("", "-wal", "-shm")]
    return {path.stat().st_mode & 0o777 for path in files if path.exists()}


def added_provider_on_this_machine(started: Started) -> int:
    given = {"kind": "compatible", "base_url": "http://127.0.0.1:9/v1", "key": "any"}
    request = Request(
        f"{started.base}/api/v1/providers/mine",
        json.dumps(given).encode(),
        {"Authorization": f"Bearer {started.key}", "Content-Type": "application/json"},
        method="PUT",
    )
    with urlopen(request, timeout=10) as answer:
        return int(answer.status)


def run_ids(started: Started) -> list[str]:
    return [run["id"] for run in started.get("/api/v1/runs")["results"]]


def test_the_first_start_shows_the_demo(twice: Twice) -> None:
    parts = ("database", "worker", "disk")
    assert len(twice.runs) >= 10
    assert {part: twice.ready[part] for part in parts} == dict.fromkeys(parts, "ok")


def test_an_interrupt_ends_it_soon(twice: Twice) -> None:
    assert twice.stopped_in < 15  # 3 s is the promise on an idle machine: bench.start


def test_the_second_start_keeps_everything(twice: Twice) -> None:
    assert twice.second.seconds < 30  # 3 s is the promise on an idle machine: bench.start
    assert twice.second.key == twice.first.key
    assert twice.second.link != twice.first.link
    assert twice.runs_again == twice.runs


@needs_curl
def test_the_printed_curl_works_as_printed(twice: Twice) -> None:
    done = subprocess.run(
        ["bash", "-c", f"{twice.second.curl} --silent --write-out '\\n%{{http_code}}'"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=30,
    )
    answer, status = done.stdout.rsplit("\n", 1)
    assert status in ("200", "201"), answer
    assert json.loads(answer)["effects"]["stored"] == 2


def test_the_key_and_secret_are_readable_to_their_owner_only(twice: Twice) -> None:
    for name in ("key", "secret_key"):
        assert (twice.home / name).stat().st_mode & 0o777 == 0o600


def test_without_the_demo_on_a_taken_port_and_after_a_kill(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir(mode=0o755)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with up(tmp_path / "home", port, REWYN_DEMO="0") as started:
            assert f"Port {port} is taken" in started.log.read_text()
            assert started.base != f"http://127.0.0.1:{port}"
            assert started.get("/healthz")["status"] == "ok"
            assert started.get("/api/v1/runs")["results"] == []
            assert modes_of_the_database(tmp_path / "home") == {0o600}
            assert added_provider_on_this_machine(started) == 201
            assert refusals_of_a_large_body(started.base) == [401] * 5
            os.kill(started.process.pid, signal.SIGKILL)
            started.process.wait(5)
            assert nobody_answers(started.base, within=15)
    with up(tmp_path / "home", free_port(), REWYN_DEMO="0") as again:
        assert again.get("/healthz")["status"] == "ok"


def nobody_answers(base: str, within: float) -> bool:
    """Whether the web processes end with the one that started them."""
    until = time.monotonic() + within
    while time.monotonic() < until:
        try:
            urlopen(f"{base}/healthz", timeout=5).close()
        except OSError:
            return True
        time.sleep(0.2)
    return False


def refusals_of_a_large_body(base: str) -> list[int]:
    """A server that closes on who has not listened yet hides its answer."""
    asked = Request(f"{base}/api/v1/runs", b"x" * 5_000_000, {"Authorization": "Bearer rw_no"})
    found = []
    for _ in range(5):
        with pytest.raises(HTTPError) as refusal:
            urlopen(asked, timeout=30)
        refusal.value.close()
        found.append(refusal.value.code)
    return found
