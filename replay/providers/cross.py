"""The cross lane: the provider's own client library says the call anew, and its wire is watched.

What was really sent, and the answer's own bytes, are taken where they pass; what the library would
make of the answer is not needed. Should it refuse to send the call at all, our own body goes out.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Hashable
from contextvars import copy_context
from typing import TYPE_CHECKING, Any

import httpx2

from replay.dialects import CHAT, MESSAGES, Note
from replay.dialects.loose import mapping, parsed
from replay.providers.answered import Answered
from replay.providers.calls import Call
from replay.providers.catalog import Provider
from replay.providers.clients import Shelf, timeouts, transport_of
from replay.providers.direct import send_direct
from replay.providers.exchange import Exchange, Result
from replay.providers.fidelity import notes_from_wire
from replay.providers.pinned import NO_REST, Inline, policy_of
from replay.providers.tls import ssl_context

if TYPE_CHECKING:
    from pydantic_ai.models import Model


class SecondRequest(Exception):
    """The library wanted to ask again: a call is one request, whatever came of it."""


def send_cross(call: Call, exchange: Exchange, *, timeout: float) -> Result:
    """Send ``call`` once through the library. Never raises for the network or the library."""
    failure = _in_a_loop(call, exchange, timeout)
    if not exchange.request_bytes:
        why = call.provider.masked_text(str(failure))
        said = f"the library would not send the call ({why}); our own body was sent"
        result = send_direct(call, exchange, timeout=timeout)
        return _with_note(result, Note("library_refused", "", said[:500]))
    assert call.prompt is not None
    _, sent = parsed(exchange.request_bytes.decode("utf-8", "replace"))
    notes = notes_from_wire(call.prompt, call.dialect, mapping(sent))
    return exchange.result(None if exchange.ended else failure, notes)


def _in_a_loop(call: Call, exchange: Exchange, timeout: float) -> Exception | None:
    """Ask in an event loop that other calls had before; what went wrong, if something did."""
    loop = _loops.take(None, asyncio.Runner)
    try:
        loop.run(_ask(call, exchange, timeout), context=copy_context())
    except Exception as error:
        loop.close()  # what a call that was cut short leaves behind belongs to it
        return error
    _loops.put_back(None, loop)
    return None


def _with_note(result: Result, note: Note) -> Result:
    return Result(**{**vars(result), "notes": (note, *result.notes)})


async def _ask(call: Call, exchange: Exchange, timeout: float) -> None:
    # Here and not above: the library and its clients cost a second and 100 MB, which a process that
    # never asks across APIs (the web one, most workers) should not pay.
    from pydantic_ai.direct import model_request, model_request_stream

    from replay.providers.library import messages_of, settings_of

    assert call.prompt is not None
    key = _key(call, timeout)
    kit = _shelf.take(key, lambda: _Kit(call, timeout)) if key else _Kit(call, timeout)
    went_well = False
    try:
        kit.use_for(exchange)
        asked: dict[str, Any] = {
            "messages": messages_of(call.prompt, call.dialect),
            "model_settings": settings_of(call.prompt, call.dialect, timeout),
            "model_request_parameters": kit.offers.of(call.prompt),
        }
        async with asyncio.timeout(timeout):
            if call.streams:
                async with model_request_stream(kit.model, **asked) as stream:
                    async for _ in stream:
                        pass
            else:
                await model_request(kit.model, **asked)
    except Answered:
        went_well = True
    finally:
        kit.leave()
        if key and went_well:
            _shelf.put_back(key, kit)
        else:
            await kit.close()


def _key(call: Call, timeout: float) -> Hashable | None:
    """What a kit is made of; None where a proxy of the environment is asked, which may change."""
    one = call.provider
    policy = policy_of(one.policy, one.base_url)
    if policy is None:
        return None
    whom = (one.base_url, one.api_key, one.bearer, tuple(one.headers.items()), policy)
    return (call.dialect, call.model, timeout, *whom)


def _model(call: Call, http: httpx2.AsyncClient) -> Model:
    return _claude(call, http) if call.dialect == MESSAGES else _gpt(call, http)


def _claude(call: Call, http: httpx2.AsyncClient) -> Model:
    from pydantic_ai.models.anthropic import AnthropicModel
    from pydantic_ai.providers.anthropic import AnthropicProvider

    from replay.providers.anthropic_client import Client
    from replay.providers.kept_tools import remembering

    provider = call.provider
    client = Client(
        api_key=None if provider.bearer else provider.api_key,
        auth_token=provider.api_key if provider.bearer else None,
        base_url=provider.base_url,
        http_client=http,
        max_retries=0,
    )
    asked = AnthropicProvider(anthropic_client=client)
    claude: Model = remembering(AnthropicModel)(call.model, provider=asked)
    return claude


def _gpt(call: Call, http: httpx2.AsyncClient) -> Model:
    from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
    from pydantic_ai.providers.openai import OpenAIProvider

    from replay.providers.kept_tools import remembering
    from replay.providers.openai_client import Client

    provider = call.provider
    client = Client(
        api_key=provider.api_key or "none",
        base_url=provider.base_url,
        http_client=http,
        max_retries=0,
        default_headers=dict(provider.headers),
    )
    kind = remembering(OpenAIChatModel if call.dialect == CHAT else OpenAIResponsesModel)
    gpt: Model = kind(call.model, provider=OpenAIProvider(openai_client=client))
    return gpt


class _Kit:
    """A library's model and the client it asks through, for one call at a time.

    To make them takes as long as the call. The client is never closed: it keeps no connection.
    """

    def __init__(self, call: Call, timeout: float) -> None:
        from replay.providers.kept_tools import Offers

        self._exchange: Exchange | None = None
        self._http = self._client(call.provider, timeout)
        self.model = _model(call, self._http)
        self.offers = Offers(call.dialect)

    def use_for(self, exchange: Exchange) -> None:
        self._exchange = exchange

    def leave(self) -> None:
        """Forget the call, and what its answer would have kept for the next one."""
        self._exchange = None
        self._http.cookies.clear()

    async def close(self) -> None:
        await self._http.aclose()

    def _client(self, provider: Provider, timeout: float) -> httpx2.AsyncClient:
        """A client whose traffic the exchange sees, and which sends one request and no other."""
        policy = policy_of(provider.policy, provider.base_url)
        return httpx2.AsyncClient(
            event_hooks={"request": [self._sending], "response": [self._receiving]},
            headers={"Accept-Encoding": "identity", "User-Agent": "rewyn-web"},
            timeout=timeouts(timeout),
            verify=ssl_context(),
            limits=NO_REST,
            transport=Inline(transport_of(policy)) if policy else None,
            follow_redirects=False,
        )

    async def _sending(self, request: httpx2.Request) -> None:
        assert self._exchange is not None
        if self._exchange.request_bytes:
            raise SecondRequest("the library wanted to ask a second time")
        self._exchange.sending(await request.aread())

    async def _receiving(self, response: httpx2.Response) -> None:
        assert self._exchange is not None
        self._exchange.begin(response.status_code, response.headers)
        # Compressed against our word it stays as it is: unpacked by the client it has no bound.
        response.headers.pop("content-encoding", None)
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        response.stream = _Watched(response.stream, self._exchange)


_shelf: Shelf[_Kit] = Shelf()
_loops: Shelf[asyncio.Runner] = Shelf(asyncio.Runner.close)


class _Watched(httpx2.AsyncByteStream):
    """A response's bytes, seen as they pass to the library."""

    def __init__(self, stream: httpx2.AsyncByteStream, exchange: Exchange) -> None:
        self._stream = stream
        self._exchange = exchange

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for piece in self._stream:
            self._exchange.take(piece)
            yield piece
        self._exchange.end()

    async def aclose(self) -> None:
        await self._stream.aclose()
