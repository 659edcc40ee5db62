"""Connections to a provider: kept for a moment, for the calls to one host, and never the limit."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from asked import ASK_CHAT, CHAT_WIRE, COMPLETION, KEY, made
from workers import until

from replay.fake_provider import FakeProvider, parse_rules
from replay.providers import Provider, Result, clients, pinned, providers_from_env, send
from replay.providers.pinned import Pinned

ANSWER = json.dumps(
    {"object": "chat.completion", "choices": [{"index": 0, "message": {"content": "ok"}}]}
).encode()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(ANSWER)))
        self.end_headers()
        self.wfile.write(ANSWER)
        self.close_connection = self.server.closes

    def log_message(self, *args: Any) -> None:
        pass


class Server(ThreadingHTTPServer):
    """Counts its connections. It `closes` each behind its first answer, without a word, or none."""

    connections = closed = 0
    closes = False

    def process_request(self, *args: Any) -> None:
        self.connections += 1
        super().process_request(*args)

    def shutdown_request(self, request: Any) -> None:
        super().shutdown_request(request)
        self.closed += 1


@contextmanager
def serving(*, closes: bool = False) -> Iterator[Server]:
    with Server(("127.0.0.1", 0), Handler) as server:
        server.closes, server.block_on_close = closes, False
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def ask(port: int, host: str = "127.0.0.1", timeout: float = 5.0) -> Result:
    env = {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": f"http://{host}:{port}/v1"}
    return send(made(providers_from_env(env), COMPLETION, "openai:m", CHAT_WIRE), timeout=timeout)


@pytest.fixture
def resting(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Connections rest for longer than the busiest machine needs to make the next call."""
    ways: clients.Shelf[Pinned] = clients.Shelf(Pinned.close, 8)
    monkeypatch.setattr(clients, "_ways", ways)
    monkeypatch.setattr(pinned, "RESTS_SECONDS", 60.0)
    yield
    ways.empty()


@pytest.mark.usefixtures("resting")
def test_calls_one_after_the_other_share_a_connection() -> None:
    with serving() as server:
        assert [ask(server.server_port).error for _ in range(3)] == [None] * 3
    assert server.connections == 1


@pytest.mark.usefixtures("resting")
def test_a_connection_that_the_server_has_closed_is_not_used() -> None:
    with serving(closes=True) as server:
        for count in (1, 2, 3):
            assert ask(server.server_port).error is None
            until(lambda count=count: server.closed == count)
    assert server.connections == 3


def test_another_host_at_the_same_address_has_a_connection_of_its_own() -> None:
    """The one that is there showed the certificate of the first."""
    with serving() as server:
        assert ask(server.server_port).error is None
        assert ask(server.server_port, "localhost").error is None
    assert server.connections == 2


def test_only_so_many_ways_are_kept_whoever_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """A project may name any host as its provider, and another each day."""
    closed: list[Pinned] = []
    monkeypatch.setattr(clients, "_ways", clients.Shelf(closed.append, 1))
    with serving() as server:
        for host in ("127.0.0.1", "localhost", "127.0.0.1"):
            assert ask(server.server_port, host).error is None
    assert len(closed) == 2
    clients._ways.empty()
    for way in closed:
        way.close()


@pytest.mark.usefixtures("resting")
def test_each_call_on_a_connection_has_its_own_time() -> None:
    with serving() as server:
        assert ask(server.server_port, timeout=1.5).error is None
        time.sleep(1.6)
        assert ask(server.server_port, timeout=1.5).error is None
    assert server.connections == 1


@pytest.mark.parametrize("model", ["openai:m", "anthropic:m"])  # the same lane and the other
def test_as_many_calls_go_out_at_once_as_are_asked(
    fake: FakeProvider,
    providers: dict[str, Provider],
    model: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert send(made(providers, COMPLETION, model, ASK_CHAT)).error is None  # all is imported
    fake.rules = parse_rules([{"answer": {"text": "ok"}, "delay_ms": 1}])
    all_there = threading.Barrier(14, timeout=60)
    monkeypatch.setattr(fake, "pause", lambda seconds: seconds and all_there.wait())
    with ThreadPoolExecutor(14) as threads:
        calls = [made(providers, COMPLETION, model, ASK_CHAT) for _ in range(14)]
        assert [result.error for result in threads.map(send, calls)] == [None] * 14
    assert fake.peak == 14
