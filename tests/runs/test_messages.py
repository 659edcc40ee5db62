"""Every recorded log as a person would read it: nothing breaks, and nothing said is lost."""

import dataclasses
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from runs.messages import answer_view, exact, request_view, seen_prefix, stream_view
from runs.messages.loose import at
from runs.messages.parts import Call, Data, Media, Reasoning, Result, Text

SHARED = os.environ.get("REWYN_SHARED", Path(__file__).parents[3] / "shared")
ROOT = Path(SHARED) / "data"
LOGS = sorted(str(path.relative_to(ROOT)) for path in ROOT.glob("rig*/**/*.effects.json"))
# Tags, ids of the format and the provider's own copies: said in other words or only under JSON.
UNSAID = {"effect", "type", "role", "native", "origin", "stop", "raw", "local", "media_type",
          "outcome", "retrieved", "op", "refusal", "api", "modality"}  # fmt: skip
TAGS = {"top_n", "top_n_ids"}


def records(shared: Path, name: str) -> list[dict[str, Any]]:
    log = exact.loads((shared / "data" / name).read_bytes())
    return list(log["records"])


def spoken(value: object) -> Iterator[str]:
    """Every text in a recorded value that a person must find on the page."""
    match value:
        case str():
            yield value
        case list():
            for member in value:
                yield from spoken(member)
        case dict():
            for key, member in value.items():
                yield from () if key in UNSAID else spoken(member)


def shown(view: object) -> Iterator[str]:
    """Every text a view holds; raw copies kept for comparing do not count."""
    if dataclasses.is_dataclass(view):
        for field in dataclasses.fields(view):
            yield from () if field.name in ("raw", "pointer") else shown(getattr(view, field.name))
    elif isinstance(view, tuple | list):
        for member in view:
            yield from shown(member)
    elif isinstance(view, dict):
        yield from shown([*view, *view.values()])
    elif isinstance(view, str):
        yield view


def missing(said: object, view: object) -> list[str]:
    page = "\n".join(shown(view))
    return [text for text in spoken(said) if text not in page and text not in TAGS]


@pytest.mark.parametrize("name", LOGS)
def test_no_text_of_a_request_is_lost(shared: Path, name: str) -> None:
    for record in records(shared, name):
        kind = dict(record["kind"])
        args = kind.pop("args", None)
        kind["arguments"] = json.loads(args) if args else None
        assert missing(kind, request_view(record)) == []


@pytest.mark.parametrize("name", LOGS)
def test_no_text_of_an_answer_is_lost(shared: Path, name: str) -> None:
    for record in records(shared, name):
        assert missing(record["outcome"], answer_view(record)) == []


@pytest.mark.parametrize("name", LOGS)
def test_every_pointer_leads_to_what_it_shows(shared: Path, name: str) -> None:
    for record in records(shared, name):
        for message in (*request_view(record).messages, *answer_view(record).messages):
            assert at(record, message.pointer) is message.raw
            for part in message.parts:
                assert isinstance(part, Media | Result | Data) or at(record, part.pointer) in (
                    vars_of(part)
                )


def vars_of(part: object) -> list[Any]:
    return [getattr(part, field.name) for field in dataclasses.fields(part)]  # type: ignore[arg-type]


def test_a_model_call_with_reasoning_calls_and_results_reads_in_order(shared: Path) -> None:
    last = records(shared, "rig/city-facts-anthropic-stream.effects.json")[3]
    kinds = [[part.kind for part in turn.parts] for turn in request_view(last).messages]
    assert kinds[-2:] == [["result"], ["result"]]
    assert kinds[-3] == ["reasoning", "call", "call"]


def test_media_say_what_they_are_and_how_big(shared: Path) -> None:
    first = records(shared, "rig/media-inspector.effects.json")[0]
    media = [part for part in request_view(first).messages[1].parts if isinstance(part, Media)]
    assert [(m.media, m.source, m.media_type, m.size) for m in media] == [
        ("image", "base64", "image/png", 8),
        ("image", "url", "image/jpeg", None),
        ("image", "bytes", "", 4),
        ("document", "base64", "application/pdf", 5),
        ("document", "text", "text/csv", 7),
        ("audio", "base64", "audio/wav", 4),
        ("video", "url", "video/mp4", None),
    ]


def test_options_keep_every_digit(shared: Path) -> None:
    first = records(shared, "rig/options-schema.effects.json")[0]
    facts = {fact.label: fact.value for fact in request_view(first).facts}
    assert facts["Temperature"] == "1.0"
    assert facts["Seed"] == "18446744073709551615"
    assert facts["Tool choice"] == "check_vat"


