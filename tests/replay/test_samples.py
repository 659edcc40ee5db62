"""A call asked several times: each answer kept, the row the worst, nothing asked again."""

from __future__ import annotations

import threading
from decimal import Decimal

import factories
import pytest

from replay import jobs
from replay.ignore_rules import applying, keeping
from replay.models import Divergence, Replay, ReplayEffect, ReplaySample
from replay.modes import prompt, samples
from replay.providers import send
from replay.questions import read_question
from replay.review.people import Decider
from replay.start import plans, start
from runs.models import Run
from runs.refusals import Refused

USED = {"input_tokens": 1000, "output_tokens": 100, "total_tokens": 1100}
SAME, OTHER = {"answer": {"text": "It is 5 EUR."}}, {"answer": {"text": "It is 7 EUR."}}
USING = {"answer": {"text": "It is 5 EUR.", "usage": {"input": 1000, "output": 100}}}
BUSY = {"answer": {"error": {"status": 500, "message": "try again"}}}
BROKEN = {"answer": {"error": {"status": 400, "message": "no"}}}


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch):
    monkeypatch.setattr("replay.modes.prompt.next_wait", _at_once)


def _at_once(attempt, error, *, most, jitter):
    return 0.0 if error.retryable and attempt < most else None


@pytest.fixture
def run(store) -> Run:
    said = [factories.completion(n, f"Hi {n}", "It is 5 EUR.", usage=USED) for n in (1, 2)]
    return store(factories.log(*said))


def asked(run: Run, **body) -> Replay:
    question = read_question({"run": "run-1", "models": ["openai:gpt-4o"], **body})
    return start(run, question, jobs.Asker()).replays[0]


def done(replay: Replay) -> Replay:
    jobs.run_job(replay.public_id)
    return Replay.objects.get(pk=replay.pk)


def test_the_plan_counts_every_sample(run, provider):
    provider(SAME)
    question = read_question({"run": "run-1", "models": ["openai:gpt-4o"], "samples": 5})
    [one] = plans(run, question)
    assert (one.plan["total"], one.plan["calls"]["total"], one.plan["calls"]["at_most"]) == (
        2,
        10,
        40,
    )
    # gpt-4o: $2.50 and $10 a million tokens, 0.0035 a call
    assert one.plan["cost"]["estimate"] == pytest.approx(0.035)
    assert one.plan["tokens"] == {"input": 10_000, "output": 1000, "complete": True}


@pytest.mark.parametrize("wrong", [0, 21, 1.5, "2", True])
def test_a_number_of_samples_that_cannot_be_is_refused(wrong):
    with pytest.raises(Refused) as refused:
        read_question({"run": "r", "samples": wrong})
    assert refused.value.field == "samples"


def test_the_row_is_the_worst_and_says_the_spread(run, provider, api, settings):
    settings.REPLAY_PARALLEL_CALLS = 1
    fake = provider({"times": 2, **SAME}, {"times": 1, **OTHER}, SAME)
    replay = done(asked(run, samples=4, effects=[1]))
    row = replay.rows.get()
    assert (row.difference, row.spread, len(fake.asked)) == ("facts", {"same": 3, "facts": 1}, 4)
    assert (replay.status, replay.changed, replay.total, replay.calls) == ("succeeded", 1, 1, 4)
    [told] = api("GET", f"/api/v1/replays/{replay.public_id}/effects").json()["results"]
    assert (told["samples"], told["spread"]) == (4, {"same": 3, "facts": 1})
    address = f"/api/v1/replays/{replay.public_id}/effects/1/samples"
    kept = api("GET", address).json()["results"]
    assert [one["class"] for one in kept] == ["same", "same", "facts", "same"]
    assert kept[2]["answer"]["text"] == "It is 7 EUR."
    assert len({one["replayed"]["request_id"] for one in kept}) == 4
    assert Divergence.objects.get().difference == "facts"


def test_tokens_and_cost_are_of_all_and_the_recording_counts_as_often(run, provider):
    provider(USING)
    replay = done(asked(run, samples=3))
    assert (replay.input_tokens, replay.original_input_tokens) == (6000, 6000)
    assert float(replay.cost) == float(replay.original_cost) == pytest.approx(6 * 0.0035)
    row = replay.rows.first()
    times = sorted(one.latency_ms for one in samples.kept(row))
    assert (row.latency_ms, row.input_tokens) == (times[1], 3000)


def test_what_is_stored_is_not_asked_again_by_the_next_worker(run, provider, monkeypatch):
    fake = provider(SAME)
    replay = asked(run, samples=3, effects=[1])
    store = samples.together
    monkeypatch.setattr(samples, "together", _die)
    jobs.run_job(replay.public_id)
    monkeypatch.setattr(samples, "together", store)
    assert (ReplaySample.objects.count(), len(fake.asked)) == (2, 3)
    Replay.objects.update(status="queued", finished_at=None)
    ReplayEffect.objects.update(state="interrupted", error_code="", difference="")
    assert done(replay).status == "succeeded"
    assert (ReplaySample.objects.count(), len(fake.asked)) == (3, 4)


