"""Every setting from every API to every other: there as that API spells it, or told as left out."""

from __future__ import annotations

from typing import Any

import pytest
from asked import COMPLETION, HELLO, codes, made, wired

from replay.fake_provider import FakeProvider
from replay.providers import Provider, send

CHAT, RESPONSES, MESSAGES = "openai.chat", "openai.responses", "anthropic.messages"
URLS = {
    CHAT: "https://api.openai.com/v1/chat/completions",
    RESPONSES: "https://api.openai.com/v1/responses",
    MESSAGES: "https://api.anthropic.com/v1/messages",
}
MODELS = {
    CHAT: "openai-chat:gpt-4o",
    RESPONSES: "openai-responses:gpt-4o",
    MESSAGES: "anthropic:claude-sonnet-4-5",
}
BASE: dict[str, dict[str, Any]] = {
    CHAT: {"model": "m", "messages": HELLO},
    RESPONSES: {"model": "m", "input": HELLO},
    MESSAGES: {"model": "m", "max_tokens": 900, "messages": HELLO},
}
SHAPE = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"],
         "additionalProperties": False}  # fmt: skip
TOLD = {"name": "f", "description": "d"}


def tools(strict: bool) -> dict[str, dict[str, Any]]:
    """A tool as each API has it; where an API has a default for strictness, it is spelled out."""
    return {
        CHAT: {"tools": [{"type": "function", "function": {
            **TOLD, "parameters": SHAPE, **({"strict": True} if strict else {})}}]},
        RESPONSES: {"tools": [{"type": "function", **TOLD, "parameters": SHAPE, "strict": strict}]},
        MESSAGES: {"tools": [{**TOLD, "input_schema": SHAPE,
                              **({"strict": True} if strict else {})}]},
    }  # fmt: skip


def two_tools() -> dict[str, dict[str, Any]]:
    """To be made to call the only tool there is says no more than to be made to call any."""
    one = tools(strict=False)
    other = {
        CHAT: {"type": "function", "function": {**TOLD, "name": "g", "parameters": SHAPE}},
        RESPONSES: {"type": "function", **TOLD, "name": "g", "parameters": SHAPE, "strict": False},
        MESSAGES: {**TOLD, "name": "g", "input_schema": SHAPE},
    }
    return {api: {"tools": [*one[api]["tools"], other[api]]} for api in one}


def chosen(chat: Any, responses: Any, messages: Any) -> dict[str, dict[str, Any]]:
    said = {CHAT: chat, RESPONSES: responses, MESSAGES: messages}
    return {api: {**two_tools()[api], "tool_choice": choice} for api, choice in said.items()}


def same(**field: Any) -> dict[str, dict[str, Any]]:
    return dict.fromkeys(URLS, field)


SETTINGS: dict[str, dict[str, dict[str, Any]]] = {
    "tool": tools(strict=False),
    "strict": tools(strict=True),
    "choice auto": chosen("auto", "auto", {"type": "auto"}),
    "choice none": chosen("none", "none", {"type": "none"}),
    "choice required": chosen("required", "required", {"type": "any"}),
    "choice named": chosen(
        {"type": "function", "function": {"name": "f"}},
        {"type": "function", "name": "f"},
        {"type": "tool", "name": "f"},
    ),
    "parallel": {
        CHAT: {**tools(strict=False)[CHAT], "parallel_tool_calls": False},
        RESPONSES: {**tools(strict=False)[RESPONSES], "parallel_tool_calls": False},
        MESSAGES: {**tools(strict=False)[MESSAGES],
                   "tool_choice": {"type": "auto", "disable_parallel_tool_use": True}},
    },
    "temperature": same(temperature=0),
    "top_p": same(top_p=0.5),
    "limit": {
        CHAT: {"max_completion_tokens": 500},
        RESPONSES: {"max_output_tokens": 500},
        MESSAGES: {"max_tokens": 500},
    },
    "stream": same(stream=True),
    "stop": {CHAT: {"stop": ["END"]}, MESSAGES: {"stop_sequences": ["END"]}},
    "seed": {CHAT: {"seed": 7}},
    "schema": {
        CHAT: {"response_format": {"type": "json_schema", "json_schema": {
            "name": "response_schema", "strict": True, "schema": SHAPE}}},
        RESPONSES: {"text": {"format": {"type": "json_schema", "name": "response_schema",
                                        "strict": True, "schema": SHAPE}}},
        MESSAGES: {"output_config": {"format": {"type": "json_schema", "schema": SHAPE}}},
    },
    "json": {
        CHAT: {"response_format": {"type": "json_object"}},
        RESPONSES: {"text": {"format": {"type": "json_object"}}},
    },
}  # fmt: skip
PAIRS = [
    pytest.param(name, source, target, id=f"{name}: {source} to {target}")
    for name, spelled in SETTINGS.items()
    for source in spelled
    for target in URLS
    if target != source
]
ADDED = {"api_changed", "max_tokens_added", "max_tokens_renamed"}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "source", "target"), PAIRS)
def test_a_setting_is_there_or_told_as_left_out(
    fake: FakeProvider, providers: dict[str, Provider], name: str, source: str, target: str
) -> None:
    spelled = SETTINGS[name]
    wire = wired(URLS[source], {**BASE[source], **spelled[source]})
    call = made(providers, COMPLETION, MODELS[target], wire)
    result = send(call)
    assert result.error is None, result.error
    sent = fake.asked[-1].body
    if target in spelled:
        assert {key: sent.get(key) for key in spelled[target]} == spelled[target]
        assert codes(call.notes) | codes(result.notes) <= ADDED
    else:
        assert f"{name}_left_out" in codes(call.notes) & codes(result.notes)
