"""Both lanes, every log and every failure; and the key stays where it is."""

from __future__ import annotations

import gzip
import json
import socket
import threading
import time
import tracemalloc
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from asked import ASK_CHAT, CHAT_WIRE, COMPLETION, KEY, codes, made

from replay.fake_provider import FakeProvider, parse_rules
from replay.providers import (
    Provider,
    Result,
    errors,
    next_wait,
    providers_from_env,
    send,
)

# --- Both lanes: every log, every failure --------------------------------------------------------

MIXED = [
    "reviewer-anthropic",
    "sql-analyst-responses",
    "order-status-chat",
    "media-inspector",
    "options-schema",
    "structured-output-tool",
    "unknown-tool-recovered",
    "sql-tool-errors",
    "unicode-edges",
    "local-call-ids",
    "city-facts-anthropic-stream",
    "travel-responses-stream",
    "writer-finish-reasons",
    "02-two-tools-memory",
    "04-retrieval-failing-tool",
]


@pytest.mark.parametrize("model", ["openai:gpt-4o", "openai-responses:gpt-4o", "anthropic:m"])
@pytest.mark.parametrize("log", MIXED)
def test_each_call_of_a_log_is_asked_once_and_answered(
    shared: Path, fake: FakeProvider, providers: dict[str, Provider], log: str, model: str
) -> None:
    [file] = (shared / "data").glob(f"rig*/**/{log}.effects.json")
    records = json.loads(file.read_text())["records"]
    asked = [r for r in records if r["kind"]["effect"] == "completion"]
    results = [send(made(providers, r, model)) for r in asked]
    assert [result.error for result in results] == [None] * len(asked)
    assert not any("library_refused" in codes(result.notes) for result in results)
    assert len(fake.asked) == len(asked)
    assert [json.loads(result.request_bytes) for result in results] == [a.body for a in fake.asked]


LANES = [
    pytest.param(ASK_CHAT, "openai:m", id="same"),
    pytest.param(ASK_CHAT, "anthropic:m", id="cross"),
]


def failed(
    fake: FakeProvider,
    providers: dict[str, Provider],
    wire: Any,
    model: str,
    rule: Any,
    **limits: Any,
) -> Result:
    fake.rules = parse_rules([rule])
    result = send(made(providers, COMPLETION, model, wire), **limits)
    assert len(fake.asked) == 1
    assert result.answer is None
    return result


@pytest.mark.parametrize(
    ("rule", "kind", "status", "retryable"),
    [
        ({"answer": {"error": {"status": 400}}}, "bad_request", 400, False),
        ({"answer": {"error": {"status": 401}}}, "auth", 401, False),
        ({"answer": {"error": {"status": 404}}}, "not_found", 404, False),
        ({"answer": {"error": {"status": 408}}}, "timeout", 408, True),
        ({"answer": {"error": {"status": 413}}}, "too_large", 413, False),
        ({"answer": {"error": {"status": 429}}}, "rate_limited", 429, True),
        ({"answer": {"error": {"status": 500}}}, "server", 500, True),
        ({"answer": {"error": {"status": 503}}}, "overloaded", 503, True),
        ({"answer": {"error": {"status": 529}}}, "overloaded", 529, True),
        ({"answer": {"malformed": "<html>"}}, "malformed", 200, False),
        ({"answer": {"malformed": "{}"}}, "malformed", 200, False),
        ({"answer": {"malformed": '{"choices": [null], "usage": []}'}}, "malformed", 200, False),
        ({"answer": {"malformed": '{"choices": [{"message": 5}]}'}}, "malformed", 200, False),
        ({"answer": {"malformed": '{"output": [null]}'}}, "malformed", 200, False),
        ({"answer": {"malformed": '{"content": [7], "usage": null}'}}, "malformed", 200, False),
        ({"answer": {"drop": True}}, "dropped", None, True),
        (
            {"answer": {"error": {"status": 302}, "headers": {"Location": "http://127.0.0.1:9/"}}},
            "redirect",
            302,
            False,
        ),
        (
            {"answer": {"error": {"status": 429, "code": "insufficient_quota"}}},
            "rate_limited",
            429,
            False,
        ),
        (
            {"answer": {"error": {"status": 500}, "headers": {"x-should-retry": "false"}}},
            "server",
            500,
            False,
        ),
    ],
)
@pytest.mark.parametrize(("wire", "model"), LANES[:1])
def test_a_failure_has_its_kind_and_one_request(
    fake: FakeProvider,
    providers: dict[str, Provider],
    wire: Any,
    model: str,
    rule: Any,
    kind: str,
    status: int | None,
    retryable: bool,
) -> None:
    error = failed(fake, providers, wire, model, rule).error
    assert error and (error.kind, error.status, error.retryable) == (kind, status, retryable)


