import json

import pytest

from rewyn_sdk import EffectLog, check_header
from rewyn_sdk.canonical import canonical_json

SHAPES = {"d0": "D0", "f1": "F1", "f1-system": "F1", "r43": "R43", "r44d": "R44d"}


def load(fixtures, name):
    return EffectLog.loads((fixtures / f"{name}-v1/log.effects.json").read_bytes())


@pytest.fixture(params=SHAPES)
def old(request, fixtures):
    return load(fixtures, request.param)


@pytest.mark.parametrize("name", SHAPES)
def test_shapes_are_told_apart(fixtures, name):
    log = load(fixtures, name)
    assert (log.shape, log.warnings) == (SHAPES[name], [])


def test_what_is_written_is_taken_by_rig(old):
    new = old.to_r44()
    again = EffectLog.loads(new.dumps(), strict=True)
    check_header(again)
    assert again.shape == "R44"
    assert [r.raw for r in new.records] == [
        r.raw for r in EffectLog.loads(new.dumps(indent=None)).records
    ]


def test_the_old_log_stays_as_it_was(old):
    before = old.dumps()
    old.to_r44()
    assert old.dumps() == before


def test_what_can_be_said_is_still_said(old):
    new = old.to_r44()
    for field in ("id", "key", "family", "usage", "finish_reason", "error", "name"):
        kept = [getattr(record, field) for record in new.records]
        assert [bool(one) for one in kept] == [bool(getattr(r, field)) for r in old.records]
    assert [len(r.history) for r in new.records] == [len(r.history) for r in old.records]
    assert [r.facts.model for r in new.records] == [r.facts.model for r in old.records]


def test_what_was_lost_or_invented_is_told(fixtures):
    told = {(w.code, w.message) for w in load(fixtures, "d0").to_r44().warnings}
    assert told == {
        ("lost", "`run_spec` follows another rule"),
        ("lost", "`id` has no place"),
        ("lost", "stream items of an older shape"),
        ("invented", "the origin's API name"),
    }


def test_call_ids_become_the_providers(fixtures):
    history = load(fixtures, "d0").to_r44().records[2].history
    assert history[2]["content"][0]["id"] == history[3]["content"][0]["call"]
    assert history[2]["content"][0]["id"] == {"provider": "call_1"}


def test_the_system_text_becomes_the_first_message(fixtures):
    history = load(fixtures, "f1-system").to_r44().records[0].history
    assert history[0] == {"role": "system", "content": "You add."}


def test_items_of_r43_are_kept_and_name_their_tool(fixtures):
    items = load(fixtures, "r43").to_r44().records[0].events
    assert items[0]["value"] == {"event": "start", "part": 0, "kind": "tool_call", "name": "add"}
    assert items[3] == {"item": "unknown", "value": {"type": "ping"}}


def test_fingerprints_of_r44d_are_made_anew(fixtures):
    part = load(fixtures, "r44d").to_r44().records[0].choice[0]
    assert part["native"]["fingerprint"] == "23f07d1922e80d53"


def test_errors_of_streams_without_items_go_too():
    events = [{"event": "block_start", "id": "b", "kind": {"kind": "text"}}]
    record = {
        "tool_output": None,
        "id": 1,
        "key": "m",
        "kind": {"effect": "completion", "request": {"chat_history": []}, "stream": True},
        "outcome": {"Err": {"kind": "response", "retryable": True, "message": "cut"}},
        "events": events,
    }
    header = {"stream_errors": {"1": [{"item": 1, "error": {}}]}}
    new = EffectLog.loads(json.dumps({"header": header, "records": [record]})).to_r44()
    assert new.header["stream_errors"] == {}
    assert new.records[0].events is None


def test_extras_of_the_newest_shape_are_lost(shared):
    file = shared / "rig/newer/nova-tools-timed.effects.json"
    new = EffectLog.loads(file.read_bytes()).to_r44()
    assert {w.message for w in new.warnings} == {
        "`started_ms` has no place",
        "`finished_ms` has no place",
    }
    assert EffectLog.loads(new.dumps(), strict=True).shape == "R44"


def test_a_log_of_the_shape_stays_the_same(log_bytes):
    log = EffectLog.loads(log_bytes("unicode-edges"))
    new = log.to_r44()
    assert new.warnings == []
    assert canonical_json(json.loads(new.dumps())) == canonical_json(json.loads(log.dumps()))


def test_what_cannot_be_helped_is_told():
    log = EffectLog.loads('{"header":{"format":1},"records":[{"id":1,"kind":{"effect":"dream"}}]}')
    assert [w.code for w in log.to_r44().warnings][-1] == "not_r44"
