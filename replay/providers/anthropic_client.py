"""Anthropic's client for calls whose answer we read ourselves (see `openai_client`)."""

from __future__ import annotations

from typing import Any

import httpx2
from anthropic import AsyncAnthropic

from replay.providers.answered import Answered


class Client(AsyncAnthropic):
    async def post(self, path: str, **asked: Any) -> Any:
        """Send it. Raises Answered as soon as the response is whole, streamed or not."""
        unread = {"cast_to": httpx2.Response, "stream": False, "stream_cls": None}
        await super().post(path, **{**asked, **unread})
        raise Answered