@pytest.mark.parametrize(
    ("rule", "kind"),
    [
        ({"answer": {"error": {"status": 429}}}, "rate_limited"),
        ({"answer": {"error": {"status": 500}}}, "server"),
        ({"answer": {"malformed": "<html>"}}, "malformed"),
        ({"answer": {"drop": True}}, "dropped"),
        (
            {"answer": {"error": {"status": 302}, "headers": {"Location": "http://127.0.0.1:9/"}}},
            "redirect",
        ),
    ],
)
@pytest.mark.parametrize("model", ["anthropic:m", "openai-responses:m"])
def test_a_failure_across_apis_has_its_kind_and_one_request(
    fake: FakeProvider, providers: dict[str, Provider], rule: Any, kind: str, model: str
) -> None:
    error = failed(fake, providers, ASK_CHAT, model, rule).error
    assert error and error.kind == kind


@pytest.mark.parametrize(("wire", "model"), LANES)
def test_the_error_has_the_providers_words_and_its_retry_after(
    fake: FakeProvider, providers: dict[str, Provider], wire: Any, model: str
) -> None:
    refusal = {"status": 429, "message": "Slow down, please", "retry_after": 7}
    result = failed(fake, providers, wire, model, {"answer": {"error": refusal}})
    assert result.error and result.error.message == "Slow down, please"
    assert result.error.retry_after == 7
    assert result.request_id == "req_fake000001"


@pytest.mark.parametrize("asked", ["0", "-5", "nan", "Wed, 21 Oct 2015 07:28:00 GMT"])
def test_a_retry_after_of_no_time_is_none(
    fake: FakeProvider, providers: dict[str, Provider], asked: str
) -> None:
    """Four attempts within a fifth of a second give an overloaded server no rest."""
    refusal = {"status": 429, "message": "Slow down", "retry_after": asked}
    error = failed(fake, providers, ASK_CHAT, "openai:m", {"answer": {"error": refusal}}).error
    assert error is not None and next_wait(2, error, most=4) == 1.0


@pytest.mark.parametrize("asked", ["301", "inf", "1e999"])
def test_a_retry_after_that_is_not_waited_for_is_told(
    fake: FakeProvider, providers: dict[str, Provider], asked: str
) -> None:
    refusal = {"status": 429, "message": "Slow down", "retry_after": asked}
    error = failed(fake, providers, ASK_CHAT, "openai:m", {"answer": {"error": refusal}}).error
    assert error is not None and next_wait(1, error, most=4) is None
    assert error.told == "Slow down (Retry-After asks for more than 300 s.)"


@pytest.mark.parametrize(("wire", "model"), LANES)
def test_an_answer_that_takes_too_long_is_a_timeout(
    fake: FakeProvider, providers: dict[str, Provider], wire: Any, model: str
) -> None:
    rule = {"answer": {"text": "late"}, "delay_ms": 90_000}
    result = failed(fake, providers, wire, model, rule, timeout=0.3)
    assert result.error and (result.error.kind, result.error.retryable) == ("timeout", True)
    assert result.latency_ms < 30_000


@pytest.mark.parametrize(("wire", "model"), LANES)
def test_an_answer_that_is_too_long_is_not_kept(
    fake: FakeProvider, providers: dict[str, Provider], wire: Any, model: str
) -> None:
    rule = {"answer": {"text": "x" * 500_000}}
    result = failed(fake, providers, wire, model, rule, most_bytes=100_000)
    assert result.error and result.error.kind == "too_large"
    assert len(result.response_bytes) < 400_000


