"""Recorded requests on the wire of three APIs: spelled as Rig does, taken, with nothing lost."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from asked import strings

from replay.dialects import (
    CHAT,
    MESSAGES,
    RESPONSES,
    read_body,
    read_request,
    recorded_api,
    write_body,
)
from replay.fake_provider import FakeProvider

ROOT = Path(__file__).resolve().parents[2]
BODIES = ROOT / "tests/fixtures/rig-0.44-wire/bodies.jsonl"
WIRE = [json.loads(line) for line in BODIES.read_text().split("\n") if line]
APIS = (CHAT, RESPONSES, MESSAGES)
PATHS = {CHAT: "/v1/chat/completions", RESPONSES: "/v1/responses", MESSAGES: "/v1/messages"}
MODELS = {CHAT: "gpt-4o", RESPONSES: "gpt-4o", MESSAGES: "claude-sonnet-4-5"}
LONG = {"big-log-tool-result", "bulk-tagger-2000", "night-shift-300"}
LOGS = sorted({line["log"] for line in WIRE} | LONG)


def completions(shared: Path, log: str) -> list[dict[str, Any]]:
    [file] = (shared / "data").glob(f"rig*/**/{log}.effects.json")
    records = json.loads(file.read_text())["records"]
    return [record for record in records if record["kind"]["effect"] == "completion"]


def record_of(shared: Path, log: str, number: int) -> dict[str, Any]:
    return next(record for record in completions(shared, log) if record["id"] == number)


def prompt_of(record: dict[str, Any]):
    kind = record["kind"]
    api = recorded_api(record["outcome"])
    return read_request(kind["request"], api=api, stream=kind["stream"])


# --- As Rig spells them --------------------------------------------------------------------------

# What differs on purpose, each with a test of its own below.
OURS = {
    "options-schema": "parameters the API doesn't know are left out",
    "media-inspector": "other words where a medium can't go",
    "local-call-ids": "Rig's own ids go out as they are",
    "nova-tools-timed": "the same",
    "unicode-edges": "an empty schema is completed",
    "orders-chat-wire": "0.46 sorts arguments, the log has them as the model wrote them",
    "writer-finish-reasons": "a limit the Responses API would refuse is raised",
    "03-streamed-kept-events": "a Responses parameter means nothing to the others",
    "travel-responses-stream": "the same",
}
SPELLED = [
    pytest.param(line, api, id=f"{line['log']}-{line['id']}-{api}")
    for line in WIRE
    if line["log"] not in OURS
    for api in line["bodies"]
]


def plain(api: str, body: dict[str, Any]) -> dict[str, Any]:
    """Rig's body without what has no meaning: a lone text as a list, ids Rig makes up, defaults."""
    for message in body.get("messages", []):
        if message["role"] == "system":
            message["content"] = message["content"][0]["text"]
    for tool in body.get("tools", []):
        tool.pop("eager_input_streaming", None)
    for item in body.get("input", []):
        if item["type"] == "function_call_output" or "msg_rig" in item.get("id", ""):
            item.pop("status")
        if "msg_rig" in item.get("id", ""):
            item.pop("id")
            item["content"][0].pop("annotations")
    if api == MESSAGES and body.get("tool_choice") == {"type": "auto"}:
        body.pop("tool_choice")
    return body


@pytest.mark.parametrize(("line", "api"), SPELLED)
def test_a_request_is_spelled_as_rig_spells_it(
    shared: Path, line: dict[str, Any], api: str
) -> None:
    theirs = plain(api, json.loads(json.dumps(line["bodies"][api])))
    record = record_of(shared, line["log"], line["id"])
    ours, _ = write_body(api, prompt_of(record), theirs["model"])
    assert ours == theirs


@pytest.mark.parametrize(("line", "api"), SPELLED)
def test_a_body_read_from_the_wire_is_written_the_same(line: dict[str, Any], api: str) -> None:
    theirs = plain(api, json.loads(json.dumps(line["bodies"][api])))
    again, _ = write_body(api, read_body(api, theirs), theirs["model"])
    assert again == theirs


# --- Taken by the APIs, nothing lost -------------------------------------------------------------


@pytest.fixture(scope="module")
def fake() -> Iterator[FakeProvider]:
    with FakeProvider() as server:
        yield server


@pytest.fixture(scope="module")
def http(fake: FakeProvider) -> Iterator[httpx2.Client]:
    headers = {"x-api-key": "k", "anthropic-version": "2023-06-01"}
    with httpx2.Client(base_url=fake.base_url, headers=headers) as client:
        yield client


def words(request: dict[str, Any]) -> Iterator[str]:
    """Every text, name and id of a recorded request that a model must see."""
    for tool in request["tools"]:
        yield tool["name"]
        yield tool["description"]
    for document in request["documents"]:
        yield document["text"]
    for message in request["chat_history"]:
        content = message["content"]
        yield from [content] if isinstance(content, str) else content_words(content)


def content_words(content: list[dict[str, Any]]) -> Iterator[str]:
    for part in content:
        yield part.get("text", "")
        yield part.get("function", {}).get("name", "")
        yield from part.get("id", part.get("call", {})).values()
        yield from content_words(part["content"]) if isinstance(part.get("content"), list) else ()


def carried(record: dict[str, Any], body: dict[str, Any], notes: list[Any]) -> bool:
    """Whether all words of a request are in the body, but for those a note tells about."""
    told = json.loads(json.dumps(record["kind"]["request"]))
    for note in notes:
        if note.code == "orphan_result":
            _, _, message, _, part = note.path.split("/")
            told["chat_history"][int(message)]["content"][int(part)] = {}
    respelled = [note.message for note in notes if note.code == "call_id_respelled"]
    sent = "\n".join([*strings(body), *respelled])
    return all(word in sent for word in words(told) if word.strip())


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("log", LOGS)
def test_every_recorded_request_is_taken_with_all_its_words(
    shared: Path, http: httpx2.Client, fake: FakeProvider, log: str, api: str
) -> None:
    refused = []
    for record in completions(shared, log):
        body, notes = write_body(api, prompt_of(record), MODELS[api])
        answer = http.post(PATHS[api], json=body)
        whole = carried(record, fake.asked[-1].body, notes)
        if answer.status_code != 200 or not whole:
            refused.append((record["id"], whole, answer.text))
    assert refused == []


@pytest.mark.parametrize("target", APIS)
@pytest.mark.parametrize("line", [pytest.param(w, id=f"{w['log']}-{w['id']}") for w in WIRE])
def test_a_body_of_one_api_is_taken_by_the_others(
    http: httpx2.Client, line: dict[str, Any], target: str
) -> None:
    for api, body in line["bodies"].items():
        prompt = read_body(api, body)
        written, _ = write_body(target, prompt, MODELS[target])
        answer = http.post(PATHS[target], json=written)
        # Rig sends additional parameters to any API, also to one that refuses them.
        refused = api == target and body.keys() & {"penalty", "include", "reasoning"}
        assert answer.status_code == 200 or refused, answer.text
