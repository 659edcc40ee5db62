"""Start the product for a measurement and talk to it over kept-alive connections."""

from __future__ import annotations

import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import urlencode

ROOT = Path(__file__).resolve().parent.parent
SHARED = Path(os.environ.get("REWYN_SHARED", ROOT.parent / "shared"))
sys.path.insert(0, str(SHARED / "bench"))


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Product:
    """`manage.py up` in a folder of its own; DATABASE_URL and REDIS_URL are honoured.

    A PostgreSQL named by DATABASE_URL must be empty: give each measurement a new database.
    """

    def __init__(self, home: Path | None = None, **environment: str) -> None:
        self.made = home is None
        self.home = home or Path(tempfile.mkdtemp(prefix="rewyn-bench-"))
        self.port = free_port()
        self.environment = {
            **os.environ,
            "REWYN_HOME": str(self.home),
            "REWYN_DEMO": "0",
            "PORT": str(self.port),
            **environment,
        }

    def __enter__(self) -> Product:
        began = time.monotonic()
        self.log = self.home / "up.log"
        with self.log.open("wb") as out:
            self.process = subprocess.Popen(
                [sys.executable, "manage.py", "up"],
                cwd=ROOT,
                env=self.environment,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        while not (found := re.search(r"Key   (rw_\S+)", self.log.read_text())):
            if self.process.poll() is not None or time.monotonic() - began > 60:
                sys.exit(f"the product did not start:\n{self.log.read_text()[-2000:]}")
            time.sleep(0.02)
        self.started_s = time.monotonic() - began
        self.key = found[1]
        self.link = re.search(r"Open  http://[^/]+(\S+)", self.log.read_text())[1]  # type: ignore[index]
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with suppress(ProcessLookupError):  # ended already
            os.killpg(self.process.pid, signal.SIGINT)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
        if self.made:
            shutil.rmtree(self.home, ignore_errors=True)

    def client(self) -> Client:
        return Client(self.port, self.key)

    def rest(self, patience: float = 300.0) -> None:
        """Wait until all that was sent is indexed for search: that takes one of the cores."""
        client, until = self.client(), time.monotonic() + patience
        while client.get("/api/v1/search?q=x")["waiting"]["runs"] and time.monotonic() < until:
            time.sleep(0.5)

    def rss_mib(self) -> float:
        """Resident memory of every process of this product, in MiB."""
        return sum(map(_rss_kib, _family(self.process.pid))) / 1024

    def cpu_seconds(self) -> float:
        """What the processes of this product have used of the processors so far."""
        return sum(map(_cpu_ticks, _family(self.process.pid))) / os.sysconf("SC_CLK_TCK")


class Client:
    """One kept-alive connection."""

    def __init__(self, port: int, key: str | None = None) -> None:
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        self.headers = {"Authorization": f"Bearer {key}"} if key else {}

    def send(
        self, method: str, path: str, body: bytes | None = None, **headers: str
    ) -> tuple[int, bytes]:
        sent = {**self.headers, "Content-Type": "application/json", **headers}
        self.connection.request(method, path, body=body, headers=sent)
        answer = self.connection.getresponse()
        return answer.status, answer.read()

    def get(self, path: str) -> Any:
        status, body = self.send("GET", path)
        if status != 200:
            raise RuntimeError(f"GET {path}: {status} {body[:200]!r}")
        return json.loads(body)

    def sign_in(self, link: str) -> Client:
        """Follow a one-time link and keep the session's cookies on this connection."""
        self.headers = {}
        self.connection.request("GET", link)
        answer = self.connection.getresponse()
        page = answer.read().decode()
        cookies = _cookies(answer)
        token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page)
        assert token is not None, "the sign-in page has no form"
        form = urlencode({"csrfmiddlewaretoken": token[1]}).encode()
        status, _ = self._post_form(link, form, cookies)
        assert status in (302, 303), f"sign-in answered {status}"
        return self

    def _post_form(self, path: str, form: bytes, cookies: dict[str, str]) -> tuple[int, bytes]:
        self.connection.request(
            "POST",
            path,
            body=form,
            headers={
                "Content-Type": "application/x-www-form-urlencoded",
                "Cookie": "; ".join(f"{k}={v}" for k, v in cookies.items()),
                "Referer": f"http://127.0.0.1:{self.connection.port}{path}",
            },
        )
        answer = self.connection.getresponse()
        body = answer.read()
        cookies.update(_cookies(answer))
        self.headers = {"Cookie": "; ".join(f"{k}={v}" for k, v in cookies.items())}
        return answer.status, body


def _cookies(answer: http.client.HTTPResponse) -> dict[str, str]:
    lines = answer.headers.get_all("Set-Cookie", [])
    return dict(line.split(";")[0].split("=", 1) for line in lines)


def _family(pid: int) -> list[int]:
    """A process and everything below it."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
            except (OSError, IndexError):
                continue
            children.setdefault(parent, []).append(int(entry.name))
    found, todo = [], [pid]
    while todo:
        found.append(todo.pop())
        todo += children.get(found[-1], [])
    return found


def _rss_kib(pid: int) -> int:
    """Proportional memory where the kernel tells it: pages shared by workers count once."""
    try:
        rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
        return int(re.search(r"^Pss:\s+(\d+)", rollup, re.M)[1])  # type: ignore[index]
    except (OSError, TypeError):
        return 0


def _cpu_ticks(pid: int) -> int:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        return int(stat[11]) + int(stat[12])
    except (OSError, IndexError):
        return 0


def percentile(values: list[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]
