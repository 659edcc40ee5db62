"""Across APIs: whatever the wire shows to be lost or reworded, the plan has told before."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from asked import COMPLETION, HELLO, codes, made, wired

from replay.fake_provider import FakeProvider
from replay.providers import Call, Provider, Result, send

BODIES = Path(__file__).resolve().parents[1] / "fixtures/rig-0.44-wire/bodies.jsonl"
LINES = [json.loads(line) for line in BODIES.read_text().split("\n") if line]
URLS = {
    "openai.chat": "https://api.openai.com/v1/chat/completions",
    "openai.responses": "https://api.openai.com/v1/responses",
    "anthropic.messages": "https://api.anthropic.com/v1/messages",
}
CHAT, RESPONSES, MESSAGES = URLS
TARGETS = {
    "openai.chat": "openai-chat:gpt-4o",
    "openai.responses": "openai-responses:gpt-4o",
    "anthropic.messages": "anthropic:claude-sonnet-4-5",
}
pytestmark = pytest.mark.filterwarnings("ignore")


def asked(
    providers: dict[str, Provider], api: str, body: dict[str, Any], model: str
) -> tuple[Call, Result]:
    call = made(providers, COMPLETION, model, wired(URLS[api], body))
    assert call.lane == "cross"
    return call, send(call)


def untold(call: Call, result: Result) -> list[tuple[str, str]]:
    """What the wire shows at places of which the plan says nothing."""
    places = [note.path for note in call.notes]
    found = [note for note in result.notes if not any(_about(note.path, p) for p in places)]
    return [(note.code, note.path) for note in found]


def _about(path: str, told: str) -> bool:
    return path == told or f"{told}/".startswith(f"{path}/")


@pytest.mark.parametrize("line", [pytest.param(w, id=f"{w['log']}-{w['id']}") for w in LINES])
def test_what_the_wire_shows_of_a_real_body_was_told_before(
    fake: FakeProvider, providers: dict[str, Provider], line: dict[str, Any]
) -> None:
    missed = [
        (api, target, *found)
        for api, body in line["bodies"].items()
        for target, model in TARGETS.items()
        if target != api
        for found in untold(*asked(providers, api, body, model))
    ]
    assert missed == []


@pytest.mark.parametrize("model", TARGETS.values())
def test_what_the_wire_shows_of_a_real_log_was_told_before(
    shared: Path, fake: FakeProvider, providers: dict[str, Provider], model: str
) -> None:
    missed, asked_of = [], 0
    for file in sorted((shared / "data").glob("rig*/**/*.effects.json")):
        for recorded in json.loads(file.read_text())["records"][:40]:
            if recorded["kind"]["effect"] != "completion":
                continue
            call = made(providers, recorded, model)
            if call.lane == "cross":
                asked_of += 1
                missed += [(file.name, recorded["id"], *one) for one in untold(call, send(call))]
    assert missed == []
    assert asked_of > 5


@pytest.mark.parametrize(
    ("api", "model", "told"),
    [
        (MESSAGES, "openai:gpt-4o", True),
        (RESPONSES, "openai-chat:gpt-4o", True),
        (CHAT, "anthropic:claude-sonnet-4-5", False),
    ],
)
def test_a_cache_that_is_not_asked_for_is_told_of(
    fake: FakeProvider, providers: dict[str, Provider], api: str, model: str, told: bool
) -> None:
    request = {"chat_history": HELLO, "options": {"cache": "short"}}
    outcome = {"Ok": {"outcome": "completion", "choice": [], "origin": {"api": api}}}
    recorded = {"kind": {"effect": "completion", "request": request}, "outcome": outcome}
    call = made(providers, recorded, model)
    assert ("cache_left_out" in codes(call.notes)) == told
    assert ("cache_left_out" in codes(send(call).notes)) == told
    assert ("cache_control" in fake.asked[-1].body) != told


def test_a_body_of_an_api_that_is_not_read_is_told_of(
    fake: FakeProvider, providers: dict[str, Provider]
) -> None:
    """Gemini's own, say: what is asked is the log's form of the request."""
    url = "https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-pro:generateContent"
    body = {"contents": [{"parts": [{"text": "Hi"}]}], "generationConfig": {"topK": 3}}
    history = [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}]
    recorded = {"kind": {"effect": "completion", "request": {"chat_history": history}}}
    call = made(providers, recorded, "openai:gpt-4o", wired(url, body))
    assert "body_not_read" in codes(call.notes)
    assert call.body["messages"] == [{"role": "user", "content": "Hi"}]
    assert "body_not_read" not in codes(made(providers, recorded, "openai:gpt-4o").notes)


# --- Each thing that is lost or said otherwise, from its own API ----------------------------------

SHAPE = {
    "type": "object",
    "properties": {"a": {"type": "string"}},
    "required": ["a"],
    "additionalProperties": False,
}
PNG = "iVBORw0KGgoAAAANSUhEUg=="
LONG = "t" + "x" * 50


def function(name: str = "f", **more: Any) -> dict[str, Any]:
    told = {"name": name, "description": "d", "parameters": SHAPE, **more}
    return {"type": "function", "function": told}


def tool(**more: Any) -> dict[str, Any]:
    return {"name": "f", "description": "d", "input_schema": SHAPE, **more}


def chat(**more: Any) -> dict[str, Any]:
    return {"model": "gpt-5", "messages": HELLO, **more}


def claude(**more: Any) -> dict[str, Any]:
    return {"model": "claude-sonnet-4-5", "max_tokens": 900, "messages": HELLO, **more}


def after_a_call(block: dict[str, Any], identity: str = "t1") -> list[dict[str, Any]]:
    """A conversation in which `f` was called and its result is `block`."""
    used = {"type": "tool_use", "id": identity, "name": "f", "input": {"a": "1"}}
    result = {"type": "tool_result", "tool_use_id": identity, **block}
    return [
        *HELLO,
        {"role": "assistant", "content": [used]},
        {"role": "user", "content": [result]},
    ]


def allowed(mode: str) -> dict[str, Any]:
    named = [{"type": "function", "function": {"name": "f"}}]
    return {"type": "allowed_tools", "allowed_tools": {"mode": mode, "tools": named}}


CALLED_BADLY = [
    *HELLO,
    {
        "role": "assistant",
        "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{bad"}}
        ],
    },
    {"role": "tool", "tool_call_id": "c1", "content": "no"},
]
IMAGE = {"type": "image_url", "image_url": {"url": "https://e.com/a.png", "detail": "low"}}
PDF = {"type": "file", "file": {"file_data": "data:application/pdf;base64,JVBERg==",
                                "filename": "bill.pdf"}}  # fmt: skip
SPOKEN = [*HELLO, {"role": "assistant", "refusal": "I cannot"}, *HELLO]
MIDDLE = [*HELLO, {"role": "assistant", "content": "Yes?"}, {"role": "system", "content": "Mind!"},
          *HELLO]  # fmt: skip
FOUND = {"type": "search_result", "title": "T", "source": "s", "content": []}
SEEN = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}
DOCUMENT = {"type": "document", "title": "Bill",
            "source": {"type": "text", "media_type": "text/plain", "data": "5 EUR"}}  # fmt: skip

LOST = [
    (CHAT, chat(tools=[function()], tool_choice=allowed("auto")), MESSAGES, "tool_choice_left_out"),
    (CHAT, chat(tools=[function(cached=True)]), MESSAGES, "field_left_out"),
    (CHAT, chat(response_format={"type": "json_object"}), MESSAGES, "json_left_out"),
    (CHAT, chat(messages=[{"role": "user", "content": [IMAGE]}]), MESSAGES, "detail_left_out"),
    (CHAT, chat(messages=[{"role": "user", "content": [PDF]}]), RESPONSES, "field_left_out"),
    (CHAT, chat(messages=MIDDLE), MESSAGES, "system_moved"),
    (CHAT, chat(messages=SPOKEN), MESSAGES, "refusal_as_text"),
    (CHAT, chat(messages=CALLED_BADLY), MESSAGES, "invalid_arguments"),
    (CHAT, chat(messages=CALLED_BADLY), RESPONSES, "invalid_arguments"),
    (CHAT, chat(seed=1), MESSAGES, "seed_left_out"),
    (CHAT, chat(seed=1), RESPONSES, "seed_left_out"),
    (CHAT, chat(stop="END"), RESPONSES, "stop_left_out"),
    (CHAT, chat(temperature=1.5), MESSAGES, "temperature_lowered"),
    (CHAT, chat(temperature=0, top_p=0.5), MESSAGES, "top_p_left_out"),
    (CHAT, chat(reasoning_effort="low"), MESSAGES, "reasoning_changed"),
    (CHAT, chat(reasoning_effort="low", max_tokens=99), MESSAGES, "reasoning_left_out"),
    (CHAT, chat(reasoning_effort="low"), RESPONSES, "reasoning_left_out"),
    (CHAT, chat(max_tokens=90000), RESPONSES, "max_tokens_lowered"),
    (CHAT, chat(tools=[function(strict=True, parameters={**SHAPE, "title": "F"})]), MESSAGES,
     "tool_changed"),
    (CHAT, chat(tools=[function(strict=True, parameters={**SHAPE, "title": "F"})]), RESPONSES,
     "tool_changed"),
    (RESPONSES, {"input": "Hi", "tool_choice": {"type": "web_search"}}, CHAT,
     "tool_choice_left_out"),
    (RESPONSES, {"input": "Hi", "previous_response_id": "r1"}, CHAT, "context_elsewhere"),
    (RESPONSES, {"input": "Hi", "text": {"format": {"type": "json_object"}}}, MESSAGES,
     "json_left_out"),
    (MESSAGES, claude(), CHAT, "max_tokens_renamed"),
    (MESSAGES, claude(max_tokens=64000), CHAT, "max_tokens_lowered"),
    (MESSAGES, claude(tools=[tool(input_examples=[{"a": "z"}])]), CHAT, "field_left_out"),
    (MESSAGES, claude(messages=after_a_call({"content": [FOUND]})), CHAT, "part_left_out"),
    (MESSAGES, claude(messages=after_a_call({"content": [SEEN]})), CHAT, "media_moved"),
    (MESSAGES, claude(messages=[{"role": "user", "content": [DOCUMENT]}]), CHAT, "field_left_out"),
    (MESSAGES, claude(messages=after_a_call({"content": "boom", "is_error": True})), RESPONSES,
     "is_error_reworded"),
    (MESSAGES, claude(messages=after_a_call({"content": "boom", "is_error": True}, LONG)), CHAT,
     "is_error_reworded"),
]  # fmt: skip


@pytest.mark.parametrize(("api", "body", "target", "code"), LOST)
def test_what_is_lost_is_told_before_and_shown_by_the_wire(
    providers: dict[str, Provider], api: str, body: dict[str, Any], target: str, code: str
) -> None:
    call, result = asked(providers, api, body, TARGETS[target])
    assert code in codes(call.notes)
    assert code in codes(result.notes)
    assert untold(call, result) == []


CARRIED = [
    (CHAT, chat(tools=[function(), function("g")], tool_choice=allowed("required")), MESSAGES),
    (CHAT, chat(tools=[function(strict=True)]), MESSAGES),
    (CHAT, chat(tools=[function(strict=True)]), RESPONSES),
    (CHAT, chat(tools=[function(parameters={"title": "F", **SHAPE})]), MESSAGES),
    (CHAT, chat(tools=[function(parameters={"title": "F", **SHAPE})]), RESPONSES),
    (MESSAGES, claude(tools=[tool(input_schema={"title": "F", **SHAPE})]), CHAT),
    (CHAT, chat(response_format={"type": "json_object"}), RESPONSES),
    (CHAT, chat(messages=[{"role": "user", "content": [IMAGE]}]), RESPONSES),
    (CHAT, chat(messages=MIDDLE), RESPONSES),
    (CHAT, chat(stop=["END"], temperature=0, top_p=0.5), MESSAGES),
    (RESPONSES, {"input": "Hi", "text": {"format": {"type": "json_object"}}}, CHAT),
    (MESSAGES, claude(messages=after_a_call({"content": [SEEN]})), RESPONSES),
    (MESSAGES, claude(tools=[tool(strict=True)], tool_choice={"type": "any"}), RESPONSES),
]
SAID_ANYWAY = {"api_changed", "max_tokens_added", "max_tokens_renamed"}


@pytest.mark.parametrize(("api", "body", "target"), CARRIED)
def test_nothing_is_told_of_what_is_carried(
    providers: dict[str, Provider], api: str, body: dict[str, Any], target: str
) -> None:
    model = "anthropic:claude-3-7-sonnet" if "top_p" in body else TARGETS[target]
    call, result = asked(providers, api, body, model)
    assert codes(call.notes) | codes(result.notes) <= SAID_ANYWAY
