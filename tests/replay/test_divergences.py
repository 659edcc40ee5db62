"""Divergences arise by themselves, and follow what a replay holds."""

from __future__ import annotations

import pytest

from replay import jobs
from replay.comparison.differences import Difference
from replay.models import Cluster, Divergence, Replay, ReplayEffect, ReviewEvent
from replay.review import deciding
from replay.review.noting import note
from replay.review.people import Decider
from replay.review.turns import set_minimum
from runs import curate
from runs.models import Run

SAY = {"answer": {"text": "Take an umbrella."}}
BROKEN = {"error": {"status": 400, "message": "no such model"}}
ADA = Decider(None, "Ada")


@pytest.fixture
def replay(run, replay):
    """Of a run that is there."""
    return replay


def shown() -> list[tuple[int, str, str]]:
    found = Divergence.objects.order_by("pk")
    return list(found.values_list("seq", "difference", "state"))


def counts() -> list[int]:
    return list(Cluster.objects.order_by("pk").values_list("open_count", flat=True))


def again(replay: Replay) -> None:
    assert jobs.retry(replay)
    jobs.run_job(replay.public_id)


def test_every_difference_from_the_minimum_up_is_one(provider, replay, run):
    provider(SAY)
    replay()
    run.refresh_from_db()
    assert shown() == [(2, "tool_calls", "open"), (5, "facts", "open")]
    assert (run.to_review, counts()) == (2, [1, 1])


def test_a_project_says_from_which_class_on(provider, replay, project):
    provider(SAY)
    set_minimum(project.pk, Difference.TOOL_CALLS)
    replay()
    assert shown() == [(2, "tool_calls", "open")]


def test_what_is_the_same_is_none(provider, replay, reconstruct, run, read_log):
    reconstruct(run)
    calls = [r for r in read_log("02-two-tools-memory")["records"] if "request" in r["kind"]]
    provider({"answer": {"text": calls[1]["outcome"]["Ok"]["choice"][0]["text"]}})
    replay(effects=[5])
    run.refresh_from_db()
    assert (shown(), run.to_review) == ([], 0)


def test_replays_alike_are_one_cluster(provider, replay):
    provider(SAY)
    replay()
    replay(models=["anthropic:claude-c"])
    assert counts() == [2, 2]


def test_noting_again_changes_nothing(provider, replay):
    provider(SAY)
    done = replay()
    note(done)
    note(done)
    assert (len(shown()), counts(), ReviewEvent.objects.count()) == (2, [1, 1], 0)


def test_a_retry_says_what_it_gave(provider, replay, run):
    provider({"times": 1, "answer": BROKEN}, SAY)
    done = replay(effects=[5])
    assert shown() == [(5, "error", "open")]
    again(done)
    run.refresh_from_db()
    assert (shown(), run.to_review) == ([(5, "facts", "open")], 1)
    assert counts() == [0, 1]


def test_a_retry_that_mends_resolves(provider, replay, run, read_log):
    calls = [r for r in read_log("02-two-tools-memory")["records"] if "request" in r["kind"]]
    said = {"answer": {"text": calls[1]["outcome"]["Ok"]["choice"][0]["text"]}}
    provider({"times": 1, "answer": BROKEN}, said)
    again(replay(effects=[5]))
    run.refresh_from_db()
    assert (shown(), run.to_review, counts()) == ([(5, "error", "resolved")], 0, [0])


def test_a_verdict_outlives_a_retry(provider, replay, run):
    provider({"times": 1, "answer": BROKEN}, SAY)
    done = replay(effects=[5])
    judged = Divergence.objects.get()
    deciding.decide(judged, deciding.checked("regression", "down"), ADA, seen=0)
    again(done)
    judged.refresh_from_db()
    run.refresh_from_db()
    assert shown() == [(5, "error", "regression"), (5, "facts", "open")]
    assert (judged.is_current, judged.decision.reason, run.to_review) == (False, "down", 1)


def test_an_answer_that_stays_keeps_its_divergence(provider, replay):
    provider({"when": {"call": 1}, "times": 1, "answer": BROKEN}, SAY)
    done = replay()
    before = set(Divergence.objects.values_list("public_id", flat=True))
    again(done)
    assert set(Divergence.objects.values_list("public_id", flat=True)) == before


def test_what_ends_without_its_worker_is_noted_too(provider, replay, settings):
    provider(SAY)
    done = replay()
    Divergence.objects.all().delete()
    settings.REPLAY_MAX_ATTEMPTS = 1
    long_ago = done.created_at.replace(year=2020)
    Replay.objects.update(status="running", finished_at=None, heartbeat_at=long_ago)
    jobs.sweep()
    assert len(shown()) == 2


def test_what_a_log_contradicts_is_one(store, read_log, reconstruct):
    log = read_log("02-two-tools-memory")
    log["records"][2]["outcome"]["Ok"]["result"]["value"][0]["value"]["celsius"] = 15
    reconstruct(store(log, "bent"))
    assert shown() == [(3, "facts", "open")]
    assert Cluster.objects.get().cause == ["/outcome/Ok/result/value/*/value/celsius"]


def test_deleting_a_run_takes_them(provider, replay, store, read_log):
    provider(SAY)
    store(read_log("02-two-tools-memory"), "run-2")
    replay()
    replay("run-2")
    assert counts() == [2, 2]
    curate.delete_run(Run.objects.get(external_id="run-2"))
    assert (len(shown()), counts()) == (2, [1, 1])
    curate.delete_run(Run.objects.get(external_id="run-1"))
    assert (shown(), counts()) == ([], [])


def test_a_hidden_run_hides_them_until_it_is_back(provider, replay, run, project):
    provider(SAY)
    replay()
    at = curate.mark_deleted([run])
    assert counts() == [0, 0]
    curate.undelete(project, at)
    assert counts() == [1, 1]


def test_a_project_goes_with_all_of_it(provider, replay, project):
    from runs.accounts import people

    provider(SAY)
    replay()
    people.remove_project(project)
    assert (shown(), counts()) == ([], [])


def test_noting_costs_the_same_whatever_there_is(
    provider, store, read_log, replay, django_assert_max_num_queries
):
    provider(SAY)
    done = replay()
    rows = ReplayEffect.objects.filter(replay=done)
    row = rows.filter(difference="facts").defer(None).first()
    for seq in range(100, 200):
        row.pk, row.seq, row.cause = None, seq, [f"/text/{seq}"]
        row.save(force_insert=True)
    with django_assert_max_num_queries(25):
        note(done)
    assert len(counts()) == 102
