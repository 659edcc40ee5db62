"""The row is the truth: rings, twins, lost workers, cancels and retries."""

from __future__ import annotations

import threading
from datetime import timedelta

import pytest
from django.core.management import call_command
from django.db import IntegrityError, connection, transaction
from django.utils import timezone

from replay import jobs, results
from replay.lease import Lost
from replay.models import Experiment, Replay, ReplayEffect
from replay.outcome import Outcome
from runs import at_work
from runs.models import Segment
from runs.refusals import Refused


@pytest.fixture
def job(run, rung) -> Replay:
    return jobs.create_job(run=run, mode="reconstruct", plan={})[0]


def again(replay: Replay) -> Replay:
    return Replay.objects.get(pk=replay.pk)


def age(replay: Replay, seconds: float = 3600) -> None:
    Replay.objects.filter(pk=replay.pk).update(
        heartbeat_at=timezone.now() - timedelta(seconds=seconds)
    )


def in_flight(replay: Replay, seq: int, attempt: int = 1, **columns) -> ReplayEffect:
    return ReplayEffect.objects.create(
        replay=replay, seq=seq, state="in_flight", attempt=attempt, calls=1, **columns
    )


def test_creating_rings_after_the_commit(run, rung, django_capture_on_commit_callbacks):
    with django_capture_on_commit_callbacks(execute=True):
        replay, created = jobs.create_job(run=run, mode="reconstruct", plan={})
        assert rung == []
    assert (rung, created, replay.status) == ([replay.public_id], True, "queued")


def test_asking_twice_gives_one_job(run, job):
    same, created = jobs.create_job(run=run, mode="reconstruct", plan={})
    assert (same.pk, created) == (job.pk, False)


def test_a_question_may_be_asked_again_when_it_is_over(run, job):
    jobs.run_job(job.public_id)
    assert jobs.create_job(run=run, mode="reconstruct", plan={})[1] is True


def test_ids_sort_by_the_time_they_were_made(run, job):
    jobs.cancel(job)
    later, _ = jobs.create_job(run=run, mode="reconstruct", plan={})
    assert later.public_id[:13] >= job.public_id[:13]
    assert job.public_id.startswith("rp_")


def test_a_deaf_broker_loses_no_job(run, monkeypatch, django_capture_on_commit_callbacks):
    def refuse(*args, **options):
        raise OSError("no broker")

    monkeypatch.setattr(jobs.current_app, "send_task", refuse)
    with django_capture_on_commit_callbacks(execute=True):
        replay, _ = jobs.create_job(run=run, mode="reconstruct", plan={})
    assert again(replay).status == "queued"


def test_five_deliveries_do_one_job(job):
    assert [jobs.run_job(job.public_id) for _ in range(5)] == [True, False, False, False, False]
    assert again(job).attempt == 1


def test_only_one_of_two_claims_wins(job):
    assert jobs.claim(job.public_id) is not None
    assert jobs.claim(job.public_id) is None


def test_a_late_twin_finishes_nothing(job):
    late = jobs.claim(job.public_id)
    age(job)
    jobs.sweep()
    now = jobs.claim(job.public_id)
    assert jobs.finish(late, Outcome("succeed", {"identical": True})) is False
    assert again(job).status == "running"
    assert jobs.finish(now, Outcome("succeed", {"identical": False})) is True
    assert again(job).identical is False


def test_a_claim_that_comes_to_itself_late_has_nothing(job, monkeypatch):
    """Stopped between its UPDATE and its look at the row, it would read another's attempt."""
    objects, others = jobs.statements.objects, []

    def after_another_claim(model, *args, **named):
        if model is Replay and not others:
            others.append(None)
            age(job)
            jobs.sweep()
            others.append(jobs.claim(job.public_id))
        return objects(model, *args, **named)

    monkeypatch.setattr(jobs.statements, "objects", after_another_claim)
    assert jobs.claim(job.public_id) is None
    assert (others[1].attempt, again(job).attempt, again(job).status) == (2, 2, "running")


def test_a_late_twin_takes_no_row_back(job):
    late = jobs.claim(job.public_id)
    age(job)
    jobs.sweep()
    now = jobs.claim(job.public_id)
    row = in_flight(job, 1, attempt=now.attempt, calls_allowed=3)
    results.take_over(late)
    results.forget_rows(late)
    assert results.answer(now, row.pk, summary="paid for") is True
    assert ReplayEffect.objects.get().interruptions == 0


def test_a_late_twin_loses_its_lease(job):
    late = jobs.claim(job.public_id)
    age(job)
    jobs.sweep()
    jobs.claim(job.public_id)
    with pytest.raises(Lost):
        late.beat(now=True)


def test_a_lost_worker_s_calls_are_shown_as_interrupted(job, rung):
    jobs.claim(job.public_id)
    row = in_flight(job, 2)
    age(job)
    jobs.sweep()
    row.refresh_from_db()
    assert (row.state, row.interruptions) == ("interrupted", 1)
    assert (again(job).status, rung) == ("queued", [job.public_id])


