"""Connections that go to the addresses which were judged, and nowhere else.

The name stays in the `Host` header and in what the certificate has to show; only the connection is
made by address, so that a name server cannot answer otherwise the second time. No proxy of the
environment is used on this way: it would resolve the name by itself.
"""

from __future__ import annotations

import asyncio
import os
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import httpcore2
import httpx2

from replay.providers.addresses import BadAddress, Policy, Resolve, resolved
from replay.providers.bounded import Bounded, begin
from replay.providers.tls import ssl_context

NO_REST = httpx2.Limits(max_connections=None, max_keepalive_connections=0)
"""A connection ends with the answer it brought."""
RESTS_SECONDS = 1.0
"""How long a connection waits for the next call. Servers wait twice as long and more before they
close one, so that hardly any call goes out on one that is being closed."""


class NotAsked(httpx2.TransportError):
    """The address may not be asked; nothing was sent. `code` says why, as BadAddress does."""

    def __init__(self, bad: BadAddress) -> None:
        super().__init__(str(bad))
        self.code = bad.code


def _addresses(request: httpx2.Request, policy: Policy, resolve: Resolve | None) -> list[str]:
    try:
        return resolved(str(request.url), policy, resolve)
    except BadAddress as bad:
        raise NotAsked(bad) from bad


def _aim(request: httpx2.Request, address: str, host: str) -> None:
    request.url = request.url.copy_with(host=address)
    request.extensions = {**request.extensions, "sni_hostname": host}


def policy_of(policy: Policy | None, url: str) -> Policy | None:
    """What judges a call: a provider's own policy, else what every base URL is held to.

    None: the environment names a proxy for the operator's own base URL, and that is kept to.
    """
    if policy is not None:
        return policy
    host = urlsplit(url).hostname or ""
    return None if _names_proxy() and not proxy_bypass(host) else Policy(private=True)


def _names_proxy() -> bool:
    """Whether the environment does. A look at the names first: to read it all takes longer."""
    some = any(name.lower().endswith("_proxy") for name in os.environ)
    return some and bool(getproxies().keys() & {"http", "https", "all"})


class Pinned(httpx2.HTTPTransport):
    """A transport that connects to judged addresses, the next where one takes no connection. The
    request's timeout is that of the whole call.

    For the calls to one host, one after the other: a resting connection is known by its address,
    and a host next to it has another certificate to show.
    """

    def __init__(self, policy: Policy, resolve: Resolve | None = None) -> None:
        super().__init__(verify=ssl_context(), trust_env=False, limits=NO_REST)
        self._pool = httpcore2.ConnectionPool(
            ssl_context=ssl_context(),
            max_connections=None,
            max_keepalive_connections=1,
            keepalive_expiry=RESTS_SECONDS,
            network_backend=Bounded(),
        )
        self._policy, self._resolve = policy, resolve

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        begin(request.extensions.get("timeout", {}).get("read"))
        host, tried = request.url.host, []
        for address in _addresses(request, self._policy, self._resolve):
            _aim(request, address, host)
            try:
                return super().handle_request(request)
            except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
                tried.append(error)
        raise tried[-1]


class AsyncPinned(httpx2.AsyncHTTPTransport):
    """The same for who awaits, and for any host: no connection rests."""

    def __init__(self, policy: Policy, resolve: Resolve | None = None) -> None:
        super().__init__(verify=ssl_context(), trust_env=False, limits=NO_REST)
        self._policy, self._resolve = policy, resolve

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        host, tried = request.url.host, []
        judged = asyncio.to_thread(_addresses, request, self._policy, self._resolve)
        for address in await judged:
            _aim(request, address, host)
            try:
                return await super().handle_async_request(request)
            except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
                tried.append(error)
        raise tried[-1]
