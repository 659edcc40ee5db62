"""Request bodies from the wire, of any of the three APIs, as a ``Prompt``.

Used when a recorded call goes to another API than the one it was made on. What has no name in a
``Prompt`` stays in ``params``, so that a writer can carry it or say that it doesn't.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from replay.dialects.loose import mapping
from replay.dialects.prompt import CHAT, MESSAGES, RESPONSES, Prompt
from replay.dialects.read import chat, messages, responses

READERS = {CHAT: chat.read, RESPONSES: responses.read, MESSAGES: messages.read}


def api_of(url: str, body: object) -> str | None:
    """Which API a recorded call went to, by its address, else by its body; ``None`` for others."""
    path = url.partition("?")[0].rstrip("/")
    for ending, api in (("/chat/completions", CHAT), ("/responses", RESPONSES)):
        if path.endswith(ending):
            return api
    if path.endswith("/messages"):
        return MESSAGES
    found = mapping(body)
    if "input" in found:
        return RESPONSES
    return CHAT if "messages" in found and not url else None


def read_body(api: str, body: Mapping[str, Any]) -> Prompt:
    """A request body as a prompt; paths in it are JSON Pointers into ``body``."""
    return READERS[api](body)
