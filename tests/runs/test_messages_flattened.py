"""Conversations in flattened keys, real ones (what the provider gave stands beside each capture)
and malformed ones."""

import html
import json
import re
from typing import Any

import pytest
from factories import completion, run
from hypothesis import given
from hypothesis import strategies as st
from real_spans import SHARED, attributes, calls, spelled, texts, told

from runs.messages import answer_view, request_view, wire_answer, wire_request
from runs.messages.parts import Call, Data, Media, Reasoning, Request, Result, Text
from runs.messages.summary import summarise

WHOLE = ("input.value", "output.value")
CASES = [
    "openinference-anthropic/parallel_tools", "openinference-anthropic/multi_turn",
    "openinference-langchain/tool_error_handled", "openinference-llamaindex/subagents",
    "openinference-openai/resp_reason", "openinference-openai/stream_tools",
    "openinference-openai-agents/subagents", "openinference-openai-js/parallel_tools",
    "openinference-smolagents/plain", "openllmetry-anthropic-old/reasoning",
    "openllmetry-anthropic-old/tool_error", "openllmetry-openai-old/refusal",
    "openllmetry-openai-old/stream_tools",
]  # fmt: skip


def flattened(span: dict[str, Any]) -> dict[str, Any]:
    """The span without the attributes that hold a whole body."""
    return {key: value for key, value in span.items() if key not in WHOLE}


def told_of(span: dict[str, Any]) -> bool:
    return any(key.startswith(("llm.output_messages.", "gen_ai.completion.")) for key in span)


def only(case: str) -> dict[str, Any]:
    return flattened(next(calls(SHARED / "data" / "otlp" / case))[0])


@pytest.mark.parametrize("case", CASES)
def test_flattened_keys_alone_read_as_the_provider_gave_it(case: str) -> None:
    for span, known in calls(SHARED / "data" / "otlp" / case):
        answer, request = wire_answer(flattened(span), ""), wire_request(flattened(span), "")
        asked = [(one["name"], one["arguments"]) for one in known["output_tool_calls"]]
        assert texts(answer.parts, Text) == known["output_text"]
        assert [(p.name, p.arguments) for p in answer.parts if isinstance(p, Call)] == asked
        assert texts(answer.parts, Reasoning) == known["reasoning_text"]
        assert told(request.messages[-1].parts) == spelled(known["last_input"]["text"])
        assert [tool.name for tool in request.tools] == known.get("tool_names", [])


@pytest.mark.parametrize("case", CASES)
def test_nothing_of_a_real_flattened_turn_is_left_as_json(case: str) -> None:
    for span in attributes(SHARED / "data" / "otlp" / case).values():
        turns = wire_request(flattened(span), "").messages
        parts = [part for turn in turns for part in turn.parts]
        parts += wire_answer(flattened(span), "").parts if told_of(span) else ()
        assert not any(isinstance(part, Data) for part in parts)


def test_a_picture_is_shown_whichever_way_it_was_flattened() -> None:
    for case in ("openinference-anthropic/image", "openllmetry-anthropic-old/image"):
        picture, words = wire_request(only(case), "").messages[-1].parts
        assert (picture.media, picture.source, picture.media_type) == (
            "image", "base64", "image/png",
        )  # fmt: skip
        assert picture.value.startswith("iVBORw0KGgo")
        assert words.text == "What is in this picture?"


def test_usage_and_the_reason_to_stop_are_told() -> None:
    answer = wire_answer(only("openinference-openai/resp_reason"), "")
    used = {fact.label: fact.value for fact in answer.usage}
    assert used["Prompt"] == "1517"
    assert used["Completion details, reasoning"] == "448"
    old = wire_answer(only("openllmetry-anthropic-old/parallel_tools"), "")
    assert old.finish == "tool_use"
    assert ("Prompt tokens", "265") in [(fact.label, fact.value) for fact in old.usage]


def test_a_body_that_is_no_conversation_gives_way_to_the_keys_and_one_that_is_stays() -> None:
    printed = {"input.value": '{"messages":["ChatMessage(role=…)"]}', "output.value": "user: hi"}
    asked, answered = (f"llm.{name}_messages.0.message" for name in ("input", "output"))
    keys = {f"{asked}.role": "user", f"{asked}.content": "q", f"{answered}.content": "a"}
    assert [turn.parts[0].text for turn in wire_request({**printed, **keys}, "").messages] == ["q"]
    assert wire_answer({**printed, **keys}, "").parts[0].text == "a"
    turns = [{"role": "system", "content": "s"}, {"role": "user", "content": "q"}]
    body = {"input.value": json.dumps({"messages": turns})}
    assert [turn.role for turn in wire_request({**body, **keys}, "").messages] == ["system", "user"]


def test_what_an_attribute_limit_took_is_said_where_it_would_stand() -> None:
    turns = wire_request(
        {"gen_ai.prompt.0.content": "a", "gen_ai.prompt.999999999.content": "b"}, ""
    )
    first, gap, last = turns.messages
    assert (first.parts[0].text, last.parts[0].text) == ("a", "b")
    assert gap.parts[0].label.startswith("999,999,998 turns that stood here")


