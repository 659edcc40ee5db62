"""What is told of a model before it is asked agrees with the library that words the call.

Held against the library's own profiles, so that an upgrade which knows another model tells. Left
out is what it lets through and the provider is known to refuse: gpt-5.2-codex, claude-3-5.
"""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

import pytest
from pydantic_ai.models import KnownModelName
from pydantic_ai.profiles.anthropic import (
    ANTHROPIC_THINKING_BUDGET_MAP,
    anthropic_model_profile,
    resolve_anthropic_effort,
)
from pydantic_ai.profiles.openai import openai_model_profile

from replay.dialects import CHAT, MESSAGES, RESPONSES, Prompt
from replay.dialects.models import most_output, never_reasons, takes_no_sampling
from replay.dialects.prompt import Options
from replay.providers.adapted import adapted


def known(*providers: str) -> set[str]:
    """The models that the library lists of these providers."""
    names = get_args(KnownModelName.__value__)
    return {model for one in names for p, _, model in [one.partition(":")] if p in providers}


CLAUDE = sorted(
    known("anthropic")
    | {f"claude-opus-4-{n}" for n in (0, 1, 5, 6, 7, 8)}
    | {f"claude-sonnet-4-{n}" for n in (0, 5, 6)}
    | {"claude-3-7-sonnet-latest", "claude-haiku-4-5", "claude-mythos-preview"}
)  # fmt: skip
GPT = sorted(
    known("openai", "openai-chat", "openai-responses")
    | {"gpt-5", "gpt-5-mini", "gpt-5-nano", "gpt-5-pro", "gpt-5-codex", "gpt-5-chat-latest"}
    | {"gpt-5.1", "gpt-5.1-codex", "gpt-5.1-codex-max", "gpt-5.1-chat-latest"}
    | {"gpt-5.2", "gpt-5.2-pro", "gpt-5.2-chat-latest", "gpt-5.3-codex", "gpt-5.3-chat-latest"}
    | {"gpt-5.4", "gpt-5.4-mini", "gpt-5.4-nano", "gpt-5.4-pro", "gpt-5.5", "gpt-5.5-pro"}
    | {"gpt-5.6-sol", "gpt-6-sol", "gpt-6-luna", "gpt-6-astra", "gpt-6.1-sol", "gpt-6.1-terra"}
    | {"gpt-3.5-turbo", "gpt-4", "gpt-4-turbo", "gpt-4o", "gpt-4o-mini", "gpt-4.1", "chatgpt-4o"}
    | {"o1", "o1-mini", "o3", "o3-mini", "o4-mini"}
)  # fmt: skip
EFFORTS = ("minimal", "low", "medium", "high", "xhigh")
ROOMY = Prompt((), max_tokens=64_000)


def thinks_as(model: str, effort: str) -> object:
    asked = replace(ROOMY, options=Options(reasoning={"effort": effort}))
    return adapted(asked, MESSAGES, model).options.reasoning


def test_the_library_names_models_of_both() -> None:
    assert "claude-sonnet-4-6" in known("anthropic")
    assert known("openai", "openai-chat", "openai-responses")


@pytest.mark.parametrize("model", CLAUDE)
def test_claude_is_told_as_the_library_words_it(model: str) -> None:
    profile = anthropic_model_profile(model) or {}
    sampling = bool(profile.get("anthropic_disallows_sampling_settings"))
    assert takes_no_sampling(MESSAGES, model) is sampling
    most = profile.get("anthropic_max_output_tokens")
    assert most is None or most_output(model) == most
    for effort in EFFORTS:
        if profile.get("anthropic_supports_adaptive_thinking"):
            level = resolve_anthropic_effort(
                effort,
                supports_xhigh=bool(profile.get("anthropic_supports_xhigh_effort")),
                supports_max=bool(profile.get("anthropic_supports_max_effort", True)),
            )
            assert thinks_as(model, effort) == {"effort": level}
        elif profile.get("supports_thinking"):
            room = min(64_000, most_output(model) or 64_000) // 2
            budget = min(ANTHROPIC_THINKING_BUDGET_MAP[effort], room)
            assert thinks_as(model, effort) == {"budget": {"tokens": budget}}
        else:
            assert thinks_as(model, effort) is None


@pytest.mark.parametrize("model", GPT)
def test_gpt_is_told_as_the_library_words_it(model: str) -> None:
    profile = openai_model_profile(model)
    reasons = bool(profile.get("supports_thinking"))
    assert not (reasons and never_reasons(model))
    if not reasons:  # it hands on what it is given
        assert not takes_no_sampling(CHAT, model)
        return
    can_be_off = bool(profile.get("openai_supports_reasoning_effort_none"))
    by_default = bool(profile.get("thinking_enabled_by_default"))
    for api in (CHAT, RESPONSES):
        assert takes_no_sampling(api, model) is (by_default or not can_be_off)
        assert takes_no_sampling(api, model, "none") is (not can_be_off)
        assert takes_no_sampling(api, model, "high")
