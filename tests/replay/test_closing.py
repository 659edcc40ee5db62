"""Calls without a result in a recorded body: mended in place, all else as it was recorded."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from asked import COMPLETION, HELLO, codes, made, wired

from replay.fake_provider import FakeProvider
from replay.providers import Provider, send

MARK = {"type": "ephemeral"}


def chat_call(identity: str) -> dict[str, Any]:
    return {"id": identity, "type": "function", "function": {"name": "f", "arguments": "{ }"}}


def item(identity: str) -> dict[str, Any]:
    return {"type": "function_call", "call_id": identity, "name": "f", "arguments": "{ }"}


def used(identity: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": identity, "name": "f", "input": {}}


NAMED = {"role": "user", "content": "Hi", "name": "ann"}
CHAT = {
    "messages": [
        NAMED,
        {"role": "assistant", "content": None, "tool_calls": [chat_call("a"), chat_call("b")]},
        {"role": "tool", "tool_call_id": "a", "content": "1"},
        NAMED,
        {"role": "assistant", "content": None, "tool_calls": [chat_call("c")]},
        NAMED,
    ]
}
THOUGHT = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "ENC"}
RESPONSES = {
    "input": [
        {"role": "user", "content": "Hi"},
        item("a"),
        item("b"),
        {"type": "function_call_output", "call_id": "a", "output": "1"},
        THOUGHT,
        item("c"),
        {"role": "user", "content": "Hi"},
    ],
    "truncation": "auto",
}
MARKED = [{"type": "text", "text": "Hi", "cache_control": MARK}]
MESSAGES = {
    "max_tokens": 9,
    "messages": [
        {"role": "user", "content": MARKED},
        {"role": "assistant", "content": [used("a"), used("b")]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "1"}]},
        {"role": "assistant", "content": [used("c")]},
        {"role": "user", "content": MARKED},
    ],
}
BODIES = {
    "openai": (wired("https://api.openai.com/v1/chat/completions", CHAT), "openai-chat:m"),
    "responses": (wired("https://api.openai.com/v1/responses", RESPONSES), "openai-responses:m"),
    "anthropic": (wired("https://api.anthropic.com/v1/messages", MESSAGES), "anthropic:m"),
}


def asked(
    fake: FakeProvider, providers: dict[str, Provider], name: str, **way: Any
) -> tuple[dict[str, Any], list[Any]]:
    """The body that a provider took, and the notes on it."""
    wire, model = copy.deepcopy(BODIES[name])
    call = made(providers, COMPLETION, model, {**wire, "request": {"model": "m", **wire["request"]}}
                , **way)  # fmt: skip
    result = send(call)
    assert result.error is None, result.error
    return fake.asked[-1].body, [note for note in call.notes if note.code == "dangling_call"]


def test_chat_calls_get_a_result_and_keep_the_rest(fake, providers):
    sent, notes = asked(fake, providers, "openai", dangling_result="none in stock")
    told = [(m["role"], m.get("tool_call_id")) for m in sent["messages"]]
    assert told == [("user", None), ("assistant", None), ("tool", "a"), ("tool", "b"),
                    ("user", None), ("assistant", None), ("tool", "c"), ("user", None)]  # fmt: skip
    assert sent["messages"][3]["content"] == "none in stock"
    assert sent["messages"][1] == CHAT["messages"][1] and sent["messages"][0] == NAMED
    assert [note.path for note in notes] == ["/messages/1/tool_calls/1", "/messages/4/tool_calls/0"]


def test_chat_calls_are_dropped_and_the_rest_is_kept(fake, providers):
    sent, notes = asked(fake, providers, "openai", dangling="drop")
    kept = [NAMED, {**CHAT["messages"][1], "tool_calls": [chat_call("a")]}, CHAT["messages"][2],
            NAMED, NAMED]  # fmt: skip
    assert sent["messages"] == kept
    assert len(notes) == 2


def test_items_get_an_output_behind_the_calls(fake, providers):
    sent, _ = asked(fake, providers, "responses", dangling_result="none")
    told = [one.get("call_id", one.get("role", one.get("type"))) for one in sent["input"]]
    assert told == ["user", "a", "b", "b", "a", "reasoning", "c", "c", "user"]
    assert sent["input"][5] == THOUGHT and sent["truncation"] == "auto"


def test_an_item_that_goes_takes_its_reasoning_along(fake, providers):
    sent, _ = asked(fake, providers, "responses", dangling="drop")
    told = [one.get("call_id", one.get("role", one.get("type"))) for one in sent["input"]]
    assert told == ["user", "a", "a", "user"]


ANSWERED = [item("b"), {"type": "function_call_output", "call_id": "b", "output": "1"}]


@pytest.mark.parametrize(
    ("after", "thinks"),
    [(ANSWERED, True), ([item("c"), *ANSWERED], True), (HELLO, False), ([item("c")], False)],
)
def test_reasoning_stays_with_the_other_calls_it_led_to(providers, after, thinks):
    said = [*HELLO, THOUGHT, item("a"), *after]
    wire = wired("https://api.openai.com/v1/responses", {"model": "m", "input": said})
    call = made(providers, COMPLETION, BODIES["responses"][1], wire, dangling="drop")
    assert (THOUGHT in call.body["input"]) == thinks


def test_blocks_get_their_results_first(fake, providers):
    sent, _ = asked(fake, providers, "anthropic", dangling_result="none")
    answered = [
        [block.get("tool_use_id", block["type"]) for block in message["content"]]
        for message in sent["messages"]
        if message["role"] == "user"
    ]
    assert answered == [["text"], ["b", "a"], ["c", "text"]]
    assert sent["messages"][0]["content"] == sent["messages"][4]["content"][1:] == MARKED


def test_blocks_are_dropped_and_markers_kept(fake, providers):
    sent, _ = asked(fake, providers, "anthropic", dangling="drop")
    assert sent["messages"] == [
        MESSAGES["messages"][0],
        {"role": "assistant", "content": [used("a")]},
        MESSAGES["messages"][2],
        MESSAGES["messages"][4],
    ]


SIGNED = {"type": "thinking", "thinking": "Where is it?", "signature": "s"}
ONLY_THOUGHT = [*HELLO, {"role": "assistant", "content": [SIGNED, used("a")]}, *HELLO]


@pytest.mark.parametrize("model", [BODIES["anthropic"][1], BODIES["openai"][1]])
def test_an_answer_of_which_only_a_thought_is_left_goes_too(providers, model):
    body = {"model": "m", "max_tokens": 9, "messages": ONLY_THOUGHT}
    wire = wired("https://api.anthropic.com/v1/messages", body)
    call = made(providers, COMPLETION, model, wire, dangling="drop")
    assert {message["role"] for message in call.body["messages"]} == {"user"}
    told = [note.path for note in call.notes if note.code == "reasoning_left_out"]
    assert told == [f"/messages/{len(HELLO)}/content/0"]


@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("way", [{"dangling": "drop"}, {"dangling_result": "none"}])
def test_a_body_without_open_calls_goes_out_as_it_was(providers, name, way):
    url, model = BODIES[name][0]["url"], BODIES[name][1]
    of = "input" if name == "responses" else "messages"
    body = {"model": "m", "max_tokens": 9, of: [*HELLO, {"role": "tool", "tool_call_id": "z"}]}
    call = made(providers, COMPLETION, model, wired(url, body), **way)
    assert call.body == body
    assert "orphan_result" not in codes(call.notes)
