"""Answers of three APIs and of the log as one shape: what is the same compares the same."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from replay.dialects import CHAT, MESSAGES, RESPONSES, Answer, BadAnswer, read_answer, read_outcome
from replay.dialects.sse import BadStream, EventReader
from replay.dialects.streams import Fold
from replay.fake_provider import FakeProvider, parse_rules

APIS = (CHAT, RESPONSES, MESSAGES)
PATHS = {CHAT: "/v1/chat/completions", RESPONSES: "/v1/responses", MESSAGES: "/v1/messages"}
ASKED = {
    CHAT: {"model": "m", "messages": [{"role": "user", "content": "Hi"}]},
    RESPONSES: {"model": "m", "input": "Hi"},
    MESSAGES: {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}]},
}
WITH_RAW = ["reviewer-anthropic", "city-facts-anthropic-stream", "order-status-chat"]
WITH_RAW += ["incident-stream-kept", "incident-stream-folded", "writer-finish-reasons"]
WITH_RAW += ["sql-analyst-responses", "travel-responses-stream", "orders-chat-wire"]


def outcomes(shared: Path, log: str) -> list[dict[str, Any]]:
    [file] = (shared / "data").glob(f"rig*/**/{log}.effects.json")
    records = json.loads(file.read_text())["records"]
    return [r["outcome"] for r in records if r["kind"]["effect"] == "completion"]


def told(answer: Answer | None) -> dict[str, Any]:
    assert answer is not None
    return {key: value for key, value in vars(answer).items() if key != "raw"}


# --- The log and the wire -------------------------------------------------------------------------


@pytest.mark.parametrize("log", WITH_RAW)
def test_a_recorded_answer_equals_the_providers_own_document(shared: Path, log: str) -> None:
    for outcome in outcomes(shared, log):
        assert told(read_outcome(outcome)) == told(read_answer(outcome["Ok"]["raw"]))


def test_a_recorded_refusal_is_told_from_text(shared: Path) -> None:
    refused = read_outcome(outcomes(shared, "writer-finish-reasons")[2])
    assert refused and refused.refusal == "I can't help with that request."
    assert refused.text == ""


@pytest.mark.parametrize(("index", "finish"), [(0, "length"), (1, "content_filter"), (2, "stop")])
def test_recorded_finish_reasons(shared: Path, index: int, finish: str) -> None:
    answer = read_outcome(outcomes(shared, "writer-finish-reasons")[index])
    assert answer and answer.finish_reason == finish


def test_cached_tokens_are_part_of_the_input(shared: Path) -> None:
    answer = read_outcome(outcomes(shared, "reviewer-anthropic")[1])
    assert answer and answer.usage == {
        "input": 2814,
        "output": 71,
        "cache_read": 1024,
        "cache_write": 0,
        "reasoning": None,
    }


def test_usage_that_was_not_reported_is_unknown(shared: Path) -> None:
    answer = read_outcome(outcomes(shared, "local-call-ids")[0])
    assert answer and set(answer.usage.values()) == {None}


def test_a_failed_outcome_is_no_answer(shared: Path) -> None:
    assert read_outcome(outcomes(shared, "dunning-provider-errors")[0]) is None


def test_another_familys_outcome_is_no_answer() -> None:
    assert read_outcome({"Ok": {"outcome": "custom", "payload": 1}}) is None
    assert read_outcome(None) is None


def test_arguments_the_model_wrote_wrong_stay_as_written(shared: Path) -> None:
    calls = [
        call
        for outcome in outcomes(shared, "unknown-tool-recovered")
        for call in (read_outcome(outcome) or Answer()).calls
    ]
    [wrong] = [call for call in calls if call.arguments is None]
    assert (wrong.name, wrong.arguments_text) == ("file_form", '{"form": "A1')


OLD = {"outcome": "completion", "choice": [{"type": "text", "text": "Hi"}]}


@pytest.mark.parametrize(
    "outcome",
    [
        OLD | {"usage": {"input_tokens": 3}, "model": "gpt-4o", "response_id": "r1", "raw": {}},
        OLD
        | {"end": {"meta": {"usage": {"input_tokens": 3}, "model": "gpt-4o", "response_id": "r1"}}},
        OLD | {"usage": {"input_tokens": 3}, "origin": {"model": "gpt-4o", "response_id": "r1"}},
    ],
)
def test_older_outcomes_are_read_too(outcome: dict[str, Any]) -> None:
    answer = read_outcome({"Ok": outcome})
    assert answer and (answer.text, answer.model, answer.response_id) == ("Hi", "gpt-4o", "r1")
    assert answer.usage["input"] == 3


@pytest.mark.parametrize(
    "identity", ["c1", {"provider": "c1"}, {"local": "c1"}, {"origin": "explicit", "id": "c1"}]
)
def test_recorded_call_ids_of_every_shape(identity: Any) -> None:
    call = {"type": "toolcall", "id": identity, "function": {"name": "f", "arguments": {"a": 1}}}
    answer = read_outcome(
        {"Ok": {"outcome": "completion", "choice": [call], "finish_reason": "stop"}}
    )
    assert answer and vars(answer.calls[0]) == {
        "id": "c1",
        "name": "f",
        "arguments": {"a": 1},
        "arguments_text": '{"a":1}',
    }
    assert answer.finish_reason == "tool_calls"


# --- The wire, whole and streamed -----------------------------------------------------------------


@pytest.fixture
def fake() -> Iterator[FakeProvider]:
    with FakeProvider() as server:
        yield server


def ask(fake: FakeProvider, api: str, rule: dict[str, Any], **fields: Any) -> bytes:
    fake.rules = parse_rules([{"answer": rule}])
    headers = {"x-api-key": "k", "anthropic-version": "2023-06-01"}
    asked = {**ASKED[api], **fields}
    return httpx2.post(f"{fake.base_url}{PATHS[api]}", json=asked, headers=headers).content


def folded(stream: bytes) -> Fold:
    reader, fold = EventReader(), Fold()
    for event in [*reader.feed(stream), *reader.end()]:
        fold.add(event)
    return fold


SAID = [
    {"text": "Göteborg is nice today, and warm"},
    {"text": "", "tools": [{"name": "f", "arguments": {"a": [1, 2.5]}}, {"name": "g"}]},
    {"text": "I will look", "tool": {"name": "f", "arguments": {"city": "Ł ó d ź"}}},
    {"text": "42", "reasoning": "What is six times seven?"},
]


@pytest.mark.parametrize("rule", SAID)
@pytest.mark.parametrize("api", APIS)
def test_one_answer_reads_the_same_from_each_api(
    fake: FakeProvider, api: str, rule: dict[str, Any]
) -> None:
    answer = read_answer(json.loads(ask(fake, api, rule)))
    tools = [rule["tool"]] if "tool" in rule else rule.get("tools", [])
    assert answer.text == rule["text"]
    assert answer.reasoning == rule.get("reasoning", "")
    assert [(c.name, c.arguments) for c in answer.calls] == [
        (tool["name"], tool.get("arguments", {})) for tool in tools
    ]
    assert answer.finish_reason == ("tool_calls" if tools else "stop")
    assert all(answer.usage[part] is not None for part in ("input", "output"))


@pytest.mark.parametrize("rule", [*SAID, {"refusal": "No, sorry, not that"}])
@pytest.mark.parametrize("api", APIS)
def test_a_stream_folds_into_the_whole_answer(
    fake: FakeProvider, api: str, rule: dict[str, Any]
) -> None:
    whole = told(read_answer(json.loads(ask(fake, api, rule))))
    fold = folded(
        ask(
            fake,
            api,
            rule,
            stream=True,
            **({"stream_options": {"include_usage": True}} if api == CHAT else {}),
        )
    )
    streamed = told(read_answer(fold.body()))
    assert (fold.ended, fold.error, fold.began) == (True, None, True)
    different = {key for key in whole if whole[key] != streamed[key]}
    assert different <= {"response_id", "calls"}
    assert [(c.name, c.arguments_text) for c in streamed["calls"]] == [
        (c.name, c.arguments_text) for c in whole["calls"]
    ]


@pytest.mark.parametrize("api", APIS)
def test_a_stream_that_ends_in_an_error_says_so(fake: FakeProvider, api: str) -> None:
    fold = folded(ask(fake, api, {"text": "one two three four", "error_after": 2}, stream=True))
    assert fold.ended is False
    assert "overloaded" in json.dumps(fold.error)


@pytest.mark.parametrize(
    ("reason", "finish"),
    [("length", "length"), ("content_filter", "content_filter"), ("stop", "stop")],
)
@pytest.mark.parametrize("api", APIS)
def test_finish_reasons(fake: FakeProvider, api: str, reason: str, finish: str) -> None:
    answer = read_answer(json.loads(ask(fake, api, {"text": "x", "finish_reason": reason})))
    assert answer.finish_reason == finish


USAGE = {"input": 100, "output": 20, "cache_read": 60, "cache_write": 8, "reasoning": 5}


def test_anthropic_input_includes_what_the_cache_gave_and_took(fake: FakeProvider) -> None:
    answer = read_answer(json.loads(ask(fake, MESSAGES, {"text": "x", "usage": USAGE})))
    assert (answer.usage["input"], answer.usage["cache_read"]) == (168, 60)


def test_openai_input_includes_it_already(fake: FakeProvider) -> None:
    answer = read_answer(json.loads(ask(fake, RESPONSES, {"text": "x", "usage": USAGE})))
    assert (answer.usage["input"], answer.usage["cache_read"]) == (100, 60)
    assert answer.usage["reasoning"] == 5


@pytest.mark.parametrize(
    "body", [None, [], "x", {}, {"choices": []}, {"error": {"message": "no"}}, {"content": "x"}]
)
def test_a_body_that_is_no_answer_is_named(body: Any) -> None:
    with pytest.raises(BadAnswer, match=r"no answer|no choice"):
        read_answer(body)


def test_a_call_index_far_out_allocates_nothing() -> None:
    fold = Fold()
    [event] = EventReader().feed(
        b'data: {"choices": [{"index": 0, "delta": {"tool_calls": [{"index": 1000000000}]}}]}\n\n'
    )
    fold.add(event)
    assert len(read_answer(fold.body()).calls) <= 1024


# --- Any bytes, any shape -------------------------------------------------------------------------

STREAM = b'event: a\ndata: {"n": 1}\n\n: ping\n\ndata: {"t": "\xc3\xb6"}\r\n\r\ndata: [DONE]\n\n'


@given(st.lists(st.integers(1, 9), max_size=80))
def test_events_are_the_same_however_the_bytes_are_cut(sizes: list[int]) -> None:
    reader, events, at = EventReader(), [], 0
    for size in [*sizes, len(STREAM)]:
        events += reader.feed(STREAM[at : at + size])
        at += size
    assert [(event.name, event.data, event.done) for event in events] == [
        ("a", {"n": 1}, False),
        (None, {"t": "ö"}, False),
        (None, None, True),
    ]


def test_an_event_that_is_no_json_is_named() -> None:
    with pytest.raises(BadStream, match="no JSON: oops"):
        EventReader().feed(b"data: oops\n\n")


KINDS = ["message_start", "content_block_start", "content_block_delta", "message_delta"]
KINDS += ["response.output_item.done", "response.completed", "response.failed", ""]
KEYS = "choices message content tool_calls function arguments output type text usage input id delta"
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from([*KEYS.split(), "index", "response"]), inner, max_size=4)
    ),
    max_leaves=20,
)


@given(JSON)
def test_any_json_is_an_answer_or_a_bad_answer(body: Any) -> None:
    try:
        read_answer(body)
    except BadAnswer:
        return
    read_outcome({"Ok": {"choice": body, "usage": body, "raw": body}})


@given(st.lists(JSON, max_size=4), st.lists(st.sampled_from(KINDS), min_size=4, max_size=4))
def test_any_events_fold(bodies: list[Any], kinds: list[str]) -> None:
    reader, fold = EventReader(), Fold()
    for body, kind in zip(bodies, kinds, strict=False):
        typed = {**body, "type": kind} if isinstance(body, dict) and kind else body
        for event in reader.feed(f"data: {json.dumps(typed)}\n\n".encode()):
            fold.add(event)
    fold.body()