def test_the_bar_of_a_running_replay_counts_samples_as_its_text_does(
    run, provider, monkeypatch, member_client
):
    provider(SAME)
    replay = asked(run, samples=5, effects=[1])
    monkeypatch.setattr(samples, "together", _die)
    jobs.run_job(replay.public_id)
    Replay.objects.update(status="running", finished_at=None)
    ReplayEffect.objects.update(state="pending", error_code="", difference="")
    page = member_client.get(f"/p/acme/replays/{replay.public_id}").text
    assert '<rect width="80%"' in page and "4 of 5 samples done, 5 calls made" in page


def _die(kept):
    raise RuntimeError("the worker dies between an answer and its storing")


def test_each_sample_has_the_attempts_of_a_call(run, provider, settings):
    settings.REPLAY_CALL_ATTEMPTS, settings.REPLAY_PARALLEL_CALLS = 2, 1
    fake = provider(
        {"times": 1, **BUSY}, {"times": 1, **SAME}, {"times": 1, **BUSY}, {"times": 1, **SAME}
    )
    replay = done(asked(run, samples=2, effects=[1]))
    assert (replay.status, len(fake.asked), replay.rows.get().calls) == ("succeeded", 4, 4)


def test_a_sample_that_fails_keeps_those_before_it_and_is_asked_again_alone(
    run, provider, settings
):
    settings.REPLAY_PARALLEL_CALLS = 1
    fake = provider({"times": 2, **SAME}, {"times": 1, **BROKEN}, SAME)
    replay = done(asked(run, samples=4, effects=[1]))
    row = replay.rows.get()
    assert (row.state, row.difference, row.spread) == ("failed", "error", {"same": 2, "error": 1})
    assert jobs.retry(replay)
    assert (done(replay).status, len(fake.asked)) == ("succeeded", 5)
    row.refresh_from_db()
    assert (row.difference, row.spread, row.error_code) == ("same", {"same": 4}, "")


def test_samples_of_a_call_are_asked_beside_each_other(run, provider, monkeypatch):
    provider(SAME)
    together = threading.Barrier(4, timeout=60)
    monkeypatch.setattr(prompt, "send", lambda *a, **k: together.wait() * 0 or send(*a, **k))
    replay = done(asked(run, samples=4, effects=[1]))
    assert (replay.status, replay.calls, replay.rows.get().spread) == ("succeeded", 4, {"same": 4})
    assert [one.number for one in samples.kept(replay.rows.get())] == [1, 2, 3, 4]


def test_of_those_asked_together_one_that_fails_takes_no_other_along(run, provider):
    fake = provider({"times": 1, **BROKEN}, {"times": 2, **USING}, {"times": 1, **BUSY}, USING)
    replay = done(asked(run, samples=4, effects=[1]))
    row = replay.rows.get()
    assert (row.state, row.error_code, row.spread) == (
        "failed",
        "http_400",
        {"same": 2, "error": 1},
    )
    assert (replay.status, replay.input_tokens, len(fake.asked)) == ("partial", 2000, 4)
    assert jobs.retry(replay)
    assert (done(replay).status, len(fake.asked)) == ("succeeded", 6)


def test_those_that_are_to_be_asked_again_are_asked_alone(run, provider):
    fake = provider({"times": 2, **BUSY}, SAME)
    replay = done(asked(run, samples=4, effects=[1]))
    row = replay.rows.get()
    assert (replay.status, row.spread, row.calls) == ("succeeded", {"same": 4}, 6)
    assert len(fake.asked) == 6


def test_one_sample_is_a_replay_as_it_was(run, provider):
    provider(SAME)
    replay = done(asked(run, samples=1))
    assert (replay.controls, ReplaySample.objects.count()) == ({}, 0)
    assert replay.rows.first().spread == {}


def test_strict_stops_when_a_call_is_through(run, provider):
    fake = provider(OTHER)
    replay = done(asked(run, samples=2, strict=True, effects=[1]))
    assert (replay.rows.get().spread, len(fake.asked)) == ({"facts": 2}, 2)


