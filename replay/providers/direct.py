"""The same lane: the body goes out as it is, over httpx2, in one request."""

from __future__ import annotations

import httpx2

from replay.dialects.sse import BadStream
from replay.providers.calls import Call
from replay.providers.catalog import Provider
from replay.providers.exchange import Exchange, Result, TooLate, TooMuch
from replay.providers.pinned import Pinned, policy_of
from replay.providers.tls import ssl_context

CONNECT_SECONDS = 15.0


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
        with _client(call.provider, timeout) as client:
            url = call.provider.url(call.dialect)
            exchange.sending(call.request_bytes())
            asked = client.stream("POST", url, content=exchange.request_bytes, headers=headers)
            with asked as response:
                exchange.begin(response.status_code, response.headers)
                for piece in response.iter_raw():
                    exchange.take(piece)
                exchange.end()
    except (httpx2.HTTPError, httpx2.InvalidURL, TooMuch, TooLate, BadStream, OSError) as error:
        failure = error
    return exchange.result(failure, call.notes)


def _client(provider: Provider, timeout: float) -> httpx2.Client:
    """A client of its own for each call: a kept connection may be dead, and that costs a retry."""
    limits = httpx2.Timeout(timeout, connect=min(CONNECT_SECONDS, timeout))
    policy = policy_of(provider.policy, provider.base_url)
    return httpx2.Client(
        timeout=limits,
        verify=ssl_context(),
        transport=Pinned(policy) if policy else None,
        follow_redirects=False,
    )
