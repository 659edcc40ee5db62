"""One request and its response as they pass: bytes, times, and what they mean."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from replay.dialects import Answer, BadAnswer, Note, read_answer
from replay.dialects.loose import compact_json, read_value
from replay.dialects.sse import BadStream, Event, EventReader
from replay.dialects.streams import Fold
from replay.providers import errors
from replay.providers.catalog import Provider
from replay.providers.errors import ProviderError
from replay.providers.hiding import STREAM_NOT_KEPT, Hidden, hidden, is_clean, notes_of

MOST_BYTES = 32 * 1024 * 1024
_REQUEST_IDS = (
    "x-request-id",
    "request-id",
    "mistral-correlation-id",
    "x-kong-request-id",
    "apim-request-id",
    "x-amzn-requestid",
    "cf-ray",
)
"""Where a maker, or who stands in front of it, names a request; elsewhere the answer's id has to do
(OpenRouter and Google know a call by it)."""
OnStream = Callable[[Event, float], None]


class TooMuch(Exception):
    """The response is longer than what is taken."""


class TooLate(TimeoutError):
    """The response was not whole in time."""


@dataclass(frozen=True)
class Result:
    """What one call gave: an answer or an error, and the bytes both ways.

    ``request_bytes`` is what was really sent; ``notes`` tell what is not in it as it was recorded.
    Times are in milliseconds; ``first_token_ms`` is of streams only. No bytes hold the key.
    """

    status: int | None
    request_bytes: bytes
    response_bytes: bytes
    answer: Answer | None
    error: ProviderError | None
    latency_ms: float
    first_token_ms: float | None = None
    request_id: str | None = None
    notes: tuple[Note, ...] = ()


class Exchange:
    """Takes a response in as it comes, within bounds, and tells in the end what it was."""

    def __init__(
        self,
        provider: Provider,
        *,
        timeout: float,
        on_stream: OnStream | None = None,
        most_bytes: int = MOST_BYTES,
    ) -> None:
        self.request_bytes = b""
        self.status: int | None = None
        self.headers: Mapping[str, str] = {}
        self._provider = provider
        self._timeout = timeout
        self._on_stream = on_stream
        self._most = most_bytes
        self._start = time.monotonic()
        self._body = bytearray()
        self._reader = EventReader()
        self._fold = Fold()
        self._first_token: float | None = None
        self._interrupted: Exception | None = None
        self._cut: Exception | None = None
        self._end: float | None = None

    def sending(self, body: bytes) -> None:
        """The request goes out now: time runs from here."""
        self.request_bytes = body
        self._start = time.monotonic()

    def begin(self, status: int, headers: Mapping[str, str]) -> None:
        self.status = status
        self.headers = {name.lower(): value for name, value in headers.items()}

    def take(self, data: bytes) -> None:
        """The next piece. Raises ``TooMuch``, ``TooLate``, or ``BadStream`` for a broken event."""
        self._body += data
        try:
            if len(self._body) > self._most:
                raise TooMuch(f"the response is longer than {self._most} bytes")
            if time.monotonic() - self._start > self._timeout:
                raise TooLate(f"not answered within {self._timeout:g} s")
            if self.is_stream:
                self._events(self._reader.feed(data))
        except (TooMuch, TooLate, BadStream) as error:
            # A client library between here and the caller makes it an error of its own.
            self._cut = error
            raise

    def end(self) -> None:
        """No more will come."""
        if self._end is None:
            self._end = time.monotonic()
            if self.is_stream:
                self._events(self._reader.end())

    @property
    def ended(self) -> bool:
        """Whether the response is whole."""
        return self._end is not None

    @property
    def is_stream(self) -> bool:
        """The response's own word for it; some servers stream, or don't, whatever is asked."""
        kind = self.headers.get("content-type", "")
        return self.status == 200 and kind.startswith("text/event-stream")

    def result(self, failure: BaseException | None = None, notes: tuple[Note, ...] = ()) -> Result:
        """What came of it; ``failure`` is what cut it short, if something did.

        Raises what a listener raised.
        """
        if self._interrupted:
            raise self._interrupted
        done = self._end or time.monotonic()
        answer, error = self._meaning(self._cut or failure)
        kept, told = self._kept()
        request_id = next((self.headers[n] for n in _REQUEST_IDS if self.headers.get(n)), None)
        if request_id is None and answer is not None:
            request_id = answer.response_id
        return Result(
            status=self.status,
            request_bytes=self.request_bytes,
            response_bytes=kept,
            answer=answer,
            error=self._masked(error) if error else None,
            latency_ms=(done - self._start) * 1000,
            first_token_ms=self._first_token,
            request_id=self._provider.masked_text(request_id) if request_id else None,
            notes=(*notes, *told),
        )

    def _kept(self) -> tuple[bytes, tuple[Note, ...]]:
        """The response as it is stored, and what of it is not what came."""
        read, came = self._readable, bytes(self._body)
        told = notes_of(read.rules)
        if not self.is_stream:
            return read.data, told
        if read.is_whole and is_clean(self._provider, came):
            return came, told
        return read.data, (*told, STREAM_NOT_KEPT)

    @cached_property
    def _readable(self) -> Hidden:
        """What came, a stream as the body it makes, without what is not kept. Only when a stream is
        put together are a key or a secret whole that came in pieces of several events."""
        came = self._put_together() if self.is_stream else bytes(self._body)
        return hidden(self._provider, came)

    def _put_together(self) -> bytes:
        try:
            whole = compact_json(self._fold.error or self._fold.body())
        except (ValueError, RecursionError):
            return b""
        return whole.encode("utf-8", "surrogatepass")

    def _events(self, events: list[Event]) -> None:
        for event in events:
            self._fold.add(event)
            now = (time.monotonic() - self._start) * 1000
            if self._fold.began and self._first_token is None:
                self._first_token = now
            if self._on_stream:
                self._tell(self._on_stream, event, now)

    def _tell(self, listener: OnStream, event: Event, now: float) -> None:
        try:
            listener(event, now)
        except Exception as error:
            self._interrupted = error
            raise

    def _meaning(self, failure: BaseException | None) -> tuple[Answer | None, ProviderError | None]:
        if self.status is not None and not 200 <= self.status < 300:
            return None, errors.of_response(self.status, self.headers, self._readable.data)
        if isinstance(failure, TooMuch):
            return None, ProviderError("too_large", str(failure), self.status)
        if isinstance(failure, BadStream):
            return None, ProviderError("malformed", str(failure), self.status)
        if self.is_stream and self._fold.error:
            return None, errors.of_stream(self._fold.error, self.status or 200)
        if failure is not None:
            return None, errors.of_exception(failure)
        return self._streamed() if self.is_stream else self._whole(self._readable.data)

    def _masked(self, error: ProviderError) -> ProviderError:
        hide = self._provider.masked_text
        return replace(error, message=hide(error.message), code=error.code and hide(error.code))

    def _streamed(self) -> tuple[Answer | None, ProviderError | None]:
        if not self._fold.complete:
            said = "the stream ended before its answer was whole"
            return None, ProviderError("incomplete", said, self.status, retryable=True)
        if not self._readable.data:
            return None, ProviderError("malformed", "the stream is no JSON", self.status)
        return self._whole(self._readable.data)

    def _whole(self, body: bytes) -> tuple[Answer | None, ProviderError | None]:
        try:
            return self._answer(read_value(body))
        except (ValueError, RecursionError):
            shown = body[:200].decode("utf-8", "replace")
            said = f"the response is no JSON: {shown}"
            return None, ProviderError("malformed", said, self.status)

    def _answer(self, body: object) -> tuple[Answer | None, ProviderError | None]:
        try:
            return read_answer(body), None
        except BadAnswer as error:
            return None, ProviderError("malformed", str(error), self.status)