def test_a_failed_tool_says_why_and_what_the_model_was_told(shared: Path) -> None:
    view = answer_view(records(shared, "rig-examples/04-retrieval-failing-tool.effects.json")[2])
    assert view.status == "error"
    assert view.failure is not None
    assert view.failure.message == "calculator backend did not answer in 2 s"
    assert [part.kind for part in view.parts] == ["text"]


def test_a_provider_error_carries_status_code_and_body(shared: Path) -> None:
    failure = answer_view(records(shared, "rig/dunning-provider-errors.effects.json")[0]).failure
    assert failure is not None
    facts = {fact.label: fact.value for fact in failure.facts}
    assert (failure.kind, facts["HTTP status"], facts["Code"]) == (
        "provider_response",
        "429",
        "rate_limit_exceeded",
    )
    assert json.loads(failure.body)["error"]["type"] == "tokens"


def test_a_memory_failure_names_its_cause(shared: Path) -> None:
    failure = answer_view(records(shared, "rig/memory-append-fails.effects.json")[2]).failure
    assert failure is not None
    assert "disk quota exceeded on volume memory-eu-1" in " ".join(failure.chain)


def test_search_hits_come_with_score_and_id(shared: Path) -> None:
    hits = answer_view(records(shared, "rig/host-desk-families.effects.json")[6]).documents
    assert len(hits) == 1
    assert hits[0].score and hits[0].id


def test_the_turns_of_the_call_before_count_as_seen(shared: Path) -> None:
    log = records(shared, "rig-examples/02-two-tools-memory.effects.json")
    first, later = request_view(log[1]), request_view(log[4])
    assert seen_prefix(first.messages, later.messages) == len(first.messages)
    answered = seen_prefix(first.messages, later.messages, answer_view(log[1]))
    assert answered == len(first.messages) + 1


def test_a_stream_is_told_chunk_by_chunk(shared: Path) -> None:
    record = records(shared, "rig-examples/03-streamed-kept-events.effects.json")[0]
    view = stream_view(record)
    assert view is not None
    assert [chunk.index for chunk in view.chunks] == list(range(len(record["events"])))
    assert "unknown" in {chunk.kind for chunk in view.chunks}
    told = [part.text for part in view.parts if isinstance(part, Text)]
    assert told == [answer_view(record).parts[-1].text]  # type: ignore[union-attr]


def test_stream_errors_stand_where_they_came(shared: Path) -> None:
    log = exact.loads((shared / "data/rig/radio-stream-error.effects.json").read_bytes())
    for record in log["records"]:
        errors = log["header"]["stream_errors"].get(str(record["id"]), [])
        view = stream_view(record, errors)
        placed = [chunk.index for chunk in view.chunks if chunk.is_error] if view else []
        assert placed == [error["item"] for error in errors]


def test_a_stream_cut_short_keeps_what_had_come() -> None:
    events = [
        {"item": "event", "value": {"event": "start", "part": 4, "kind": "tool_call", "name": "t"}},
        {"item": "event", "value": {"event": "arguments", "part": 4, "json": '{"a":'}},
    ]
    view = stream_view({"events": events})
    assert view is not None
    assert view.parts == (Call("", "t", None, "", invalid='{"a":'),)


def test_older_shapes_of_calls_and_results_are_understood() -> None:
    function = {"name": "add", "arguments": {"a": 1}}
    history = [
        {"role": "assistant", "id": None, "content": [
            {"type": "toolcall", "id": "x", "call_id": None, "function": function},
            {"type": "reasoning", "reasoning": ["first", "second"]}]},
        {"role": "user", "content": [
            {"type": "toolresult", "id": "x", "content": [{"type": "text", "text": "3"}]}]},
    ]  # fmt: skip
    kind = {"effect": "completion", "request": {"system": "Be brief.", "messages": history}}
    system, asked, told = request_view({"kind": kind}).messages
    assert system.parts[0].text == "Be brief."  # type: ignore[union-attr]
    assert [type(part) for part in asked.parts] == [Call, Reasoning]
    assert isinstance(told.parts[0], Result)
    assert told.parts[0].name == "add"


def test_what_nobody_knows_is_shown_as_json() -> None:
    record = {"kind": {"effect": "teleport", "to": "Mars"}, "outcome": {"Ok": {"outcome": "gone"}}}
    assert request_view(record).parts[0].value == record["kind"]  # type: ignore[union-attr]
    assert answer_view(record).parts[0].value == {"outcome": "gone"}  # type: ignore[union-attr]
