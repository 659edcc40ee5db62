"""Bodies that real instrumentations sent, against what the providers and tools said themselves
(the answers stand beside each capture)."""

import json
from typing import Any

import pytest
from real_spans import SHARED, calls, logged, spelled, texts, told

from runs.messages import wire_answer, wire_request
from runs.messages.parts import Call, Data, Reasoning, Result, Text

PRODUCERS = (
    "genai-anthropic", "genai-openai", "langfuse", "langsmith-otel", "logfire", "mlflow",
    "openai-v2", "openinference-anthropic", "openinference-langchain",
    "openinference-langchain-double", "openinference-llamaindex", "openinference-openai",
    "openinference-openai-agents", "openinference-openai-js", "openllmetry-anthropic-old",
    "openllmetry-langchain", "openllmetry-openai", "openllmetry-openai-old", "pydantic-ai",
    "pydantic-ai-v2", "traceloop-sdk", "vercel-ai-v6", "vercel-ai-v6-json",
)  # fmt: skip
SCENARIOS = (
    "parallel_tools", "multi_turn", "reasoning", "anth_reasoning", "resp_reason", "resp_plain",
    "structured", "refusal", "tool_error", "tool_error_handled", "no_args", "stream_tools",
    "length", "subagents",
)  # fmt: skip
CASES = [
    f"{producer}/{scenario}"
    for producer in PRODUCERS
    for scenario in SCENARIOS
    if (SHARED / "data" / "otlp" / producer / scenario).is_dir()
]


@pytest.mark.parametrize("case", CASES)
def test_a_real_answer_reads_as_the_provider_gave_it(case: str) -> None:
    for span, known in calls(SHARED / "data" / "otlp" / case):
        parts = wire_answer(span, "").parts
        asked = [(one["name"], one["arguments"]) for one in known["output_tool_calls"] or []]
        assert texts(parts, Text) == known["output_text"]
        assert [(p.name, p.arguments) for p in parts if isinstance(p, Call)] == asked
        assert texts(parts, Reasoning) == known["reasoning_text"]


@pytest.mark.parametrize("case", CASES)
def test_a_real_request_reads_as_the_provider_got_it(case: str) -> None:
    for span, known in calls(SHARED / "data" / "otlp" / case):
        turns = wire_request(span, "").messages
        system = [texts(turn.parts, Text) for turn in turns if turn.role in ("system", "developer")]
        assert system[:1] == [known["system"]] * bool(known["system"])
        if known["last_input"] and known["last_input"]["text"]:
            assert turns[-1].role == known["last_input"]["role"]
            assert told(turns[-1].parts) == spelled(known["last_input"]["text"])


@pytest.mark.parametrize("scenario", ["parallel_tools", "handoff"])
def test_a_google_agents_log_records_read_as_what_was_executed(scenario: str) -> None:
    """No capture has a body of Gemini itself; these are the nearest to it."""
    folder = SHARED / "data" / "otlp" / "google-adk-stable" / scenario
    executed = json.loads((folder / "meta.json").read_bytes())["truth"]["tool_executions"]
    views = [(wire_request(one, ""), wire_answer(one, "")) for one in logged(folder)]
    called = [part for _, answer in views for part in answer.calls]
    asked = [(one["name"], one["arguments"]) for one in executed]
    assert [one for one in asked if one in [(p.name, p.arguments) for p in called]] == asked
    last = [part for turn in views[-1][0].messages for part in turn.parts]
    results = [part.parts[0].value["result"] for part in last if isinstance(part, Result)]
    assert results == [one["result"] for one in executed][-len(results) :]


RUNS = sorted(path.parent.name for path in (SHARED / "data" / "rewyn").glob("runs/*/events.jsonl"))


@pytest.mark.parametrize("name", RUNS)
def test_no_text_of_a_rewyn_run_is_lost(name: str) -> None:
    events = (SHARED / "data" / "rewyn" / "runs" / name / "events.jsonl").read_bytes().splitlines()
    for event in map(json.loads, events):
        body = event["payload"]
        if event["type"] == "MODEL_CALLED":
            turns = wire_request(body, "").messages
            said = [part for turn in turns for part in turn.parts]
            wanted = [part for turn in body["messages"] for part in turn["content"]]
            assert [word(part) for part in said] == [known(part) for part in wanted]
        elif event["type"] == "MODEL_RESPONSE" and "message" in body:
            said = list(wire_answer(body, "").parts)
            assert [word(part) for part in said] == [known(p) for p in body["message"]["content"]]


def word(part: Any) -> object:
    match part:
        case Text() | Reasoning():
            return part.text
        case Call():
            return (part.id, part.name, part.arguments)
        case Result(parts=(Text() as said,)):
            return (part.call_id, said.text, part.is_error)
        case Result(parts=(Data() as said,)):
            return (part.call_id, said.value, part.is_error)
    return (part.media_type, part.value)


def known(part: dict[str, Any]) -> object:
    match part["type"]:
        case "text" | "reasoning":
            return part["text"]
        case "tool_call":
            return (part["id"], part["name"], part["arguments"])
        case "tool_result":
            return (part["tool_call_id"], part["content"], part["is_error"])
    return (part["media_type"], part["data"])
