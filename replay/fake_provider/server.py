"""The loopback server: HTTP in, a rule's answer out, and a memory of what was asked."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

from replay.fake_provider.checks.chat import check_chat
from replay.fake_provider.checks.messages import check_messages
from replay.fake_provider.checks.responses import check_responses
from replay.fake_provider.defaults import default_reply
from replay.fake_provider.prompts import last_text
from replay.fake_provider.refusal import CHAT, MESSAGES, MODELS, RESPONSES, Refused, error_body
from replay.fake_provider.refusal import refuse as refused
from replay.fake_provider.rules import Failure, Reply, Rule, parse_rules
from replay.fake_provider.wire import CREATED, Exchange, chat, messages, responses

MAX_BODY = 64 * 1024 * 1024
MODEL_NAMES = ("fake-large", "fake-small", "echo-recorded", "think-fake", "tool-fake")

_CHECKS: dict[str, Callable[[Mapping[str, Any]], None]] = {
    CHAT: check_chat,
    RESPONSES: check_responses,
    MESSAGES: check_messages,
}
_WHOLE = {CHAT: chat.whole, RESPONSES: responses.whole, MESSAGES: messages.whole}
_EVENTS = {CHAT: chat.events, RESPONSES: responses.events, MESSAGES: messages.events}
_BROKEN = Failure(status=503, message="The engine is currently overloaded")


@dataclass(frozen=True)
class Asked:
    """One request as it arrived. ``body`` is the parsed JSON, ``None`` where it was no JSON."""

    number: int
    method: str
    path: str
    headers: Mapping[str, str]
    body: Any
    at: float

    def header(self, name: str) -> str | None:
        """A header's value, whatever the case of its name."""
        wanted = name.lower()
        return next((value for key, value in self.headers.items() if key.lower() == wanted), None)


