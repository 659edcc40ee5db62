"""OpenAI's client for calls whose answer we read ourselves.

A body goes out by the client's own `post`, its documented way for what its methods do not know.
Those hold each member against every type that it may have, to rename members that no request of
ours has, and make objects of the answer; of a long conversation either takes longer than all the
rest of the call. Imported in the cross lane only (it is heavy).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import httpx2
from openai import AsyncOpenAI, NotGiven, Omit
from openai.resources.chat import AsyncChat, AsyncCompletions

from replay.providers.answered import Answered

if TYPE_CHECKING:
    from openai.resources.responses import AsyncResponses


def _given(asked: Mapping[str, Any]) -> dict[str, Any]:
    return {name: one for name, one in asked.items() if not isinstance(one, Omit | NotGiven)}


async def post(client: AsyncOpenAI, path: str, asked: Mapping[str, Any]) -> Any:
    """Send what a method was asked for. Raises Answered as soon as the response is whole."""
    body = _given(asked)
    options: Any = {
        "headers": body.pop("extra_headers", None) or {},
        "extra_json": body.pop("extra_body", None),
        "security": {"bearer_auth": True},
        **({"timeout": body.pop("timeout")} if "timeout" in body else {}),
    }
    await client.post(path, cast_to=httpx2.Response, body=body, options=options)
    raise Answered


class _Completions(AsyncCompletions):
    async def create(self, **asked: Any) -> Any:
        return await post(self._client, "/chat/completions", asked)


class _Chat(AsyncChat):
    @cached_property
    def completions(self) -> AsyncCompletions:
        return _Completions(self._client)


class Client(AsyncOpenAI):
    @cached_property
    def chat(self) -> AsyncChat:
        return _Chat(self)

    @cached_property
    def responses(self) -> AsyncResponses:
        from replay.providers.openai_responses import Responses  # half a second to import

        return Responses(self)
