"""The product started as `make run` starts it, for tests that talk to it from outside."""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
LINES = re.compile(r"^Open  (http://\S+)\nKey   (rw_\S+)\nTry   (curl .+)$", re.M)

needs_curl = pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")


GIVEN_TO_NOBODY = range(20_000, 30_000)
"""Below the ports that a system gives to whoever asks for any: else a server or a connection of
another test may have taken the one that was found before it is used."""


def free_port() -> int:
    while True:
        port = secrets.choice(GIVEN_TO_NOBODY)  # `random` begins alike in all processes of a run
        with suppress(OSError), socket.socket() as probe:
            probe.bind(("127.0.0.1", port))
            return port


class Started:
    def __init__(self, process: subprocess.Popen[bytes], log: Path, began: float) -> None:
        self.process, self.log = process, log
        text = wait_for(lambda: LINES.search(log.read_text()), process)
        self.seconds = time.monotonic() - began
        self.link, self.key, self.curl = text.groups()
        self.base = re.match(r"http://[^/]+", self.link).group(0)

    def get(self, path: str) -> Any:
        request = urllib.request.Request(
            self.base + path, headers={"Authorization": f"Bearer {self.key}"}
        )
        with urllib.request.urlopen(request, timeout=10) as response:
            return json.load(response)

    def stop(self) -> float:
        began = time.monotonic()
        os.killpg(self.process.pid, signal.SIGINT)
        self.process.wait(20)
        return time.monotonic() - began


def wait_for(look, process: subprocess.Popen[bytes], patience: float = 60.0):
    until = time.monotonic() + patience
    while time.monotonic() < until:
        if found := look():
            return found
        assert process.poll() is None, "it ended before it answered"
        time.sleep(0.02)
    raise AssertionError("no answer in time")


@contextmanager
def up(home: Path, port: int, **environment: str) -> Iterator[Started]:
    log = home.with_name(f"log-{time.monotonic_ns()}")
    clean = {k: v for k, v in os.environ.items() if k not in ("DATABASE_URL", "REDIS_URL")}
    env = {**clean, "REWYN_HOME": str(home), "PORT": str(port), **environment}
    began = time.monotonic()
    with log.open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, "manage.py", "up"],
            cwd=ROOT,
            env=env,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        yield Started(process, log, began)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(5)