class FakeProvider:
    """The server and its memory; a context manager that serves on a thread of its own.

    ``rules`` are rule objects or their JSON form (see ``replay.fake_provider.rules``); a port of 0
    takes a free one. ``asked`` holds every request in order, ``peak`` the most answered at once.
    """

    def __init__(
        self,
        rules: Iterable[Rule | Mapping[str, Any]] = (),
        *,
        host: str = "127.0.0.1",
        port: int = 0,
    ) -> None:
        self.rules = parse_rules(rules)
        self.asked: list[Asked] = []
        self.peak = 0
        self._busy = 0
        self._used: dict[int, int] = {}
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._server = _Server((host, port), _Handler)
        self._server.fake = self
        self._thread: threading.Thread | None = None

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    @property
    def base_url(self) -> str:
        """What ``ANTHROPIC_BASE_URL`` takes: the root, without a version."""
        return f"http://{self._server.server_address[0]!s}:{self.port}"

    @property
    def openai_base_url(self) -> str:
        """What ``OPENAI_BASE_URL`` takes."""
        return f"{self.base_url}/v1"

    def __enter__(self) -> FakeProvider:
        serve = self._server.serve_forever
        self._thread = threading.Thread(target=serve, args=(0.02,), daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def serve_forever(self) -> None:
        """Serve on the calling thread, until an interrupt."""
        self._server.serve_forever()

    def stop(self) -> None:
        """End the server; answers still being written are cut."""
        self._stopping.set()
        if self._thread:
            self._server.shutdown()
            self._thread.join()
        self._server.server_close()

    def pause(self, seconds: float) -> None:
        """Sleep, but not past the end of the server."""
        if seconds > 0:
            self._stopping.wait(seconds)

    def note(self, method: str, path: str, headers: Mapping[str, str], body: Any) -> Asked:
        with self._lock:
            number = len(self.asked) + 1
            self.asked.append(Asked(number, method, path, headers, body, time.time()))
            self._busy += 1
            self.peak = max(self.peak, self._busy)
            return self.asked[-1]

    def done(self) -> None:
        with self._lock:
            self._busy -= 1

    def choose(self, asked: Asked) -> Reply:
        """The reply of the first rule that matches and isn't used up, else the default."""
        body = asked.body
        facts = {"model": str(body.get("model")), "last": last_text(body)}
        stream = bool(body.get("stream"))
        with self._lock:
            for index, rule in enumerate(self.rules):
                used = self._used.get(index, 0)
                if rule.times is not None and used >= rule.times:
                    continue
                if rule.when.matches(**facts, path=asked.path, call=asked.number, stream=stream):
                    self._used[index] = used + 1
                    return _filled(rule.reply, asked.number, **facts)
        return default_reply(facts["model"], body)


def _filled(reply: Reply, call: int, model: str, last: str) -> Reply:
    if not reply.text:
        return reply
    text = reply.text.replace("{model}", model).replace("{call}", str(call))
    return Reply(**{**vars(reply), "text": text.replace("{last}", last)})


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128
    fake: FakeProvider

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is no news here."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Headers and body are two writes; Nagle would hold the second back for 40 ms.
    disable_nagle_algorithm = True
    server_version = "fake-provider"
    server: _Server

    def log_message(self, format: str, *args: Any) -> None:
        """Silent: ``asked`` is the log."""

    def do_GET(self) -> None:
        self._answer(None)

    def do_POST(self) -> None:
        length = int(self.headers.get("content-length") or 0)
        if length > MAX_BODY:
            self.close_connection = True
            self._answer(None, too_long=True)
            return
        self._answer(self.rfile.read(length))

    def _answer(self, raw: bytes | None, *, too_long: bool = False) -> None:
        path = self.path.partition("?")[0]
        asked = self.server.fake.note(self.command, path, dict(self.headers.items()), _parsed(raw))
        api = _api(self.command, path)
        try:
            if too_long:
                raise refused("Request exceeds the maximum size", status=413)
            self._check(api, asked)
            if api == MODELS:
                self._send_json(200, _models(asked), api, asked)
            else:
                _CHECKS[api](asked.body)
                self._reply(api, Exchange(asked.number, asked.body, self.server.fake.choose(asked)))
        except Refused as error:
            self._fail(api, error.failure, asked.number)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True
        finally:
            self.server.fake.done()

    def _check(self, api: str, asked: Asked) -> None:
        bearer = (asked.header("authorization") or "").removeprefix("Bearer").strip()
        key = asked.header("x-api-key") or bearer
        if not key:
            said = "x-api-key header is required" if api == MESSAGES else _NO_KEY
            raise refused(said, status=401)
        if not api:
            raise refused(f"Invalid URL ({asked.method} {asked.path})", status=404)
        if api == MESSAGES and not asked.header("anthropic-version"):
            raise refused("anthropic-version: header is required")
        if api != MODELS and not isinstance(asked.body, dict):
            raise refused("We could not parse the JSON body of your request.")

    def _reply(self, api: str, exchange: Exchange) -> None:
        reply = exchange.reply
        self.server.fake.pause(reply.delay_ms / 1000)
        if reply.drop:
            self._hang_up()
        elif reply.failure:
            self._fail(api, reply.failure, exchange.number, reply.headers)
        elif reply.malformed is not None:
            self._send(200, reply.malformed.encode(), {**_id(api, exchange.number)})
        elif exchange.body.get("stream"):
            self._stream(api, exchange)
        else:
            body = json.dumps(_WHOLE[api](exchange)).encode()
            self._send(200, body, {**_id(api, exchange.number), **reply.headers})

    def _stream(self, api: str, exchange: Exchange) -> None:
        reply = exchange.reply
        self.send_response(200)
        headers = {**_id(api, exchange.number), **reply.headers}
        for name, value in {
            "Content-Type": "text/event-stream; charset=utf-8",
            "Transfer-Encoding": "chunked",
            **headers,
        }.items():
            self.send_header(name, value)
        self.end_headers()
        for count, event in enumerate(_EVENTS[api](exchange)):
            if count == reply.drop_after:
                self._hang_up()
                return
            if count == reply.error_after:
                self._chunk(_sse(*_broken(api, exchange.number)))
                break
            self._chunk(_sse(*event))
            self.server.fake.pause(reply.chunk_ms / 1000)
        self.wfile.write(b"0\r\n\r\n")

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()

    def _hang_up(self) -> None:
        self.close_connection = True
        self.wfile.flush()
        self.connection.close()

    def _fail(
        self, api: str, failure: Failure, number: int, headers: Mapping[str, str] | None = None
    ) -> None:
        extra = {**_id(api, number), **(headers or {})}
        if failure.retry_after is not None:
            extra["Retry-After"] = failure.retry_after
        body = error_body(api, failure, f"req_fake{number:06d}")
        self._send(failure.status, json.dumps(body).encode(), extra)

    def _send_json(self, status: int, body: Any, api: str, asked: Asked) -> None:
        self._send(status, json.dumps(body).encode(), _id(api, asked.number))

    def _send(self, status: int, body: bytes, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


_NO_KEY = (
    "You didn't provide an API key. You need to provide your API key in an Authorization header "
    "using Bearer auth (i.e. Authorization: Bearer YOUR_KEY)."
)


def _api(method: str, path: str) -> str:
    """Which API a path belongs to, with or without its ``/v1``; empty when none does."""
    tail = path.rstrip("/")
    if method == "GET":
        return MODELS if tail.endswith("/models") else ""
    for api, ending in ((CHAT, "/chat/completions"), (RESPONSES, "/responses")):
        if tail.endswith(ending):
            return api
    return MESSAGES if tail.endswith("/messages") else ""


def _parsed(raw: bytes | None) -> Any:
    try:
        return json.loads(raw) if raw else None
    except ValueError:
        return None


def _id(api: str, number: int) -> dict[str, str]:
    name = "request-id" if api == MESSAGES else "x-request-id"
    return {name: f"req_fake{number:06d}"}


def _sse(name: str | None, data: Any) -> bytes:
    text = data if isinstance(data, str) else json.dumps(data)
    return (f"event: {name}\n" if name else "").encode() + f"data: {text}\n\n".encode()


def _broken(api: str, number: int) -> tuple[str | None, Any]:
    """An error in the middle of a stream, as each API sends it."""
    body = error_body(api, _BROKEN, f"req_fake{number:06d}")
    if api == CHAT:
        return None, body
    if api == MESSAGES:
        return "error", body
    said = {"type": "error", "code": "server_error", "message": _BROKEN.message, "param": None}
    return "error", said


def _models(asked: Asked) -> dict[str, Any]:
    if asked.header("anthropic-version"):
        return {
            "data": list(_anthropic_models()),
            "has_more": False,
            "first_id": MODEL_NAMES[0],
            "last_id": MODEL_NAMES[-1],
        }
    owned = {"object": "model", "created": CREATED, "owned_by": "fake"}
    return {"object": "list", "data": [{"id": name, **owned} for name in MODEL_NAMES]}


def _anthropic_models() -> Iterator[dict[str, str]]:
    for name in MODEL_NAMES:
        yield {
            "type": "model",
            "id": name,
            "display_name": name,
            "created_at": "2025-11-29T00:00:00Z",
        }
