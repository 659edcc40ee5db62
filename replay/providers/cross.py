"""The cross lane: the provider's own client library says the call anew, and we send what it says.

The library words the body, before the call is due; it goes out as any other, and what the library
would make of the answer is not needed. Should it refuse to word the call, our own body goes out.
"""

from __future__ import annotations

import asyncio
from contextvars import copy_context
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import httpx2

from replay.dialects import CHAT, MESSAGES, Note
from replay.dialects.loose import mapping, parsed
from replay.providers.calls import Call
from replay.providers.clients import Shelf
from replay.providers.fidelity import notes_from_wire
from replay.providers.verbatim import as_recorded
from replay.providers.worded import Worded

if TYPE_CHECKING:
    from pydantic_ai.models import Model


def worded(call: Call, *, timeout: float) -> Call:
    """``call`` as it goes out: in the cross lane with the body the library gives it and notes of
    what that leaves out. Sends nothing and never raises; the library has ``timeout`` seconds."""
    if call.lane == "same" or call.is_worded:
        return call
    return replace(_said(call, _in_a_loop(call, timeout)), is_worded=True)


def _said(call: Call, found: Exception) -> Call:
    """The call in the library's words, with what they leave out; ours where it has none."""
    if not isinstance(found, Worded):
        return _refused(call, found)
    assert call.prompt is not None
    body = as_recorded(found.body, call.prompt, call.dialect)
    said = replace(call, body=body, headers={**call.headers, **found.headers})
    try:
        _, sent = parsed(said.request_bytes.decode())
    except (TypeError, ValueError) as error:  # the library leaves something for its own sending
        return _refused(call, error)
    return replace(said, notes=notes_from_wire(call.prompt, call.dialect, mapping(sent)))


def _refused(call: Call, failure: Exception) -> Call:
    why = call.provider.masked_text(str(failure))
    told = f"the library would not send the call ({why}); our own body was sent"
    return replace(call, notes=(Note("library_refused", "", told[:500]), *call.notes))


def _in_a_loop(call: Call, timeout: float) -> Exception:
    """Have it worded in an event loop that other calls had before; what ended that."""
    loop = _loops.take(None, asyncio.Runner)
    try:
        loop.run(_word(call, timeout), context=copy_context())
    except Worded as worded:
        _loops.put_back(None, loop)
        return worded
    except Exception as error:
        loop.close()  # what a call that was cut short leaves behind belongs to it
        return error
    loop.close()
    return RuntimeError("it said nothing")


async def _word(call: Call, timeout: float) -> None:
    """Raises Worded, or what the library says against the call."""
    # Here and not above: the library and its clients cost a second and 100 MB, which a process that
    # never asks across APIs (the web one, most workers) should not pay.
    from pydantic_ai.direct import model_request, model_request_stream

    from replay.providers.library import messages_of, settings_of

    assert call.prompt is not None
    key = (call.dialect, call.model)
    kit = _shelf.take(key, lambda: _Kit(call))
    asked: dict[str, Any] = {
        "messages": messages_of(call.prompt, call.dialect),
        "model_settings": settings_of(call.prompt, call.dialect, timeout),
        "model_request_parameters": kit.offers.of(call.prompt),
    }
    try:
        async with asyncio.timeout(timeout):
            if call.streams:
                async with model_request_stream(kit.model, **asked):
                    pass
            else:
                await model_request(kit.model, **asked)
    except Worded:
        _shelf.put_back(key, kit)
        raise


class _Kit:
    """A library's model and what it made of the tools, for one call at a time.

    To make them takes as long as the call. They know neither key nor address: nothing goes out
    through them.
    """

    def __init__(self, call: Call) -> None:
        from replay.providers.kept_tools import Offers

        self.model = _claude(call.model) if call.dialect == MESSAGES else _gpt(call)
        self.offers = Offers(call.dialect)


def _claude(model: str) -> Model:
    from pydantic_ai.models.anthropic import AnthropicModel
    from pydantic_ai.providers.anthropic import AnthropicProvider

    from replay.providers.anthropic_client import Client
    from replay.providers.kept_tools import remembering

    client = Client(api_key=NO_KEY, base_url=NOWHERE, http_client=_no_way_out(), max_retries=0)
    claude: Model = remembering(AnthropicModel)(
        model, provider=AnthropicProvider(anthropic_client=client)
    )
    return claude


def _gpt(call: Call) -> Model:
    from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
    from pydantic_ai.providers.openai import OpenAIProvider

    from replay.providers.kept_tools import remembering
    from replay.providers.openai_client import Client

    client = Client(api_key=NO_KEY, base_url=NOWHERE, http_client=_no_way_out(), max_retries=0)
    kind = remembering(OpenAIChatModel if call.dialect == CHAT else OpenAIResponsesModel)
    gpt: Model = kind(call.model, provider=OpenAIProvider(openai_client=client))
    return gpt


NO_KEY = "none"
NOWHERE = "http://nowhere.invalid/v1"


class _NoWay(httpx2.AsyncBaseTransport):
    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        raise httpx2.ConnectError("a library sends nothing by itself", request=request)


def _no_way_out() -> httpx2.AsyncClient:
    return httpx2.AsyncClient(transport=_NoWay(), trust_env=False)


_shelf: Shelf[_Kit] = Shelf()
_loops: Shelf[asyncio.Runner] = Shelf(asyncio.Runner.close)
