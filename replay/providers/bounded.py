"""The whole time of a call bounds each of its waits.

A timeout of the client bounds one wait: a server that sends a byte now and then could make a call
last for ever.
"""

from __future__ import annotations

import ssl
import time
from collections.abc import Iterable
from contextvars import ContextVar
from typing import Any

import httpcore2

_until = ContextVar("until", default=float("inf"))


def begin(seconds: float | None) -> None:
    """What this thread does on connections from now on ends after so many seconds."""
    _until.set(float("inf") if seconds is None else time.monotonic() + seconds)


def _left(timeout: float | None, late: type[Exception]) -> float | None:
    left = _until.get() - time.monotonic()
    if left <= 0:
        raise late("not answered in time")
    waits = [one for one in (timeout, left) if one is not None and one != float("inf")]
    return min(waits, default=None)


class _Stream(httpcore2.NetworkStream):
    def __init__(self, stream: httpcore2.NetworkStream) -> None:
        self._stream = stream

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._stream.read(max_bytes, _left(timeout, httpcore2.ReadTimeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._stream.write(buffer, _left(timeout, httpcore2.WriteTimeout))

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore2.NetworkStream:
        left = _left(timeout, httpcore2.ConnectTimeout)
        return _Stream(self._stream.start_tls(ssl_context, server_hostname, left))

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


class Bounded(httpcore2.SyncBackend):
    """Connections on which each call has its own time, one after the other."""

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.NetworkStream:
        left = _left(timeout, httpcore2.ConnectTimeout)
        return _Stream(super().connect_tcp(host, port, left, local_address, socket_options))
