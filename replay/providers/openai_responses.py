"""OpenAI's Responses for calls whose answer we read ourselves (see `openai_client`)."""

from __future__ import annotations

from typing import Any

from openai.resources.responses import AsyncResponses

from replay.providers.openai_client import post


class Responses(AsyncResponses):
    async def create(self, **asked: Any) -> Any:
        return await post(self._client, "/responses", asked)
