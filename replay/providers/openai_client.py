"""OpenAI's client for calls that we send ourselves: it hands over what it would send.

What its methods are asked for is the body already, but for members that nobody gave. They hold each
member against every type that it may have, to rename members that no request of ours has; of a long
conversation that takes longer than all the rest of the call. Imported in the cross lane only (it is
heavy).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, NoReturn

from openai import AsyncOpenAI, NotGiven, Omit
from openai.resources.chat import AsyncChat, AsyncCompletions

from replay.providers.worded import Worded

if TYPE_CHECKING:
    from openai.resources.responses import AsyncResponses


def hand_over(asked: Mapping[str, Any]) -> NoReturn:
    """Raises Worded for what a method was asked for."""
    body = {name: one for name, one in asked.items() if not isinstance(one, Omit | NotGiven)}
    headers = body.pop("extra_headers", None) or {}
    more = body.pop("extra_body", None) or {}
    body.pop("timeout", None)
    raise Worded({**body, **more}, headers)


class _Completions(AsyncCompletions):
    async def create(self, **asked: Any) -> Any:
        hand_over(asked)


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