def test_samples_of_a_call_that_was_not_asked_to_its_end_are_in_the_sums(
    run, provider, settings, member_client
):
    """Three of the first call and one of the second are out; then the first is through, and
    differs."""
    settings.REPLAY_PARALLEL_CALLS = 4
    first = {"text": "It is 7 EUR.", "usage": {"input": 1000, "output": 100}}
    fake = provider(
        {"when": {"contains": "Hi 1"}, "delay_ms": 400, "answer": first},
        {"times": 1, **USING},
        {"delay_ms": 800, **USING},
    )
    replay = done(asked(run, samples=3, strict=True))
    assert (replay.status, replay.error_code) == ("partial", "stopped_at_difference")
    came = len(fake.asked)
    assert 3 < came < 6 and ReplaySample.objects.count() == came
    assert (replay.input_tokens, replay.output_tokens) == (came * 1000, came * 100)
    assert (replay.cost, replay.tokens_complete, replay.cost_complete) == (
        came * Decimal("0.0035"),
        False,
        False,
    )
    assert replay.original_input_tokens == came * 1000
    assert "1 of 2 calls were not asked to the end." in replay.error_text
    page = member_client.get(f"/p/acme/replays/{replay.public_id}?at=2").text
    assert f"{came - 3} of 3 samples came. It was not asked again." in page
    assert "The first of the worst answers" not in page
    left = 6 - came
    assert f"at most {left * 4} with every retry" in page
    assert jobs.retry(replay)
    row = replay.rows.get(seq=2)
    assert row.calls_allowed - row.calls == left * 4


def test_the_page_steps_through_samples(run, provider, member_client, settings):
    settings.REPLAY_PARALLEL_CALLS = 1
    provider({"times": 1, **SAME}, OTHER)
    replay = done(asked(run, samples=2, effects=[1]))
    address = f"/p/acme/replays/{replay.public_id}?at=1"
    page = member_client.get(address).text
    assert "of 2 samples 1 same, 1 facts" in page and "It is <ins>7</ins> EUR." in page
    first = member_client.get(f"{address}&sample=1").text
    assert "<ins>" not in first and "sample=1" in first
    body = f"/p/acme/replays/{replay.public_id}/effects/1/response?sample=1"
    assert "It is 5 EUR." in member_client.get(body).text
    assert member_client.get(body.replace("sample=1", "sample=9")).status_code == 404


def test_the_form_says_how_many_calls_samples_make(run, provider, member_client):
    provider(SAME)
    address = "/p/acme/runs/run-1/replay"
    page = member_client.get(f"{address}?model=openai:gpt-4o&samples=5").text
    assert "2 × 5 samples" in page and "Start 10 calls" in page
    made = member_client.post(address, {"model": "openai:gpt-4o", "samples": "3"})
    assert made.status_code == 302
    assert Replay.objects.get().controls == {"samples": 3}
    assert "from 1 to 20" in member_client.get(f"{address}?model=openai:a&samples=50").text


def test_the_form_of_an_experiment_takes_samples(run, provider, member_client):
    provider(SAME)
    address = "/p/acme/experiments/new?run=run-1&model=openai:a&samples="
    assert "Start 8 calls" in member_client.get(f"{address}4").text
    assert "from 1 to 20" in member_client.get(f"{address}99").text


def test_rules_are_applied_to_every_sample(run, provider, project, settings):
    settings.REPLAY_PARALLEL_CALLS = 1
    provider({"times": 1, **SAME}, OTHER)
    replay = done(asked(run, samples=2, effects=[1]))
    keeping.add(project, {"name": "amounts", "pattern": "[0-9]+ EUR"}, "Ada")
    applied = applying.apply(project, Decider(None, "Ada"))
    row = replay.rows.get()
    assert (applied.silenced, row.difference, row.ignored_difference) == (1, "equivalent", "facts")
    assert [(one.difference, one.ignored_difference) for one in samples.kept(row)] == [
        ("same", ""),
        ("equivalent", "facts"),
    ]
    assert Divergence.objects.get().state == "resolved"


def test_an_experiment_takes_samples_too(run, provider, api):
    fake = provider(USING)
    body = {"runs": ["run-1"], "models": ["openai:gpt-4o"], "samples": 3}
    made = api("POST", "/api/v1/experiments", factories.body(body)).json()
    assert made["plan"]["calls"]["total"] == 6
    jobs.run_job(Replay.objects.get().public_id)
    [found] = api("GET", f"/api/v1/experiments/{made['id']}").json()["candidates"]
    assert (len(fake.asked), found["same_share"], found["calls"]) == (6, 1.0, 2)
    assert found["cost_ratio"] == 1.0


def test_samples_that_were_paid_for_count_though_a_later_one_failed(run, provider):
    provider({"times": 2, **USING}, BROKEN)
    replay = done(asked(run, samples=3, effects=[1]))
    assert (replay.status, replay.error_code) == ("partial", "calls_failed")
    assert (replay.input_tokens, replay.output_tokens) == (2000, 200)
    assert (replay.original_input_tokens, replay.original_output_tokens) == (2000, 200)
    assert (replay.tokens_complete, replay.cost_complete) == (False, False)
    assert (replay.original_tokens_complete, replay.original_cost_complete) == (False, False)
    # gpt-4o: $2.50 and $10 a million tokens, 0.0035 a call
    assert float(replay.cost) == pytest.approx(0.007)
