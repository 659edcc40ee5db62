"""Every real log proves itself, and any change of what a later request repeats is found."""

from __future__ import annotations

import copy
import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replay.proof import Line, Proof, prove
from rewyn_sdk import EffectLog

SHARED = Path(os.environ.get("REWYN_SHARED", Path(__file__).resolve().parents[3] / "shared"))
LOGS = sorted((SHARED / "data").glob("rig*/**/*.effects.json"))
HOOKED = {"hooks-guarded-bank": 2, "layers-fenced-ops": 1}
"""Logs in which hooks or layers did change something on its way, and how much."""


def load(name: str) -> dict[str, Any]:
    return json.loads(next(p for p in LOGS if p.name == f"{name}.effects.json").read_text())


def lines(records: list[Any]) -> list[Line]:
    return [Line(index + 1, str(r["id"]), r) for index, r in enumerate(records)]


def proof_of(log: dict[str, Any]) -> Proof:
    return prove(log["header"], lines(log["records"]))


def changed(log: dict[str, Any], seq: int, pointer: str, value: Any) -> dict[str, Any]:
    """A copy of the log in which one value of record `seq` is another."""
    log = copy.deepcopy(log)
    *steps, last = pointer.split("/")[1:]
    at = log["records"][seq - 1]
    for step in steps:
        at = at[int(step)] if isinstance(at, list) else at[step]
    at[int(last) if isinstance(at, list) else last] = value
    return log


@pytest.mark.skipif(not LOGS, reason=f"no real data at {SHARED}")
@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.name.removesuffix(".effects.json"))
def test_a_real_log_is_whole_and_faithful(path):
    proof = proof_of(json.loads(path.read_text()))
    assert (proof.whole, proof.faithful) == (True, True)
    name = path.name.removesuffix(".effects.json")
    assert len([f for f in proof.findings if f.explained]) == HOOKED.get(name, 0)


def test_what_no_later_request_mentions_is_unproven(shared):
    assert proof_of(load("refund-memory")).verdicts == {
        1: "proven", 2: "proven", 3: "proven", 4: "proven", 5: "proven",
        6: "unproven", 7: "proven", 8: "proven", 9: "unproven",
    }  # fmt: skip


CHANGES = [
    ("a tool result", "02-two-tools-memory", 3, "/outcome/Ok/result/value/0/value/celsius", 15),
    ("1 is not 1.0", "02-two-tools-memory", 3, "/outcome/Ok/result/value/0/value/celsius", 14.0),
    ("a call's argument", "02-two-tools-memory", 2,
     "/outcome/Ok/choice/0/function/arguments/city", "Rome"),
    ("an answer in an append", "02-two-tools-memory", 5, "/outcome/Ok/choice/0/text", "Stay in."),
    ("a loaded message", "02-two-tools-memory", 1,
     "/outcome/Ok/messages/0/content/0/text", "My name is Eve."),
    ("who answered", "order-status-chat", 1, "/outcome/Ok/origin/response_id", "chatcmpl-other"),
    ("a document", "kb-retrieval-strings", 4, "/outcome/Ok/results/1/2", "Ask somebody."),
    ("a document's number", "parts-retrieval-objects", 1, "/outcome/Ok/results/1/2/price", 24),
    ("a document's id", "kb-retrieval-strings", 1, "/outcome/Ok/results/0/1", "kb-5"),
    ("a found tool", "retrieved-tools", 1, "/outcome/Ok/results/0/1", "to_fahrenheit"),
    ("what a failed tool told", "04-retrieval-failing-tool", 3,
     "/outcome/Ok/result/value/model_output/0/text", "all is well"),
    ("an answer among many alike", "bulk-tagger-2000", 149, "/outcome/Ok/choice/0/text", "tag-16"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "seq", "pointer", "value"), [c[1:] for c in CHANGES],
                         ids=[c[0] for c in CHANGES])  # fmt: skip
def test_a_changed_outcome_is_found_where_it_is(shared, name, seq, pointer, value):
    proof = proof_of(changed(load(name), seq, pointer, value))
    found = [f for f in proof.findings if not f.explained]
    assert not proof.faithful
    assert (found[0].seq, found[0].path) == (seq, pointer)
    assert value in (found[0].expected, found[0].found)
    assert found[0].at_seq > seq


def test_the_same_change_behind_a_hook_is_explained(shared):
    log = changed(load("order-status-chat"), 2, "/outcome/Ok/result/value/0/value/state", "lost")
    assert not proof_of(log).faithful
    log["header"]["hooks"] = ["RedactResult"]
    assert proof_of(log).faithful
    assert proof_of(log).verdicts[2] == "explained"


