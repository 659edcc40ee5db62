"""The one rule for tokens on spans that real instrumentations sent: what the provider counted
stands beside each capture."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from factories import batch, record, run
from real_spans import SHARED, attributes, calls, spans

from runs.models import Run
from runs.usage import UNKNOWN, of_span, wraps

OTLP = SHARED / "data" / "otlp"
PRODUCERS = sorted(path.name for path in OTLP.iterdir() if path.is_dir())
PARTS = ("input", "output", "cache_read", "cache_write", "reasoning")
ELSEWHERE = {"mlflow": ("reasoning",)}
"""What a producer names only inside the body it copies."""
CASES = [
    "anthropic-sdk-native/parallel_tools",
    "genai-anthropic/stream_tools",  # each call twice, the client's own span below the other
    "langfuse/parallel_tools",
    "langsmith-otel/multi_turn",
    "logfire/subagents",
    "openinference-crewai/two_tasks",  # no call of a model is in it
    "openinference-langchain-double/parallel_tools",  # each call twice
    "openinference-llamaindex/subagents",
    "openinference-smolagents/plain",  # an agent with the sum of its calls
    "openllmetry-openai-old/parallel_tools",
    "pydantic-ai-v1/parallel_tools",
    "strands/multi_turn",  # an agent with the sum of a session
    "vercel-ai-v6/subagents",  # agents in agents, with the sums of their own calls only
    "vercel-ai-v6/stream",
]


def told_by(producer: str) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Its calls, but for those whose counts an attribute limit of the sender took away."""
    for folder in sorted(path.parent for path in (OTLP / producer).glob("*/meta.json")):
        if (producer, folder.name) != ("openinference-openai-js", "long_loop"):
            yield from calls(folder)


@pytest.mark.parametrize("producer", PRODUCERS)
def test_a_span_counts_what_the_provider_counted(producer: str) -> None:
    parts = [part for part in PARTS if part not in ELSEWHERE.get(producer, ())]
    for span, known in told_by(producer):
        used, given = of_span(span), known.get("usage") or {}
        assert [getattr(used, part) or 0 for part in parts] == [given.get(p) or 0 for p in parts]
        assert not wraps(span)


def test_an_embedding_has_what_it_was_given() -> None:
    for case in ("genai-openai", "openllmetry-openai-old", "openinference-openai"):
        found = attributes(OTLP / case / "retrieval").values()
        embedded = [one for one in found if "mbedding" in str(one)[:2000] and not chat(one)]
        assert [of_span(one).input for one in embedded] == [76, 15]


def chat(span: dict[str, Any]) -> bool:
    return of_span(span).output is not None


def test_a_span_without_counts_is_unknown_and_a_reported_zero_is_zero() -> None:
    assert of_span({"gen_ai.request.model": "gpt-4o"}) == UNKNOWN
    assert of_span({"gen_ai.usage.input_tokens": "12"}) == UNKNOWN
    assert of_span({"gen_ai.usage.input_tokens": 7}).output is None
    assert of_span({"llm.token_count.prompt": 7, "llm.token_count.completion": 0}).output == 0


# --- A run's sums ------------------------------------------------------------------------------


def effects(case: str) -> list[dict[str, Any]]:
    """Every span of a capture as an effect of the family that counts, below its parent."""
    return [effect(span) for span in spans(OTLP / case)]


def effect(span: dict[str, Any]) -> dict[str, Any]:
    asked = {"effect": "completion", "request": {"attributes": span.get("attributes", [])}}
    parent = span.get("parentSpanId") or None
    return record(span["spanId"], "agent/span", asked, {"Ok": asked["request"]}, parent=parent)


def totals(case: str) -> tuple[int, ...]:
    runs = json.loads((OTLP / case / "meta.json").read_bytes())["expect"]["runs"]
    return tuple(sum(one["usage_totals"].get(part) or 0 for one in runs) for part in PARTS)


def summed() -> tuple[int, ...]:
    made = Run.objects.get()
    return tuple(getattr(made, f"{part}_tokens") or 0 for part in PARTS)


@pytest.mark.parametrize("case", CASES)
def test_no_call_counts_twice_however_many_spans_tell_of_it(api, case: str) -> None:
    api("POST", "/api/v1/runs", run("r1", *effects(case)))
    assert summed() == totals(case)


def test_nor_where_an_agent_comes_behind_its_calls(api) -> None:
    case = "strands/multi_turn"
    sent = effects(case)
    api("POST", "/api/v1/runs", run("r1"))
    for start in range(len(sent), 0, -7):
        part = range(max(start - 7, 0), start)
        positions = [index + 1 for index in part]
        api("POST", "/api/v1/runs/r1/effects", batch(*(sent[i] for i in part), positions=positions))
    assert summed() == totals(case)
    assert Run.objects.get().effect_count == len(sent)


def test_what_was_never_counted_stays_unknown(api, member_client) -> None:
    api("POST", "/api/v1/runs", run("r1", *effects("openinference-crewai/two_tasks")))
    assert Run.objects.get().input_tokens is None
    [streamed, *_] = spans(OTLP / "openllmetry-openai" / "stream_nousage")
    api("POST", "/api/v1/runs", run("r2", effect(streamed)))
    made = Run.objects.get(external_id="r2")
    assert made.input_tokens is None
    assert made.ledger["unknown_tokens"] == 1


def test_the_page_has_the_counts_and_what_an_agent_reported_apart(api, member_client) -> None:
    sent = effects("vercel-ai-v6/parallel_tools")
    api("POST", "/api/v1/runs", run("r1", *sent))
    rows = {row.effect_id: row.seq for row in Run.objects.get().effects.all()}
    named = {span["name"]: span["spanId"] for span in spans(OTLP / "vercel-ai-v6/parallel_tools")}
    agent = member_client.get(f"/p/acme/runs/r1?at={rows[named['ai.generateText']]}").text
    assert "<dt>Input</dt><dd>—</dd>" in re.sub(r"<(?!/?d[td]>)[^>]*>", "", agent)
    assert "Usage as reported" in agent
    call = member_client.get(f"/p/acme/runs/r1?at={rows[named['ai.generateText.doGenerate']]}").text
    assert "<dt>Input</dt><dd>469</dd>" in call
    listed = member_client.get("/p/acme/runs").text
    assert "814" in listed


def test_a_row_has_the_span_s_model_provider_and_end(api) -> None:
    [sent, *_] = [
        effect(span)
        for span in spans(OTLP / "vercel-ai-v6" / "parallel_tools")
        if span["name"].endswith("doGenerate")
    ]
    api("POST", "/api/v1/runs", run("r1", sent))
    [row] = Run.objects.get().effects.all()
    assert (row.name, row.response_model, row.provider) == (
        "gpt-4o", "gpt-4o-2026-03-01", "openai",
    )  # fmt: skip
    assert (row.finish_reason, row.input_tokens, row.output_tokens) == ("tool-calls", 299, 25)
    assert row.cost > 0
    assert row.summary == "calls 2 tools: get_weather, get_weather"
    assert row.run.title == "Compare the weather in Zürich and Kyoto, in °C."
