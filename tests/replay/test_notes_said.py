"""A note of a plan stands alone, without the place it is about: it names what it speaks of."""

from __future__ import annotations

from typing import Any

import pytest
from asked import HELLO, made, wired

from replay.providers import Provider

CHAT_URL = "https://api.openai.com/v1/chat/completions"
RESPONSES_URL = "https://api.openai.com/v1/responses"
RECORD = {"kind": {"effect": "completion", "request": {}}, "outcome": {"Ok": {}}}
SEALED = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "abc"}
SEALED_TURN = [{"role": "user", "content": "Hi"}, SEALED, {"role": "user", "content": "Go on"}]


@pytest.mark.parametrize(
    ("url", "body", "model", "code", "about"),
    [
        (RESPONSES_URL, {"input": SEALED_TURN}, "openai-chat:gpt-4o", "reasoning_left_out",
         "reasoning"),
        (RESPONSES_URL, {"input": SEALED_TURN}, "anthropic:claude-sonnet-4-5",
         "reasoning_left_out", "reasoning"),
        (CHAT_URL, {"messages": HELLO, "temperature": 1.5}, "anthropic:claude-sonnet-4-5",
         "temperature_lowered", "temperature"),
        (CHAT_URL, {"messages": HELLO, "max_tokens": 90_000}, "openai-responses:gpt-4o",
         "max_tokens_lowered", "tokens"),
        (CHAT_URL, {"messages": HELLO, "seed": 1}, "openai-responses:gpt-4o", "seed_left_out",
         "seed"),
        (CHAT_URL, {"messages": HELLO, "seed": 1}, "anthropic:claude-sonnet-4-5",
         "seed_left_out", "seed"),
        (CHAT_URL, {"messages": HELLO, "temperature": 0, "top_p": 0.5},
         "anthropic:claude-sonnet-4-5", "top_p_left_out", "top_p is left out"),
        (RESPONSES_URL, {"input": "Hi", "tools": [{"type": "web_search"}]}, "openai-chat:gpt-4o",
         "hosted_tool_left_out", "is left out"),
    ],
)  # fmt: skip
def test_a_note_names_what_it_speaks_of(
    providers: dict[str, Provider],
    url: str,
    body: dict[str, Any],
    model: str,
    code: str,
    about: str,
) -> None:
    notes = made(providers, RECORD, model, wired(url, {"model": "m", **body})).notes
    [note] = [note for note in notes if note.code == code]
    assert about in note.message