@pytest.mark.django_db(transaction=True)
def test_who_claims_what_was_taken_back_has_no_call_of_its_own_interrupted(job, monkeypatch):
    """It may be there before the sweep has shown the calls of the lost worker as interrupted."""
    jobs.claim(job.public_id)
    row = in_flight(job, 2, calls_allowed=4)
    age(job)
    interrupt, leases = results.interrupt, []

    def take_over() -> None:
        lease = None
        while lease is None:
            lease = jobs.claim(job.public_id)
        results.take_over(lease)
        assert results.ask(lease, row.pk, b"")
        leases.append(lease)
        connection.close()

    another = threading.Thread(target=take_over)

    def beside_another(rows):
        if not another.ident:
            another.start()
            another.join(1)
        return interrupt(rows)

    monkeypatch.setattr(results, "interrupt", beside_another)
    jobs.sweep()
    another.join(20)
    row.refresh_from_db()
    assert (row.state, row.attempt, row.interruptions) == ("in_flight", 2, 1)
    assert results.answer(leases[0], row.pk, summary="paid for") is True


@pytest.mark.parametrize("cancelled", [False, True])
def test_a_worker_of_what_was_given_up_stores_what_comes_and_asks_nothing(job, settings, cancelled):
    settings.REPLAY_MAX_ATTEMPTS = 2 if cancelled else 1
    lease = jobs.claim(job.public_id)
    out, next_one = in_flight(job, 2, calls_allowed=4), in_flight(job, 5, calls_allowed=4)
    results.put_off(lease, next_one.pk)
    if cancelled:
        jobs.cancel(job)
    age(job)
    jobs.sweep()
    assert again(job).status == ("cancelled" if cancelled else "failed")
    assert results.ask(lease, next_one.pk, b"") is False
    assert not ReplayEffect.objects.filter(state="in_flight").exists()
    assert results.answer(lease, out.pk, summary="late") is True
    assert jobs.retry(again(job)) is True
    results.take_over(now := jobs.claim(job.public_id))
    assert results.ask(now, next_one.pk, b"") is True


def test_a_living_worker_is_left_alone(job):
    jobs.claim(job.public_id)
    jobs.sweep()
    assert again(job).status == "running"


def test_a_job_that_kills_every_worker_is_given_up(job, settings):
    settings.REPLAY_MAX_ATTEMPTS = 2
    for _ in range(2):
        jobs.claim(job.public_id)
        age(job)
        jobs.sweep()
    assert (again(job).status, again(job).error_code) == ("failed", "workers_lost")


def test_a_sweep_rings_for_an_experiment_as_often_as_there_are_threads(
    run, rung, project, settings
):
    """And behind its many replays a single one is heard all the same."""
    settings.CELERY_WORKER_CONCURRENCY = 2
    experiment = Experiment.objects.create(project=project, fingerprint="x")
    many = [
        Replay(
            project=project, run=run, experiment=experiment, mode="reconstruct", fingerprint=str(n)
        )
        for n in range(30)
    ]
    jobs.queue_all(many)
    single, _ = jobs.create_job(run=run, mode="reconstruct", plan={})
    jobs.sweep()
    assert sorted(rung) == sorted([single.public_id, many[0].public_id, many[1].public_id])


@pytest.fixture
def held(job):
    """A replay with a call in flight, whose worker said a moment ago that it is there."""
    lease = jobs.claim(job.public_id)
    in_flight(job, 1)
    yield lease
    at_work.rest_here()


def test_a_start_takes_nothing_from_a_worker_that_is_there(held):
    jobs.sweep(fresh=True)
    assert again(held.replay).status == "running"


def test_a_start_waits_for_no_lease_of_a_worker_that_is_gone(held):
    """Only SQLite has a machine to itself, where nobody else can be."""
    at_work.rest_here()
    jobs.sweep(fresh=True)
    after = {"sqlite": ("queued", "interrupted"), "postgresql": ("running", "in_flight")}
    state = ReplayEffect.objects.get(replay=held.replay).state
    assert (again(held.replay).status, state) == after[connection.vendor]


def test_a_sweep_while_it_runs_waits_for_the_lease(held):
    at_work.rest_here()
    jobs.sweep()
    assert again(held.replay).status == "running"


def test_the_sweeper_rings_again_but_not_at_once(job, rung):
    jobs.sweep()
    jobs.sweep()
    assert rung == [job.public_id]
    Replay.objects.update(rung_at=timezone.now() - timedelta(seconds=11))
    jobs.sweep()
    assert rung == [job.public_id] * 2


def test_an_answer_that_comes_late_counts_while_nobody_took_over(job):
    lease = jobs.claim(job.public_id)
    row = in_flight(job, 2)
    age(job)
    jobs.sweep()
    assert results.answer(lease, row.pk, summary="late") is True
    row.refresh_from_db()
    assert (row.state, row.summary) == ("answered", "late")


