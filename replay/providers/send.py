"""Ask once."""

from __future__ import annotations

from replay.providers.calls import Call
from replay.providers.cross import worded
from replay.providers.direct import send_direct
from replay.providers.exchange import MOST_BYTES, Exchange, OnStream, Result

TIMEOUT = 120.0


def send(
    call: Call,
    *,
    timeout: float = TIMEOUT,
    on_stream: OnStream | None = None,
    most_bytes: int = MOST_BYTES,
) -> Result:
    """Send one HTTP request and tell what came: an answer, or an error in the provider's words.

    Never raises for the network, the provider or the library, never asks twice (see ``next_wait``
    for when the caller may) and follows no redirect. ``timeout`` bounds the whole call in seconds.
    ``on_stream`` gets each event of a stream and the milliseconds since the start; what it raises
    ends the call and comes through.
    """
    exchange = Exchange(call.provider, timeout=timeout, on_stream=on_stream, most_bytes=most_bytes)
    return send_direct(worded(call, timeout=timeout), exchange, timeout=timeout)
