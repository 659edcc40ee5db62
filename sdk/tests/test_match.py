"""Request matching, against what Rig said about mutated logs when the original requests came."""

import json
from collections import defaultdict, deque

import pytest

from rewyn_sdk import EffectLog, compare_requests
from rewyn_sdk.match import compare_hashes, divergence, normalised, request_hash

COMPARE = {"payload": compare_requests, "hash": compare_hashes}


def pairs(mutant, original, by):
    """(record that is met, record that asked), up to where a record is missing."""
    queues = defaultdict(deque)
    for record in mutant.records:
        queues[record.key if by == "position" else record.id].append(record)
    for asked in original.records:
        queue = queues[asked.key if by == "position" else asked.id]
        if not queue:
            return
        yield queue.popleft(), asked


def first_divergence(mutant, original, mode):
    for met, asked in pairs(mutant, original, mode["by"]):
        mismatch = COMPARE[mode["check"]](met.kind, asked.kind)
        if mismatch:
            return divergence(met.key, met.id, met.kind, asked.kind, mismatch)
    return None


def said(row):
    """Rig's sentence where requests differed; the table cuts the longest one short."""
    message = (row["rig_says"] or {}).get("message") or ""
    return message.rstrip("…") if "but received" in message else None


def test_every_measured_mutation(replayed, mutated, log_bytes):
    original = EffectLog.loads(log_bytes(replayed["log"]))
    mutant = EffectLog.loads(json.dumps(mutated(replayed)))
    found = first_divergence(mutant, original, replayed["mode"])
    assert (found and found[: len(said(replayed) or "")]) == said(replayed)


def test_a_log_matches_itself(real_log):
    log = EffectLog.loads(real_log.read_bytes())
    found = [compare_requests(record.kind, record.kind) for record in log.records]
    assert found == [None] * len(log.records)


def test_two_runs_that_differ_in_local_ids_match(log_bytes):
    records = EffectLog.loads(log_bytes("local-call-ids")).records
    first, second = records[:6], records[6:]
    assert [compare_requests(a.kind, b.kind) for a, b in zip(first, second, strict=True)] == [
        None
    ] * 6
    assert [request_hash(r.kind) for r in first] == [request_hash(r.kind) for r in second]


@pytest.fixture
def request_kind(log_bytes):
    return EffectLog.loads(log_bytes("refund-memory")).records[1].kind


def changed(kind, **fields):
    return {**kind, "request": {**kind["request"], **fields}}


def test_mismatches_are_data(request_kind):
    found = compare_requests(request_kind, changed(request_kind, max_tokens=5))
    assert found.path == "payload.request.max_tokens"
    assert (found.recorded, found.arrived) == (None, 5)
    assert str(found) == "payload.request.max_tokens differs: recorded `null`, arrived `5`"


def test_other_families_are_told(request_kind):
    tool = {"effect": "tool_call", "name": "add", "args": "{}"}
    found = compare_requests(request_kind, tool)
    assert (found.path, found.recorded, found.arrived) == (None, "completion", "tool_call")


@pytest.mark.parametrize(("one", "other"), [(1, 1.0), (1, True), (0, -0.0), ("1", 1), (None, {})])
def test_opaque_values_differ_by_type(request_kind, one, other):
    sides = [changed(request_kind, additional_params={"x": value}) for value in (one, other)]
    assert compare_requests(*sides).path == "payload.request.additional_params.x"


@pytest.mark.parametrize(("one", "other"), [(0.0, -0.0), (1e400, 1e400), (10**30, 1e30)])
def test_numbers_rig_reads_alike_are_alike(request_kind, one, other):
    sides = [changed(request_kind, additional_params={"x": value}) for value in (one, other)]
    assert compare_requests(*sides) is None


def test_ids_are_renamed_inside_any_string():
    local = "9b2d1c0e-8f4e-4d26-9a55-0c3f6d0e1a2b"
    message = {
        "role": "assistant",
        "content": [
            {"type": "text", "text": f"see {local}!"},
            {"type": "toolcall", "id": {"local": local}, "function": {"name": "f"}},
        ],
    }
    request = {"chat_history": [message], "documents": [], "tools": []}
    effect = normalised({"effect": "completion", "request": request, "stream": False})
    text, call = effect["request"]["chat_history"][0]["content"]
    assert text["text"] == "see 00000000-0000-4000-8000-000000000000!"
    assert call["id"] == {"local": "00000000-0000-4000-8000-000000000000"}


def test_older_shapes_are_compared_without_nulls(fixtures):
    (d0, f1) = (
        EffectLog.loads((fixtures / f"{n}-v1/log.effects.json").read_bytes()) for n in ("d0", "f1")
    )
    assert compare_requests(d0.records[0].kind, f1.records[0].kind) is None
    assert compare_requests(d0.records[0].kind, d0.records[2].kind).path.endswith("chat_history")
