"""The same lane: the body goes out as it is, over httpx2, in one request."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from urllib.parse import urlsplit

import httpx2

from replay.dialects.sse import BadStream
from replay.providers.calls import Call
from replay.providers.catalog import Provider
from replay.providers.clients import timeouts, way_to
from replay.providers.exchange import Exchange, Result, TooLate, TooMuch
from replay.providers.pinned import NO_REST, policy_of
from replay.providers.tls import ssl_context


def send_direct(call: Call, exchange: Exchange, *, timeout: float) -> Result:
    """Send ``call`` once and take what comes into ``exchange``. Never raises for the network."""
    headers = {
        **call.headers,
        **call.provider.secrets(),
        "User-Agent": "rewyn-web",
        # A compressed answer could be small on the wire and have no bound unpacked.
        "Accept-Encoding": "identity",
    }
    failure: Exception | None = None
    try:
        with _way(call.provider) as send:
            asked = httpx2.Request(
                "POST",
                call.provider.url(call.dialect),
                content=call.request_bytes,
                headers=headers,
                extensions={"timeout": timeouts(timeout).as_dict()},
            )
            exchange.sending(call.request_bytes)
            response = send(asked)
            with closing(response):
                exchange.begin(response.status_code, response.headers)
                assert isinstance(response.stream, httpx2.SyncByteStream)
                for piece in response.stream:
                    exchange.take(piece)
                exchange.end()
    except (httpx2.HTTPError, httpx2.InvalidURL, TooMuch, TooLate, BadStream, OSError) as error:
        failure = error
    return exchange.result(failure, call.notes)


@contextmanager
def _way(provider: Provider) -> Iterator[Callable[[httpx2.Request], httpx2.Response]]:
    """What sends one request: the kept way out, or a client that goes by a proxy."""
    policy = policy_of(provider.policy, provider.base_url)
    if policy is not None:
        host = urlsplit(provider.base_url).hostname or ""
        with way_to(host, policy) as way:
            yield way.handle_request
        return
    with httpx2.Client(verify=ssl_context(), limits=NO_REST, follow_redirects=False) as client:
        yield partial(client.send, stream=True)