def test_a_hook_that_only_adds_documents_explains_nothing(shared):
    log = load("kb-retrieval-strings")
    path = "/outcome/Ok/result/value/0/text"
    assert log["header"]["hooks"] == ["DynamicContext"]
    assert not proof_of(changed(log, 3, path, "no ticket")).faithful


@pytest.mark.parametrize("outcome", [None, {}, {"Ok": None}])
def test_a_missing_outcome_is_no_whole_log(shared, outcome):
    log = load("02-two-tools-memory")
    log["records"][4]["outcome"] = outcome
    proof = proof_of(log)
    assert (proof.whole, proof.faithful) == (False, False)
    assert [(f.kind, f.seq, f.path) for f in proof.findings] == [("not_recorded", 5, "/outcome")]


def test_a_removed_tool_record_is_missed(shared):
    log = load("02-two-tools-memory")
    del log["records"][2]
    found = proof_of(log).findings
    assert [(f.kind, f.seq, f.path) for f in found] == [("not_recorded", 2, "/outcome/Ok/choice/0")]


def test_swapped_documents_are_found(shared):
    log = load("kb-retrieval-strings")
    log["records"][0]["outcome"]["Ok"]["results"].reverse()
    found = proof_of(log).findings
    assert [(f.seq, f.path, f.at_path) for f in found] == [
        (1, "/outcome/Ok/results/0/1", "/kind/request/documents/0/id")
    ]


def test_a_load_that_lost_a_message_is_found(shared):
    log = load("02-two-tools-memory")
    del log["records"][0]["outcome"]["Ok"]["messages"][1]
    assert proof_of(log).findings[0].seq == 1


def test_a_header_that_contradicts_the_log_is_named(shared):
    log = load("02-two-tools-memory")
    log["header"]["required"]["demo/memory"] = "tool"
    found = proof_of(log).findings
    assert [(f.kind, f.found) for f in found] == [("header", "internal")]


def test_a_gap_is_said(shared):
    log = load("02-two-tools-memory")
    held = lines(log["records"])
    proof = prove(log["header"], [*held[:1], *held[3:]])
    assert "#2 to #3 are not here (yet)" in [f.text for f in proof.findings]


def leaves(value: Any, pointer: str) -> list[tuple[str, Any]]:
    if isinstance(value, dict):
        return [leaf for k, v in value.items() for leaf in leaves(v, f"{pointer}/{k}")]
    if isinstance(value, list):
        return [leaf for i, v in enumerate(value) for leaf in leaves(v, f"{pointer}/{i}")]
    return [(pointer, value)]


def other(value: Any) -> Any:
    return f"{value}x" if isinstance(value, str) else not value


@pytest.mark.skipif(not LOGS, reason=f"no real data at {SHARED}")
@given(data=st.data())
def test_any_text_of_a_proven_answer_or_result_is_held(data):
    name = data.draw(st.sampled_from(["refund-memory", "city-facts-anthropic-stream",
                                      "sql-analyst-responses", "local-call-ids"]))  # fmt: skip
    log = load(name)
    proven = [seq for seq, verdict in proof_of(log).verdicts.items() if verdict == "proven"]
    seq = data.draw(st.sampled_from(proven))
    ok = log["records"][seq - 1]["outcome"]["Ok"]
    held = {key: ok[key] for key in ("choice", "messages") if key in ok}
    held |= {"result": {"value": ok["result"]["value"]}} if "result" in ok else {}
    texts = [leaf for leaf in leaves(held, "/outcome/Ok") if isinstance(leaf[1], str | bool)]
    pointer, value = data.draw(st.sampled_from(texts or [("/outcome", None)]))
    proof = proof_of(changed(log, seq, pointer, other(value)))
    assert not proof.faithful


OLDER = Path(__file__).resolve().parents[2] / "sdk" / "tests" / "fixtures"


def older(name: str) -> tuple[dict[str, Any], str]:
    data = (OLDER / name / "log.effects.json").read_bytes()
    return json.loads(data), EffectLog.loads(data).shape


@pytest.mark.parametrize("name", ["d0-v1", "f1-v1", "f1-system-v1", "r43-v1", "r44d-v1"])
def test_every_older_shape_is_whole_and_faithful(name):
    log, shape = older(name)
    proof = prove(log["header"], lines(log["records"]), shape)
    assert (proof.whole, proof.faithful) == (True, True)


@pytest.mark.parametrize("name", ["d0-v1", "f1-v1", "r43-v1"])
def test_a_changed_tool_result_is_found_in_older_shapes(name):
    log, shape = older(name)
    log = changed(log, 2, "/outcome/Ok/result/value/0/value", 43)
    proof = prove(log["header"], lines(log["records"]), shape)
    assert [(f.seq, f.path, f.found) for f in proof.findings] == [
        (2, "/outcome/Ok/result/value/0/value", 42)
    ]