def test_an_answer_of_a_lost_worker_changes_nothing_after_the_take_over(job):
    late = jobs.claim(job.public_id)
    row = in_flight(job, 2, calls_allowed=4)
    age(job)
    jobs.sweep()
    results.take_over(jobs.claim(job.public_id))
    assert results.answer(late, row.pk, summary="late") is False
    assert results.ask(late, row.pk, b"") is False


def test_a_stored_answer_is_never_asked_again(job):
    lease = jobs.claim(job.public_id)
    row = in_flight(job, 2, calls_allowed=4)
    results.answer(lease, row.pk)
    assert results.ask(lease, row.pk, b"") is False


def test_no_call_beyond_what_the_plan_allowed(job):
    lease = jobs.claim(job.public_id)
    row = in_flight(job, 2, calls_allowed=1)
    results.put_off(lease, row.pk)
    assert results.ask(lease, row.pk, b"") is False


def test_cancelling_a_queued_job_ends_it(job):
    assert jobs.cancel(job) is True
    assert again(job).status == "cancelled"
    assert jobs.run_job(job.public_id) is False


def test_cancelling_a_running_job_is_seen_by_its_worker(job):
    lease = jobs.claim(job.public_id)
    assert jobs.cancel(job) is True
    lease.beat(now=True)
    assert lease.cancelled is True
    jobs.finish(lease, Outcome("succeed"))
    assert again(job).status == "cancelled"


def test_cancelling_a_job_whose_worker_died_ends_it(job):
    jobs.claim(job.public_id)
    jobs.cancel(job)
    age(job)
    jobs.sweep()
    assert again(job).status == "cancelled"


def test_what_is_over_cannot_be_cancelled(job):
    jobs.run_job(job.public_id)
    assert jobs.cancel(job) is False


def test_retry_keeps_answers_and_renews_the_rest(job):
    lease = jobs.claim(job.public_id)
    kept, lost = in_flight(job, 2), in_flight(job, 5, calls_allowed=1)
    results.answer(lease, kept.pk)
    results.refuse(lease, lost.pk, code="provider_error", text="no")
    jobs.finish(lease, Outcome("part"))
    Replay.objects.update(plan={"calls": {"attempts_per_call": 3}})
    assert jobs.retry(again(job)) is True
    rows = ReplayEffect.objects.order_by("seq").values_list("state", "calls", "calls_allowed")
    assert list(rows) == [("answered", 1, 0), ("pending", 1, 4)]


def test_what_runs_or_succeeded_is_not_retried(job):
    assert jobs.retry(job) is False
    jobs.run_job(job.public_id)
    assert jobs.retry(again(job)) is False


def test_a_run_deleted_under_its_replay_ends_it_quietly(run, job, monkeypatch, caplog):
    def find_it_gone(lease):
        run.delete()
        raise Segment.DoesNotExist

    monkeypatch.setitem(jobs.MODES, "reconstruct", find_it_gone)
    assert jobs.run_job(job.public_id)
    assert not Replay.objects.filter(pk=job.pk).exists()
    assert [(record.message, record.exc_info) for record in caplog.records] == [
        ("replay.lost", None)
    ]


def test_a_mode_that_breaks_fails_its_job_with_the_reason(job, monkeypatch):
    monkeypatch.setitem(jobs.MODES, "reconstruct", lambda lease: 1 / 0)
    jobs.run_job(job.public_id)
    assert (again(job).status, again(job).error_code) == ("failed", "internal_error")
    assert "ZeroDivisionError" in again(job).error_text


def test_a_mode_that_refuses_names_why(job, monkeypatch):
    def refuse(lease):
        raise Refused("missing_key", "OPENAI_API_KEY is not set")

    monkeypatch.setitem(jobs.MODES, "reconstruct", refuse)
    jobs.run_job(job.public_id)
    assert (again(job).error_code, again(job).error_text) == (
        "missing_key", "OPENAI_API_KEY is not set"
    )  # fmt: skip


def test_run_jobs_drains_the_queue_without_a_broker(job, capsys):
    call_command("run_jobs")
    assert again(job).status == "succeeded"
    assert capsys.readouterr().out == "1 replays done\n"


def test_sweep_jobs_rings_for_what_waits(job, rung, capsys):
    call_command("sweep_jobs")
    assert (rung, capsys.readouterr().out) == ([job.public_id], "1 replays touched\n")


@pytest.mark.parametrize(
    "columns",
    [
        {"status": "odd"},
        {"status": "succeeded"},
        {"mode": "prompt"},
        {"finished_at": timezone.now()},
    ],
)
def test_the_database_refuses_rows_that_cannot_be(job, columns):
    with pytest.raises(IntegrityError), transaction.atomic():
        Replay.objects.filter(pk=job.pk).update(**columns)
