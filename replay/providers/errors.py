"""What went wrong with a call, in the provider's own words, and how long to wait after it."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from math import isnan
from typing import Any

import httpx2

from replay.dialects.loose import items, mapping, maybe_text, text
from replay.providers.pinned import NotAsked

MOST_WORDS = 2000
MOST_ATTEMPTS = 5
LONGEST_WAIT = 60.0
LONGEST_RETRY_AFTER = 300.0
_SECONDS = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)s")

_KINDS = {
    401: "auth",
    403: "auth",
    404: "not_found",
    408: "timeout",
    413: "too_large",
    425: "rate_limited",
    429: "rate_limited",
    503: "overloaded",
    529: "overloaded",
}
_RETRYABLE = {408, 409, 425, 429}
_NEVER = {"insufficient_quota", "billing_hard_limit_reached"}
_RETRYABLE_TYPES = {
    "overloaded_error",
    "rate_limit_error",
    "api_error",
    "server_error",
    "timeout_error",
}


@dataclass(frozen=True)
class ProviderError:
    """Why there is no answer.

    ``kind`` is ``rate_limited``, ``overloaded``, ``server``, ``bad_request``, ``auth``,
    ``not_found``, ``too_large``, ``timeout``, ``connection``, ``dropped``, ``redirect``,
    ``malformed``, ``stream_error``, ``incomplete``, ``address`` or ``unsendable``. ``message`` is
    the provider's. ``retryable`` says whether asking again may help, ``retry_after`` when
    (seconds).
    """

    kind: str
    message: str
    status: int | None = None
    retryable: bool = False
    retry_after: float | None = None
    code: str | None = None

    @property
    def asks_too_long(self) -> bool:
        """Whether asking again may help, but only after a longer time than is waited."""
        return self.retryable and (self.retry_after or 0.0) > LONGEST_RETRY_AFTER

    @property
    def told(self) -> str:
        """The message, and why it is not asked again where only time is in the way."""
        if not self.asks_too_long:
            return self.message
        return f"{self.message} (Retry-After asks for more than {LONGEST_RETRY_AFTER:.0f} s.)"


def next_wait(
    attempt: int, error: ProviderError, *, most: int = MOST_ATTEMPTS, jitter: float = 0.0
) -> float | None:
    """Seconds to wait after ``attempt`` attempts (1 is the first), ``None`` to give up.

    The provider's Retry-After is kept to, unless it asks for more than five minutes (then it
    ``asks_too_long``); without one, or with one that asks for no time at all, 0.5 s doubles up to a
    minute. ``jitter`` (0 to 1) adds up to a quarter, so that calls that
    failed together don't come back together.
    """
    if not error.retryable or attempt >= most:
        return None
    if error.retry_after:
        return None if error.asks_too_long else error.retry_after
    return min(LONGEST_WAIT, 0.5 * 2.0 ** (attempt - 1)) * (1 + jitter / 4)


def of_response(status: int, headers: Mapping[str, str], body: bytes) -> ProviderError:
    """The error of a response that is no success."""
    said, code = _words(body)
    if 300 <= status < 400:
        to = headers.get("location", "nowhere")
        return ProviderError("redirect", f"redirected to {to}; a redirect is not followed", status)
    other = "server" if status >= 500 else "bad_request"
    kind = _KINDS.get(status, other)
    retryable = status in _RETRYABLE or status >= 500
    told = headers.get("x-should-retry")
    if told in ("true", "false"):
        retryable = told == "true"
    if code in _NEVER:
        retryable = False
    message = said or f"HTTP {status}"
    wait = retry_after(headers)
    wait = _retry_delay(body) if wait is None else wait
    return ProviderError(kind, message, status, retryable, wait, code)


def _retry_delay(body: bytes) -> float | None:
    """The seconds that Google asks to wait: in the body, where others have a header."""
    error = mapping((_object(body) or {}).get("error"))
    for detail in map(mapping, items(error.get("details"))):
        found = _SECONDS.fullmatch(text(detail.get("retryDelay")))
        if found:
            return float(found[1])
    return None


def of_stream(event: Mapping[str, Any], status: int) -> ProviderError:
    """The error that a stream sent instead of the rest of its answer."""
    error = event.get("error")
    told = mapping(error)
    words = maybe_text(told.get("message")) or maybe_text(error) or json.dumps(event)[:MOST_WORDS]
    names = {told.get("type"), told.get("code")}
    retryable = bool(names & _RETRYABLE_TYPES)
    return ProviderError(
        "stream_error", words, status, retryable, code=maybe_text(told.get("code"))
    )


def of_exception(error: BaseException) -> ProviderError:
    """The error of a call that got no whole response."""
    cause = _transport_cause(error)
    words = str(cause) or type(cause).__name__
    if isinstance(cause, NotAsked):
        return ProviderError("address", words, code=cause.code)
    if isinstance(cause, httpx2.TimeoutException | TimeoutError):
        return ProviderError("timeout", words or "no answer in time", retryable=True)
    if isinstance(cause, httpx2.RemoteProtocolError | httpx2.ReadError):
        return ProviderError("dropped", words, retryable=True)
    if isinstance(cause, httpx2.TransportError | OSError):
        return ProviderError("connection", words, retryable=True)
    return ProviderError("unsendable", f"{type(cause).__name__}: {words}"[:MOST_WORDS])


def _transport_cause(error: BaseException) -> BaseException:
    """The transport's own error inside of what a client library made of it."""
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, httpx2.TransportError | TimeoutError):
            return seen
        seen = seen.__cause__ or seen.__context__
    return error


def _words(body: bytes) -> tuple[str | None, str | None]:
    """Message and code of an error body, in any of the shapes servers use."""
    data = _object(body)
    if data is None:
        return body.decode("utf-8", "replace").strip()[:MOST_WORDS] or None, None
    error = data.get("error")
    told = mapping(error)
    said = (
        maybe_text(told.get("message"))
        or maybe_text(error)
        or maybe_text(data.get("message"))
        or maybe_text(data.get("detail"))
    )
    raw = maybe_text(mapping(told.get("metadata")).get("raw"))
    if said and raw:  # OpenRouter's own words, and those of who was asked behind it
        said = f"{said}: {raw}"
    code = next(filter(None, (maybe_text(told.get(name)) for name in _CODES)), None)
    return (said or json.dumps(data))[:MOST_WORDS], code


_CODES = ("code", "type", "status")


def _object(body: bytes) -> Mapping[str, Any] | None:
    """The object in an error's body; Google's Chat Completions put it into a list."""
    try:
        data = json.loads(body)
    except (ValueError, RecursionError):
        return None
    if isinstance(data, list):
        data = data[0] if data else None
    return data if isinstance(data, dict) else None


def retry_after(headers: Mapping[str, str]) -> float | None:
    """The seconds that ``Retry-After`` asks for, as a number or as a date; None without one."""
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            seconds = float(headers[name]) * unit
        except (KeyError, ValueError):
            continue
        return 0.0 if isnan(seconds) else max(0.0, seconds)
    try:
        until = parsedate_to_datetime(headers.get("retry-after", "")).timestamp()
    except (TypeError, ValueError):
        return None
    return max(0.0, until - time.time())
