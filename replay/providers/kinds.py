"""The kinds of provider a project can have: whose manner of an API it is, and where that is.

Addresses and names of variables are the providers' own, as their documentation gives them
(2026-11). Google, Mistral, Groq and OpenRouter are asked on their Chat Completions APIs.
"""

from __future__ import annotations

from dataclasses import dataclass

from replay.dialects import CHAT
from replay.providers.catalog import ANTHROPIC_URL, COMPATIBLE, OPENAI_URL


@dataclass(frozen=True, slots=True)
class Kind:
    """`key_variable` and `base_variable` are what the maker's own client reads."""

    name: str
    label: str
    base_url: str
    key_variable: str
    base_variable: str = ""
    api: str | None = None


GOOGLE_URL = "https://generativelanguage.googleapis.com/v1beta/openai"

KINDS = {
    kind.name: kind
    for kind in (
        Kind("openai", "OpenAI", OPENAI_URL, "OPENAI_API_KEY", "OPENAI_BASE_URL"),
        Kind(
            "anthropic", "Anthropic", ANTHROPIC_URL, "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"
        ),
        Kind("google", "Google Gemini", GOOGLE_URL, "GEMINI_API_KEY", api=CHAT),
        Kind("mistral", "Mistral", "https://api.mistral.ai/v1", "MISTRAL_API_KEY", api=CHAT),
        Kind("groq", "Groq", "https://api.groq.com/openai/v1", "GROQ_API_KEY", api=CHAT),
        Kind(
            "openrouter",
            "OpenRouter",
            "https://openrouter.ai/api/v1",
            "OPENROUTER_API_KEY",
            api=CHAT,
        ),
        Kind(COMPATIBLE, "another, OpenAI-compatible", "", ""),
    )
}  # fmt: skip
