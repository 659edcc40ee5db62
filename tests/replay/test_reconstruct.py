"""Reconstruct over stored runs: zero calls, the same document twice, and it can fail."""

from __future__ import annotations

import copy
import threading

import pytest
from django.db import connection

from replay import results
from replay.lease import Lease
from replay.models import ReplayEffect
from runs import ingest
from runs.accounts.models import Project
from runs.models import Effect, Run, Segment
from runs.storage import segments


def test_a_real_run_is_identical_and_faithful(store, read_log, reconstruct):
    replay = reconstruct(store(read_log("refund-memory")))
    assert (replay.status, replay.identical, replay.faithful) == ("succeeded", True, True)
    assert (replay.changed, replay.mismatches, replay.calls, replay.cost) == (0, [], 0, 0)
    assert (replay.done, replay.total) == (9, 9)


def test_it_says_what_the_log_cannot_prove(store, read_log, reconstruct):
    replay = reconstruct(store(read_log("refund-memory")))
    assert replay.proof["unproven"] == [6, 9]
    row = ReplayEffect.objects.get(replay=replay, seq=6)
    assert (row.proven, row.summary) == ("unproven", "no later request mentions it")


def test_it_gives_the_same_document_twice(store, read_log, reconstruct):
    run = store(read_log("refund-memory"))
    first, second = reconstruct(run), reconstruct(run)
    assert first.proof["document"]["blake2b"] == second.proof["document"]["blake2b"]
    assert first.proof["document"]["same_as_before"] is None
    assert second.proof["document"]["same_as_before"] is True


def test_a_changed_tool_result_is_named(store, read_log, reconstruct):
    log = copy.deepcopy(read_log("02-two-tools-memory"))
    log["records"][2]["outcome"]["Ok"]["result"]["value"][0]["value"]["celsius"] = 15
    replay = reconstruct(store(log))
    assert (replay.identical, replay.faithful, replay.changed) == (True, False, 1)
    found = replay.mismatches[0]
    assert (found["seq"], found["path"], found["expected"], found["found"]) == (
        3, "/outcome/Ok/result/value/0/value/celsius", 15, 14
    )  # fmt: skip
    assert ReplayEffect.objects.get(replay=replay, seq=3).difference == "facts"


def test_a_missing_outcome_is_neither_identical_nor_faithful(store, read_log, reconstruct):
    log = copy.deepcopy(read_log("02-two-tools-memory"))
    log["records"][4]["outcome"] = None
    replay = reconstruct(store(log))
    assert (replay.identical, replay.faithful) == (False, False)
    assert ReplayEffect.objects.get(replay=replay, seq=5).difference == "not_recorded"


def test_a_changed_byte_in_the_segment_is_found(store, read_log, reconstruct):
    run = store(read_log("02-two-tools-memory"))
    segment = Segment.objects.get(run=run)
    held = bytes(segment.data) + bytes(segment.rest or b"")
    data = segments.decompress(held).replace(b"Hello, Ada.", b"Hello, Eda.", 1)
    Segment.objects.update(data=segments.compress(data), rest=None)
    replay = reconstruct(run)
    assert (replay.identical, replay.faithful) == (False, False)
    found = replay.mismatches[0]
    assert (found["kind"], found["seq"]) == ("altered", 1)
    assert found["expected"] == Effect.objects.get(run=run, seq=1).content_hash


def test_what_a_hook_changed_is_told_apart(store, read_log, reconstruct):
    replay = reconstruct(store(read_log("hooks-guarded-bank")))
    assert (replay.faithful, replay.mismatches) == (True, [])
    assert [e["found"] for e in replay.proof["explanations"]] == [50000, "[redacted]"]
    assert replay.proof["explained"] == [1, 3]


def test_a_run_without_records_holds(store, read_log, reconstruct):
    replay = reconstruct(store(read_log("mute-denied")))
    assert (replay.identical, replay.faithful, replay.total) == (True, True, 0)


@pytest.mark.parametrize("text", ["a\x00b", "a\ud800b"])
def test_hard_strings_reach_the_report_in_a_form_any_database_takes(
    store, read_log, reconstruct, text
):
    log = copy.deepcopy(read_log("02-two-tools-memory"))
    log["records"][4]["outcome"]["Ok"]["choice"][0]["text"] = text
    found = reconstruct(store(log)).mismatches[0]
    assert found["expected"] in ("a␀b", "a\ufffdb")


@pytest.mark.django_db(transaction=True)
def test_reading_a_long_run_leaves_no_cursor_open_across_a_write(project, shared) -> None:
    """SQLite refuses a write at once when an open cursor's snapshot has become stale."""
    log = (shared / "data/rig/bulk-tagger-2000.effects.json").read_bytes()
    run = Run.objects.get(external_id=ingest.accept_log(project, log).run_id)
    records = segments.iter_records(run.pk)
    next(records)

    def write_elsewhere() -> None:
        Project.objects.filter(pk=project.pk).update(name="other")
        connection.close()

    other = threading.Thread(target=write_elsewhere)
    other.start()
    other.join()
    assert Project.objects.filter(pk=project.pk).update(name="mine") == 1
    assert sum(1 for _ in records) == 2000


def test_the_lease_is_renewed_while_a_long_proof_is_written(
    store, read_log, reconstruct, monkeypatch
):
    monkeypatch.setattr(results, "BATCH", 3)
    monkeypatch.setattr(Lease, "beat_seconds", 0)
    written = []
    beat = Lease.beat

    def beat_and_look(lease, **now) -> None:
        beat(lease, **now)
        written.append(ReplayEffect.objects.filter(replay=lease.replay).count())

    monkeypatch.setattr(Lease, "beat", beat_and_look)
    assert reconstruct(store(read_log("refund-memory"))).status == "succeeded"  # 9 effects
    assert [count for count in written if count] == [3, 6, 9]
