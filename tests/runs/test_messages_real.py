"""Bodies that real instrumentations sent, against what the providers and tools said themselves
(the answers stand beside each capture)."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from runs.messages import exact, wire_answer, wire_request
from runs.messages.parts import Call, Data, Reasoning, Result, Text

SHARED = Path(os.environ.get("REWYN_SHARED", Path(__file__).parents[3] / "shared"))
PRODUCERS = (
    "genai-anthropic", "genai-openai", "langfuse", "langsmith-otel", "logfire", "mlflow",
    "openai-v2", "openinference-anthropic", "openinference-langchain", "openinference-openai-js",
    "openllmetry-langchain", "openllmetry-openai", "pydantic-ai", "pydantic-ai-v2",
    "traceloop-sdk", "vercel-ai-v6", "vercel-ai-v6-json",
)  # fmt: skip
SCENARIOS = (
    "parallel_tools", "multi_turn", "reasoning", "anth_reasoning", "resp_reason", "resp_plain",
    "structured", "refusal", "tool_error", "tool_error_handled", "no_args", "stream_tools",
)  # fmt: skip
CASES = [
    f"{producer}/{scenario}"
    for producer in PRODUCERS
    for scenario in SCENARIOS
    if (SHARED / "data" / "otlp" / producer / scenario).is_dir()
]


def value_of(sent: dict[str, Any]) -> Any:
    kind, value = next(iter(sent.items()), ("", None))
    if kind == "arrayValue":
        return [value_of(one) for one in value.get("values", [])]
    if kind == "kvlistValue":
        return {one["key"]: value_of(one["value"]) for one in value.get("values", [])}
    return value


def attributes(folder: Path) -> dict[str, dict[str, Any]]:
    """Span id → attributes, of all requests of a capture."""
    return {
        span["spanId"]: {one["key"]: value_of(one["value"]) for one in span.get("attributes", [])}
        for path in sorted(folder.glob("[0-9][0-9][0-9].json"))
        for resource in json.loads(path.read_bytes()).get("resourceSpans", [])
        for scope in resource.get("scopeSpans", [])
        for span in scope["spans"]
    }


def calls(folder: Path) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Each model call's span and what is known of it."""
    spans = attributes(folder)
    meta = json.loads((folder / "meta.json").read_bytes())
    for run in meta["expect"]["runs"]:
        for known in run["model_calls"]:
            yield spans[known["span_id"]], known


def texts(parts: tuple[Any, ...], kind: type) -> str | None:
    return " ".join(part.text for part in parts if isinstance(part, kind)) or None


def told(parts: tuple[Any, ...]) -> str:
    """The last turn's words, JSON in one spelling."""
    said = (
        told(part.parts) if isinstance(part, Result)
        else exact.compact(part.value) if isinstance(part, Data) else part.text
        for part in parts if isinstance(part, Text | Result | Data)
    )  # fmt: skip
    return spelled("".join(said))


def spelled(text: str) -> str:
    try:
        return json.dumps(json.loads(text), sort_keys=True)
    except ValueError:
        return text


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