@contextmanager
def compressing(body: bytes) -> Iterator[str]:
    """The address of a server that answers by gzip, whatever was asked for."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Encoding", "gzip")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join(5)


@pytest.mark.parametrize(("wire", "model"), LANES)
def test_an_answer_that_is_small_compressed_and_huge_unpacked_stays_small(
    wire: Any, model: str
) -> None:
    with compressing(gzip.compress(b" " * 50_000_000, 1)) as url:
        env = {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": url,
               "ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": url}  # fmt: skip
        call = made(providers_from_env(env), COMPLETION, model, wire)
        send(call)  # what a first call imports is none of the answer
        tracemalloc.start()
        try:
            result = send(call)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert result.error and result.error.kind == "malformed"
    assert peak < 10_000_000


STREAMED = [
    pytest.param({**ASK_CHAT["request"], "stream": True}, "openai:m", id="same"),
    pytest.param({**ASK_CHAT["request"], "stream": True}, "anthropic:m", id="cross"),
]


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        ({"text": "one two three four", "error_after": 3}, "stream_error"),
        ({"text": "one two three four", "drop_after": 3}, "dropped"),
    ],
)
@pytest.mark.parametrize(("body", "model"), STREAMED)
def test_a_stream_that_breaks_is_no_answer(
    fake: FakeProvider,
    providers: dict[str, Provider],
    body: Any,
    model: str,
    answer: Any,
    kind: str,
) -> None:
    wire = {**ASK_CHAT, "request": body}
    result = failed(fake, providers, wire, model, {"answer": answer})
    assert result.error and result.error.kind == kind
    assert result.response_bytes


def test_a_slow_stream_is_cut_at_the_deadline(
    fake: FakeProvider, providers: dict[str, Provider]
) -> None:
    wire = {**ASK_CHAT, "request": {**ASK_CHAT["request"], "stream": True}}
    rule = {"answer": {"text": "word " * 900}, "chunk_ms": 100}
    started = time.monotonic()
    result = failed(fake, providers, wire, "openai:m", rule, timeout=0.5)
    assert result.error and result.error.kind == "timeout"
    assert time.monotonic() - started < 30


@contextmanager
def dripping() -> Iterator[str]:
    """The address of a server that sends a byte of a header now and then, and no answer."""

    def drip(connection: socket.socket) -> None:
        with suppress(OSError), connection:
            connection.sendall(b"HTTP/1.1 200 OK\r\nX-Slow: ")
            while not over.wait(0.05):
                connection.sendall(b"x")

    over = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as server:
        accept = threading.Thread(target=lambda: drip(server.accept()[0]), daemon=True)
        accept.start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}"
        over.set()
        accept.join(5)


@pytest.mark.parametrize(("wire", "model"), LANES)
def test_headers_that_never_end_are_cut_at_the_deadline(wire: Any, model: str) -> None:
    with dripping() as url:
        env = {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": url,
               "ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": url}  # fmt: skip
        started = time.monotonic()
        result = send(made(providers_from_env(env), COMPLETION, model, wire), timeout=0.4)
    assert result.error and (result.error.kind, result.error.retryable) == ("timeout", True)
    assert time.monotonic() - started < 30


def test_nobody_listening_is_a_connection_error(fake: FakeProvider) -> None:
    env = {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}
    result = send(made(providers_from_env(env), COMPLETION, "openai:m", ASK_CHAT))
    assert result.error and (result.error.kind, result.error.retryable) == ("connection", True)


@pytest.mark.parametrize(("wire", "model"), LANES)
def test_calls_on_many_threads_keep_apart(
    fake: FakeProvider,
    providers: dict[str, Provider],
    wire: Any,
    model: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fake.rules = parse_rules([{"answer": {"text": "{last}"}, "delay_ms": 1}])
    six = threading.Barrier(6, timeout=60)
    monkeypatch.setattr(fake, "pause", lambda seconds: seconds and six.wait())

    def ask(word: str) -> str | None:
        body = {"model": "m", "messages": [{"role": "user", "content": word}]}
        result = send(made(providers, COMPLETION, model, {**wire, "request": body}))
        return result.answer.text if result.answer else None

    words = [f"word {number}" for number in range(12)]
    with ThreadPoolExecutor(6) as threads:
        assert list(threads.map(ask, words)) == words
    assert (len(fake.asked), fake.peak) == (12, 6)


# --- The key stays where it is -------------------------------------------------------------------


@pytest.mark.parametrize(("wire", "model"), LANES)
def test_a_key_that_a_server_says_back_is_masked(
    fake: FakeProvider, providers: dict[str, Provider], wire: Any, model: str
) -> None:
    refusal = {"status": 401, "message": f"Incorrect API key provided: {KEY}."}
    result = failed(fake, providers, wire, model, {"answer": {"error": refusal}})
    assert result.error and result.error.message == "Incorrect API key provided: [key]."
    assert KEY not in str(result)
    assert KEY.encode() not in result.request_bytes + result.response_bytes


@pytest.mark.parametrize(("wire", "model"), LANES)
@pytest.mark.parametrize("key", [f"{KEY}\n# of the team", f"{KEY}\r\nolder", f"{KEY}\nschlüssel"])
def test_a_key_that_no_header_takes_is_not_told(
    fake: FakeProvider, wire: Any, model: str, key: str
) -> None:
    """As a variable holds it that was filled from a file of two lines."""
    env = {"OPENAI_API_KEY": key, "OPENAI_BASE_URL": fake.openai_base_url,
           "ANTHROPIC_API_KEY": key, "ANTHROPIC_BASE_URL": fake.base_url}  # fmt: skip
    try:
        told = str(send(made(providers_from_env(env), COMPLETION, model, wire)))
    except UnicodeEncodeError as error:
        told = str(error)
    assert KEY not in told and fake.asked == []


def test_the_key_is_in_no_repr(providers: dict[str, Provider]) -> None:
    call = made(providers, COMPLETION, "openai:m", CHAT_WIRE)
    assert KEY not in repr(call) + repr(providers) + str(dict(call.headers))


def test_a_password_in_the_address_is_not_shown() -> None:
    env = {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": "http://me:pass@gw:1/v1"}
    call = made(providers_from_env(env), COMPLETION, "openai:m", CHAT_WIRE)
    assert call.url == "http://gw:1/v1/chat/completions"


# --- Errors as the makers word them --------------------------------------------------------------

GOOGLE = [
    {
        "error": {
            "code": 429,
            "message": "You exceeded your current quota.",
            "status": "RESOURCE_EXHAUSTED",
            "details": [
                {"@type": "type.googleapis.com/google.rpc.Help", "links": []},
                {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.5s"},
            ],
        }
    }
]
ROUTED = {
    "error": {
        "message": "Provider returned error",
        "code": 400,
        "metadata": {"raw": '{"detail": "no such tool"}', "provider_name": "Novita"},
    }
}
VLLM = {"object": "error", "message": "max_tokens is too large", "type": "BadRequestError"}


@pytest.mark.parametrize(
    ("status", "body", "words", "code", "wait"),
    [
        (429, GOOGLE, "You exceeded your current quota.", "RESOURCE_EXHAUSTED", 34.5),
        (400, ROUTED, 'Provider returned error: {"detail": "no such tool"}', None, None),
        (400, VLLM, "max_tokens is too large", None, None),
        (400, {"detail": [{"msg": "field required"}]}, '[{"msg": "field required"}]', None, None),
        (400, [], "[]", None, None),
        (400, {"error": "plain words"}, "plain words", None, None),
    ],
)
def test_each_makers_own_words_are_told(
    status: int, body: Any, words: str, code: str | None, wait: float | None
) -> None:
    told = errors.of_response(status, {}, json.dumps(body).encode())
    assert words in told.message
    assert (told.code, told.retry_after) == (code, wait)


def test_a_header_comes_before_what_the_body_says() -> None:
    body = json.dumps(GOOGLE).encode()
    assert errors.of_response(429, {"retry-after": "2"}, body).retry_after == 2
