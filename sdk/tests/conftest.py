"""Where the tests find the recorded logs: REWYN_SHARED, by default ../shared beside the project."""

import json
import os
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import jsonpatch
import pytest
from hypothesis import settings

# A busy machine is no failure of a property.
settings.register_profile("any-machine", deadline=None)
settings.load_profile("any-machine")
ROOT = Path(__file__).parents[2]
FIXTURES = Path(__file__).parent / "fixtures"
DATA = Path(os.environ.get("REWYN_SHARED", ROOT.parent / "shared")) / "data"


def _rows(name):
    file = DATA / "rig" / f"{name}.json"
    return json.loads(file.read_bytes()) if file.exists() else []


def _logs():
    folders = ("rig", "rig/newer", "rig-examples")
    return sorted(file for name in folders for file in (DATA / name).glob("*.effects.json"))


def pytest_generate_tests(metafunc):
    """One test a row of a table, or a log. Without the data: one, which says so."""
    found = {
        "hash_row": lambda: _rows("hashes"),
        "parse_row": lambda: _rows("parse"),
        "refusal": lambda: _rows("refusals"),
        "decoded": lambda: [row for row in _rows("refusals") if row["stage"] != "decode"],
        "replayed": lambda: [
            row for row in _rows("refusals") if row["stage"] in ("accepted", "replay")
        ],
        "real_log": _logs,
        "old_log": lambda: sorted(FIXTURES.glob("*/log.effects.json")),
    }
    for name, find in found.items():
        if name in metafunc.fixturenames:
            rows = find() or [None]
            metafunc.parametrize(name, rows, ids=list(map(_id, rows, range(len(rows)))))


def _id(row, number):
    if isinstance(row, Path):
        return f"{row.parent.name}-{row.name.split('.')[0]}"
    return f"{number}-{row.get('note', '')}" if isinstance(row, dict) else str(number)


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of recorded data; skipped without it, but a failure in CI."""
    if not DATA.is_dir() and not os.environ.get("CI"):
        pytest.skip(f"no recorded data in {DATA}")
    assert DATA.is_dir(), f"no recorded data in {DATA}"
    return DATA


@pytest.fixture(autouse=True)
def _needs_data(request):
    wants = {"hash_row", "parse_row", "refusal", "decoded", "replayed", "real_log"}
    if wants & set(request.fixturenames):
        request.getfixturevalue("shared")


@pytest.fixture(scope="session")
def log_bytes(shared):
    """The bytes of one of Rig's logs, by its name."""
    return lambda name: (shared / "rig" / f"{name}.effects.json").read_bytes()


@pytest.fixture(scope="session")
def mutated(log_bytes):
    """The document a row of refusals.json describes."""

    def apply(row):
        document = json.loads(log_bytes(row["log"]))
        return jsonpatch.JsonPatch(row["mutation"]).apply(document)

    return apply


@pytest.fixture
def fixtures() -> Path:
    """Logs of the older shapes, written by hand after the format's table."""
    return FIXTURES


ANSWER = {
    "run_id": "log-1",
    "url": "/p/demo/runs/log-1",
    "created": True,
    "effects": {"stored": 1, "duplicate": 0, "rejected": []},
}


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.asked.append((self.path, dict(self.headers), body, time.monotonic()))
        status, headers, answer = self.server.answers.pop(0)
        data = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(data))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args):
        pass


@pytest.fixture
def server():
    """A server that keeps what it is `asked` and gives its `answers` in order."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.asked, server.answers = [], [(201, {}, ANSWER)]
    server.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()
