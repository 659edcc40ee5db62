"""OpenAI's Responses for calls that we send ourselves (see `openai_client`)."""

from __future__ import annotations

from typing import Any

from openai.resources.responses import AsyncResponses

from replay.providers.openai_client import hand_over


class Responses(AsyncResponses):
    async def create(self, **asked: Any) -> Any:
        hand_over(asked)
