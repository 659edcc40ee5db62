"""The same conversation in three providers' words reads the same."""

from typing import Any

import pytest

from runs.messages import wire_answer, wire_request
from runs.messages.dialects import detect
from runs.messages.parts import Call, Data, Media, Part, Reasoning, Result, Text

PNG = "iVBORw0KGgo="

CHAT: dict[str, Any] = {
    "model": "gpt-4o",
    "temperature": 0.2,
    "messages": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [
            {"type": "text", "text": "What is this?"},
            {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}}]},
        {"role": "assistant", "content": None, "tool_calls": [
            {"id": "c1", "type": "function",
             "function": {"name": "look", "arguments": '{"x":1}'}}]},
        {"role": "tool", "tool_call_id": "c1", "content": "a cat"},
    ],
    "tools": [{"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}],
}  # fmt: skip

RESPONSES: dict[str, Any] = {
    "model": "gpt-4o",
    "temperature": 0.2,
    "instructions": "Be brief.",
    "input": [
        {"role": "user", "content": [
            {"type": "input_text", "text": "What is this?"},
            {"type": "input_image", "image_url": f"data:image/png;base64,{PNG}"}]},
        {"type": "function_call", "call_id": "c1", "name": "look", "arguments": '{"x":1}'},
        {"type": "function_call_output", "call_id": "c1", "output": "a cat"},
    ],
    "tools": [{"type": "function", "name": "look", "parameters": {"type": "object"}}],
}  # fmt: skip

ANTHROPIC: dict[str, Any] = {
    "model": "claude-haiku-4-5",
    "temperature": 0.2,
    "system": "Be brief.",
    "messages": [
        {"role": "user", "content": [
            {"type": "text", "text": "What is this?"},
            {"type": "image", "source":
                {"type": "base64", "media_type": "image/png", "data": PNG}}]},
        {"role": "assistant", "content": [
            {"type": "tool_use", "id": "c1", "name": "look", "input": {"x": 1}}]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "c1", "content": "a cat"}]},
    ],
    "tools": [{"name": "look", "input_schema": {"type": "object"}}],
}  # fmt: skip

BODIES = [CHAT, RESPONSES, ANTHROPIC]


def said(part: Part) -> object:
    match part:
        case Text():
            return part.text
        case Call():
            return (part.id, part.name, part.arguments)
        case Result():
            return (part.call_id, [said(inner) for inner in part.parts])
        case Media():
            return (part.media, part.source, part.value, part.media_type)
    raise AssertionError(part)


@pytest.mark.parametrize("body", BODIES, ids=detect)
def test_one_conversation_in_any_dialect(body: dict[str, Any]) -> None:
    view = wire_request(body, "")
    assert [said(part) for turn in view.messages for part in turn.parts] == [
        "Be brief.",
        "What is this?",
        ("image", "base64", PNG, "image/png"),
        ("c1", "look", {"x": 1}),
        ("c1", ["a cat"]),
    ]
    assert [(tool.name, tool.parameters) for tool in view.tools] == [("look", {"type": "object"})]
    assert ("Temperature", "0.2") in [(fact.label, fact.value) for fact in view.facts]


def test_dialects_are_told_apart_by_shape() -> None:
    assert [detect(body) for body in BODIES] == [
        "openai.chat",
        "openai.responses",
        "anthropic.messages",
    ]
    assert detect({"data": []}) == ""


CHAT_ANSWER = {"choices": [{"finish_reason": "tool_calls", "message": {
    "role": "assistant", "content": "Hm.", "reasoning_content": "A cat?", "tool_calls": [
        {"id": "c1", "function": {"name": "look", "arguments": '{"x":1}'}}]}}]}  # fmt: skip
RESPONSES_ANSWER = {"status": "completed", "output": [
    {"type": "reasoning", "summary": [{"type": "summary_text", "text": "A cat?"}]},
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hm."}]},
    {"type": "function_call", "call_id": "c1", "name": "look", "arguments": '{"x":1}'}],
}  # fmt: skip
ANTHROPIC_ANSWER = {"role": "assistant", "stop_reason": "tool_use", "content": [
    {"type": "thinking", "thinking": "A cat?", "signature": "s"},
    {"type": "text", "text": "Hm."},
    {"type": "tool_use", "id": "c1", "name": "look", "input": {"x": 1}}]}  # fmt: skip


@pytest.mark.parametrize(
    ("body", "finish"),
    [
        (CHAT_ANSWER, "tool_calls"),
        (RESPONSES_ANSWER, "completed"),
        (ANTHROPIC_ANSWER, "tool_use"),
    ],
)
def test_one_answer_in_any_dialect(body: dict[str, Any], finish: str) -> None:
    view = wire_answer(body, "")
    thought, text, call = view.parts
    assert isinstance(thought, Reasoning)
    assert thought.text == "A cat?"
    assert said(text) == "Hm."
    assert said(call) == ("c1", "look", {"x": 1})
    assert view.finish == finish


@pytest.mark.parametrize(
    "body",
    [
        {"error": {"type": "rate_limit_error", "message": "slow down", "code": "429"}},
        {"type": "error", "error": {"type": "rate_limit_error", "message": "slow down"}},
    ],
)
def test_a_refused_call_says_why(body: dict[str, Any]) -> None:
    failure = wire_answer(body, "").failure
    assert failure is not None
    assert (failure.kind, failure.message) == ("rate_limit_error", "slow down")


def test_arguments_that_are_no_json_stay_as_they_came() -> None:
    function = {"name": "look", "arguments": '{"x":'}
    turn = {"role": "assistant", "tool_calls": [{"id": "c", "function": function}]}
    view = wire_request({"messages": [turn]}, "")
    assert view.messages[0].parts == (
        Call("c", "look", None, "/messages/0/tool_calls/0/function/arguments", '{"x":'),
    )


@pytest.mark.parametrize("body", [[], "text", 7, {"contents": []}, {"messages": "none"}])
def test_an_unknown_body_is_shown_or_empty_but_never_fails(body: object) -> None:
    assert wire_request(body, "").family in ("unknown", "completion")
    assert all(isinstance(part, Data) for part in wire_answer(body, "").parts)
