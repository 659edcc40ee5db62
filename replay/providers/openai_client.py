"""OpenAI's client, without its walk through every message.

It holds each message and tool against every type that one may have, to rename members that none of
them has; of a long conversation that takes longer than all the rest of the call. What stands in
`extra_body` it sends as it is, by its own contract. Imported in the cross lane only (it is heavy).
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any

from openai import AsyncOpenAI
from openai.resources.chat import AsyncChat, AsyncCompletions

AS_IT_IS = ("messages", "tools")


class _Completions(AsyncCompletions):
    async def create(self, **asked: Any) -> Any:
        # An empty list keeps the place, so that the body has its members in the usual order.
        given = {name: asked[name] for name in AS_IT_IS if isinstance(asked.get(name), Iterable)}
        whole = {name: list(value) for name, value in given.items()}
        body = {**whole, **(asked.pop("extra_body", None) or {})}
        return await super().create(**{**asked, **{name: [] for name in whole}}, extra_body=body)


class _Chat(AsyncChat):
    @cached_property
    def completions(self) -> AsyncCompletions:
        return _Completions(self._client)


class Client(AsyncOpenAI):
    @cached_property
    def chat(self) -> AsyncChat:
        return _Chat(self)
