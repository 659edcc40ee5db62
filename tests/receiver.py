"""A receiver of webhooks on loopback: keeps what comes, and answers as it is told to."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass(frozen=True)
class Got:
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Receiver:
    """`answers`: what is still to be answered, (status, body, headers); then 200. What comes for a
    path in `silent` is answered by nothing."""

    got: list[Got] = field(default_factory=list)
    answers: list[tuple[int, str, dict[str, str]]] = field(default_factory=list)
    silent: set[str] = field(default_factory=set)
    let_go: threading.Event = field(default_factory=threading.Event)
    port: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook?team=a"


def running() -> Iterator[Receiver]:
    told = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            told.got.append(Got(self.path, {k.lower(): v for k, v in self.headers.items()}, body))
            if self.path in told.silent:
                told.let_go.wait(30)
                return
            status, text, headers = told.answers.pop(0) if told.answers else (200, "thanks", {})
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(text.encode()))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(text.encode())

        do_GET = do_POST

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    told.port = server.server_port
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    yield told
    told.let_go.set()
    server.shutdown()
    server.server_close()