def test_a_key_that_is_a_value_and_the_start_of_others_loses_neither() -> None:
    start = "llm.input_messages.0.message.content"
    span = {start: "said", f"{start}.x": 1, f"{start}s": "odd", "llm.input_messages.0": "leaf"}
    parts = [part for turn in wire_request(span, "").messages for part in turn.parts]
    assert parts[0] == Text("said", "")
    assert [(part.pointer, part.value) for part in parts[1:]] == [
        (f"/{start}.x", 1), (f"/{start}s", "odd"), ("/llm.input_messages.0", "leaf"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "key",
    [
        "llm.input_messages.{}.message.content",
        "llm.input_messages.{}{}.message.role",
        "llm.input_messages.0.message.contents.{}.message_content.text",
        "gen_ai.prompt.0.tool_calls.{}.arguments",
        "gen_ai.prompt.{}x.content",
        "gen_ai.prompt.0.{}",
    ],
)
def test_thousands_of_keys_are_all_there(key: str) -> None:
    span = {key.replace("{}", str(number)): f"<{number}>" for number in range(10_000)}
    assert set(leaves(wire_request(span, ""))) == set(span.values())


def leaves(request: Request) -> list[str]:
    """Every value of a made span that is shown."""
    found: list[str] = []
    open_ones: list[Any] = [(turn.role, turn.name, *turn.parts) for turn in request.messages]
    while open_ones:
        one = open_ones.pop()
        match one:
            case str():
                found += [one] if one.startswith("<") else []
            case dict():
                open_ones += one.values()
            case list() | tuple():
                open_ones += one
            case Result():
                open_ones += [one.call_id, one.name, one.parts]
            case Call():
                open_ones += [one.id, one.name, one.arguments, one.invalid]
            case Media():
                open_ones.append(one.value)
            case Data():
                open_ones.append(one.value)
            case Text() | Reasoning():
                open_ones.append(one.text)
    return found


NUMBERS = st.sampled_from(["0", "1", "2", "7", "00", "x", "999999999", "٣", "-1", ""])
NAMES = st.sampled_from([
    "role", "content", "message", "message.role", "message.content", "message.tool_call_id", "name",
    "message.contents", "message_content.text", "message_content.type", "tool_call.id", "arguments",
    "message.tool_calls", "tool_call.function.arguments", "tool_calls", "id", "refusal", "~/", "",
])  # fmt: skip
STARTS = st.sampled_from(["llm.input_messages", "gen_ai.prompt"])
KEYS = st.builds(
    lambda start, rest: ".".join([start, *rest]),
    STARTS,
    st.lists(st.one_of(NUMBERS, NAMES), min_size=1, max_size=5),
)


@given(st.lists(KEYS, max_size=30, unique=True))
def test_no_value_of_any_keys_is_lost(keys: list[str]) -> None:
    start = keys[0].split(".")[0] if keys else ""
    span = {key: f"<{at}>" for at, key in enumerate(keys) if key.startswith(f"{start}.")}
    request = wire_request(span, "/request")
    assert sorted(set(leaves(request))) == sorted(span.values())


VALUES = st.sampled_from([
    None, True, 0, 1.5, "", "text", "{", "[]", '[{"type":"text"}]', '[{"type":"tool_result"}]', [],
    {}, ["text"], [{"type": "text"}], {"type": 1},
])  # fmt: skip


@given(st.dictionaries(KEYS, VALUES, max_size=12))
def test_no_values_break_the_reading(span: dict[str, Any]) -> None:
    assert isinstance(wire_request(span, "").messages, tuple)
    assert isinstance(wire_answer(span, "").parts, tuple)


def test_spans_nested_in_spans_are_json_and_no_recursion() -> None:
    span: dict[str, Any] = {"input.value": "x", "output.value": "x"}
    for _ in range(5_000):
        span = {"input.value": span, "output.value": span}
    assert wire_request(span, "").messages == ()
    assert isinstance(wire_answer(span, "").parts[0], Data)


def test_a_record_made_of_a_span_is_a_conversation_too() -> None:
    span = only("openllmetry-openai-old/parallel_tools")
    record = {"kind": {"effect": "completion", "request": span}, "outcome": {"Ok": span}}
    assert [turn.role for turn in request_view(record).messages] == ["system", "user"]
    assert [part.name for part in answer_view(record).calls] == ["get_weather", "get_weather"]
    assert summarise(record) == "calls 2 tools: get_weather, get_weather"
    custom = {"kind": {"effect": "custom", "kind": "span", "payload": span}}
    assert request_view(custom).messages == request_view(record).messages


@pytest.mark.any_database
def test_the_page_shows_the_conversation_and_not_its_keys(api, member_client) -> None:
    last = flattened(
        list(calls(SHARED / "data/otlp/openllmetry-anthropic-old/parallel_tools"))[1][0]
    )
    wire = {"1": {"request": last, "response": last, "status": 200}}
    api("POST", "/api/v1/runs", run("r1", completion(1), wire=wire))
    page = member_client.get("/p/acme/runs/r1?at=1&req=wire&tab=wire").text
    assert "gen_ai.prompt" not in re.sub(r"<[^>]*>", "", page)
    assert page.count("result of") == 2
    assert "Kyoto is 9 °C warmer." in page
    assert "<dt>Prompt tokens</dt><dd>433</dd>" in page
    [address, _] = re.findall(r'<a [^>]*href="([^"]+)">as it came', page)
    assert "Zürich" in member_client.get(html.unescape(address)).text
