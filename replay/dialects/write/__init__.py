"""A ``Prompt`` as the request body of one of the three APIs."""

from __future__ import annotations

from typing import Any

from replay.dialects.prompt import CHAT, MESSAGES, RESPONSES, Note, Prompt
from replay.dialects.settle import settled
from replay.dialects.write import chat, messages, responses

_WRITERS = {CHAT: chat.write, RESPONSES: responses.write, MESSAGES: messages.write}


_KNOWN = {CHAT: chat.KNOWN, RESPONSES: responses.KNOWN, MESSAGES: messages.KNOWN}
_EACH = "model messages input instructions system stream temperature max_tokens max_output_tokens"
_ALWAYS = frozenset(_EACH.split())


def known_fields(api: str) -> frozenset[str]:
    """The members of a request body that ``api`` documents."""
    return _KNOWN[api] | _ALWAYS


def write_body(api: str, prompt: Prompt, model: str) -> tuple[dict[str, Any], list[Note]]:
    """The body for ``model`` on ``api``, and a note for all that is not in it as it was."""
    return _WRITERS[api](settled(prompt), model)
