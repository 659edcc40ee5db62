"""Asking a model again: from a recorded completion to one HTTP request and what came of it.

    providers = providers_from_env(os.environ)
    provider, model = choose("openai:gpt-4o-mini", providers)
    call = build_call(record, wire, provider=provider, model=model)
    result = send(worded(call, timeout=120))

Pure but for ``send``; no models, no settings. Only ``worded`` imports client libraries, for a call
across APIs, and ``send`` has it done where it was not.
"""

from replay.dialects import Note, Overrides
from replay.providers.calls import (
    Call,
    CannotAsk,
    build_call,
    recorded_prompt,
    target_api,
    why_not,
)
from replay.providers.catalog import BadModel, Provider, choose, providers_from_env
from replay.providers.cross import worded
from replay.providers.errors import ProviderError, next_wait
from replay.providers.exchange import Result
from replay.providers.send import send

__all__ = [
    "BadModel",
    "Call",
    "CannotAsk",
    "Note",
    "Overrides",
    "Provider",
    "ProviderError",
    "Result",
    "build_call",
    "choose",
    "next_wait",
    "providers_from_env",
    "recorded_prompt",
    "send",
    "target_api",
    "why_not",
    "worded",
]
