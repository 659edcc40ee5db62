"""Anthropic's client for calls that we send ourselves (see `openai_client`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from anthropic import AsyncAnthropic, NotGiven, Omit

from replay.providers.worded import Worded

VERSION = "anthropic-version"
"""The header that says how a body is to be read: the library's body has the library's."""


class Client(AsyncAnthropic):
    async def post(self, path: str, *, body: Any = None, options: Any = None, **asked: Any) -> Any:
        """Hand it over. Raises Worded."""
        options = options or {}
        given = {name: one for name, one in body.items() if not isinstance(one, Omit | NotGiven)}
        said: Mapping[str, Any] = {
            VERSION: self.default_headers[VERSION],
            **(options.get("headers") or {}),
        }
        headers = {name: one for name, one in said.items() if isinstance(one, str)}
        raise Worded({**given, **(options.get("extra_json") or {})}, headers)
