"""The cross lane: the provider's own client library says the call anew, and its wire is watched.

What was really sent, and the answer's own bytes, are taken where they pass; what the library makes
of the answer is not needed. Should it refuse to send the call at all, our own body goes out.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

import httpx2

from replay.dialects import CHAT, MESSAGES, Note
from replay.dialects.loose import mapping, parsed
from replay.providers.calls import Call
from replay.providers.catalog import Provider
from replay.providers.direct import CONNECT_SECONDS, send_direct
from replay.providers.exchange import Exchange, Result
from replay.providers.fidelity import notes_from_wire
from replay.providers.pinned import AsyncPinned, policy_of
from replay.providers.tls import ssl_context

if TYPE_CHECKING:
    from pydantic_ai.models import Model


class SecondRequest(Exception):
    """The library wanted to ask again: a call is one request, whatever came of it."""


def send_cross(call: Call, exchange: Exchange, *, timeout: float) -> Result:
    """Send ``call`` once through the library. Never raises for the network or the library."""
    failure: Exception | None = None
    try:
        asyncio.run(_ask(call, exchange, timeout))
    except Exception as error:
        failure = error
    if not exchange.request_bytes:
        why = call.provider.masked_text(str(failure))
        said = f"the library would not send the call ({why}); our own body was sent"
        result = send_direct(call, exchange, timeout=timeout)
        return _with_note(result, Note("library_refused", "", said[:500]))
    assert call.prompt is not None
    _, sent = parsed(exchange.request_bytes.decode("utf-8", "replace"))
    notes = notes_from_wire(call.prompt, call.dialect, mapping(sent))
    return exchange.result(None if exchange.ended else failure, notes)


def _with_note(result: Result, note: Note) -> Result:
    return Result(**{**vars(result), "notes": (note, *result.notes)})


async def _ask(call: Call, exchange: Exchange, timeout: float) -> None:
    # Here and not above: the library and its clients cost a second and 100 MB, which a process that
    # never asks across APIs (the web one, most workers) should not pay.
    from pydantic_ai.direct import model_request, model_request_stream

    from replay.providers.library import messages_of, parameters_of, settings_of

    assert call.prompt is not None
    asked: dict[str, Any] = {
        "messages": messages_of(call.prompt, call.dialect),
        "model_settings": settings_of(call.prompt, call.dialect, timeout),
        "model_request_parameters": parameters_of(call.prompt, call.dialect),
    }
    async with _client(call.provider, exchange, timeout) as http:
        model = _model(call, http)
        async with asyncio.timeout(timeout):
            if not call.streams:
                await model_request(model, **asked)
                return
            async with model_request_stream(model, **asked) as stream:
                async for _ in stream:
                    pass


def _model(call: Call, http: httpx2.AsyncClient) -> Model:
    provider = call.provider
    if call.dialect == MESSAGES:
        from anthropic import AsyncAnthropic
        from pydantic_ai.models.anthropic import AnthropicModel
        from pydantic_ai.providers.anthropic import AnthropicProvider

        claude = AsyncAnthropic(
            api_key=None if provider.bearer else provider.api_key,
            auth_token=provider.api_key if provider.bearer else None,
            base_url=provider.base_url,
            http_client=http,
            max_retries=0,
        )
        return AnthropicModel(call.model, provider=AnthropicProvider(anthropic_client=claude))
    from openai import AsyncOpenAI
    from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
    from pydantic_ai.providers.openai import OpenAIProvider

    gpt = AsyncOpenAI(
        api_key=provider.api_key or "none",
        base_url=provider.base_url,
        http_client=http,
        max_retries=0,
        default_headers=dict(provider.headers),
    )
    kind = OpenAIChatModel if call.dialect == CHAT else OpenAIResponsesModel
    return kind(call.model, provider=OpenAIProvider(openai_client=gpt))


def _client(provider: Provider, exchange: Exchange, timeout: float) -> httpx2.AsyncClient:
    """A client whose traffic ``exchange`` sees, and which sends one request and no other."""

    async def sending(request: httpx2.Request) -> None:
        if exchange.request_bytes:
            raise SecondRequest("the library wanted to ask a second time")
        exchange.sending(await request.aread())

    async def receiving(response: httpx2.Response) -> None:
        exchange.begin(response.status_code, response.headers)
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        response.stream = _Watched(response.stream, exchange)

    policy = policy_of(provider.policy, provider.base_url)
    return httpx2.AsyncClient(
        event_hooks={"request": [sending], "response": [receiving]},
        headers={"Accept-Encoding": "identity", "User-Agent": "rewyn-web"},
        timeout=httpx2.Timeout(timeout, connect=min(CONNECT_SECONDS, timeout)),
        verify=ssl_context(),
        transport=AsyncPinned(policy) if policy else None,
        follow_redirects=False,
    )


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
