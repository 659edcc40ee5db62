"""A replay that is stopped ends soon, whatever its provider does; what it paid for is stored."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta

import factories
import pytest
from django.db import connections
from django.utils import timezone
from workers import until

from replay import jobs
from replay.lease import stop
from replay.models import Cell, Divergence, Replay, ReplayEffect, ReplaySample
from replay.modes import prompt
from replay.questions import read_question
from replay.start import start

LATE = {"when": {"contains": "Hi 2"}, "answer": {"text": "At last: $7."}}
SAY = {"answer": {"text": "Hello"}}
SOON = 10.0
"""Seconds, on a machine that has other things to do; the provider hangs for longer."""


@pytest.fixture
def calls(transactional_db, store, rung):
    """A run of three model calls."""
    return store(factories.log(*(factories.completion(n, f"Hi {n}") for n in (1, 2, 3))), "r")


@pytest.fixture
def held(monkeypatch) -> Iterator[threading.Event]:
    """Every call that says "Hi 2" hangs until this is set."""
    come, ask, passes = threading.Event(), prompt.send, list[bool]()
    come.lets_through = passes

    def send(call, **how):
        if b"Hi 2" in call.request_bytes and not passes:
            come.wait(60)
        return ask(call, **how)

    monkeypatch.setattr(prompt, "send", send)
    yield come
    come.set()


def asked(run, *models: str, **body) -> list[Replay]:
    question = read_question({"run": run.external_id, "models": list(models), **body})
    return list(start(run, question, jobs.Asker()).replays)


def rows_of(replay: Replay) -> list[tuple[int, str]]:
    rows = ReplayEffect.objects.filter(replay=replay).order_by("seq")
    return list(rows.values_list("seq", "state"))


def now(replay: Replay) -> Replay:
    return Replay.objects.get(pk=replay.pk)


@contextmanager
def at_work(replay: Replay, held: threading.Event):
    """The replay is done on a thread beside."""

    def work() -> None:
        try:
            jobs.run_job(replay.public_id)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(1) as pool:
        doing = pool.submit(work)
        try:
            yield doing
        finally:
            held.set()
            doing.result(30)


def stop_in_flight(call, replay: Replay, states: list[str]) -> float:
    """Stopped by the API when its calls are as named; how long it took to end."""
    until(lambda: [state for _, state in rows_of(replay)] == states)
    began = time.monotonic()
    status, told = call("POST", f"replays/{replay.public_id}/cancel")
    assert (status, told["status"]) == (200, "cancelling")
    assert told["waits"]["message"] == "stopping: calls in flight have a moment to end"
    until(lambda: now(replay).status == "cancelled")
    return time.monotonic() - began


def test_it_ends_soon_and_an_answer_that_comes_late_is_stored(
    calls, held, provider, call, member_client
):
    provider(LATE, SAY)
    [replay] = asked(calls, "openai:gpt-4o")
    with at_work(replay, held):
        took = stop_in_flight(call, replay, ["answered", "in_flight", "answered"])
        assert took < SOON
        assert rows_of(replay) == [(1, "answered"), (2, "interrupted"), (3, "answered")]
        told = call("GET", f"replays/{replay.public_id}")[1]
        text = "Stopped while calls were in flight: 1 of 3 calls have no answer."
        assert told["error"] == {"code": "not_all_asked", "message": text}
        assert told["waits"]["code"] == "late"
        page = member_client.get(f"{told['url']}?at=2")
        shown = page.content.decode()
        assert f"{text} 1 call in flight may still be answered, for " in shown
        assert "The replay was stopped during the call; an answer that still comes is" in shown
        assert 'hx-trigger="every 1s"' in shown
        live = {"HX-Request": "true", "HX-Target": "live"}
        assert member_client.get(told["url"], headers=live).status_code == 200
    over = call("GET", f"replays/{replay.public_id}")[1]
    assert (over["status"], over["error"], over["waits"]) == ("cancelled", None, None)
    assert (over["progress"]["done"], over["changed"], over["states"]["answered"]) == (3, 1, 3)
    assert Divergence.objects.get().seq == 2
    assert member_client.get(told["url"], headers=live).status_code == 286


def test_of_an_experiment_the_cell_has_it_too(calls, held, provider, call):
    provider(LATE, SAY)
    first, second = asked(calls, "openai:a", "openai:b")
    with at_work(first, held):
        until(lambda: [s for _, s in rows_of(first)] == ["answered", "in_flight", "answered"])
        began = time.monotonic()
        call("POST", f"experiments/{first.experiment.public_id}/cancel")
        until(lambda: now(first).status == "cancelled")
        assert time.monotonic() - began < SOON
        assert now(second).status == "cancelled"
        cell = until(lambda: Cell.objects.filter(replay=first, ended="cancelled").first())
        assert (cell.same, cell.facts) == (2, 0)
    cell.refresh_from_db()
    assert (cell.same, cell.facts, cell.ended) == (2, 1, "cancelled")


def test_samples_that_come_late_are_kept(calls, held, provider, call):
    provider(LATE, SAY)
    [replay] = asked(calls, "openai:gpt-4o", effects=[2], samples=3)
    with at_work(replay, held):
        assert stop_in_flight(call, replay, ["in_flight"]) < SOON
        assert rows_of(replay) == [(2, "interrupted")]
    assert rows_of(replay) == [(2, "answered")]
    assert ReplaySample.objects.count() == 3
    assert (now(replay).status, now(replay).calls) == ("cancelled", 3)


def test_who_asks_again_meanwhile_is_told_what_it_costs_and_gets_an_answer(
    calls, held, provider, call, member_client
):
    fake = provider(LATE, SAY)
    [replay] = asked(calls, "openai:gpt-4o")
    with at_work(replay, held):
        stop_in_flight(call, replay, ["answered", "in_flight", "answered"])
        page = member_client.get(f"/p/acme/replays/{replay.public_id}").content.decode()
        assert "what is in flight would be paid for twice" in page
        assert call("POST", f"replays/{replay.public_id}/retry")[0] == 200
        held.lets_through.append(True)
        jobs.run_job(replay.public_id)
        [row] = ReplayEffect.objects.filter(replay=replay, seq=2)
        assert (now(replay).status, row.state, row.calls) == ("succeeded", "answered", 2)
    again = ReplayEffect.objects.get(replay=replay, seq=2)  # the first answer has come meanwhile
    assert (again.answered_at, len(fake.asked)) == (row.answered_at, 4)
    assert now(replay).status == "succeeded"


def test_a_failure_that_comes_late_is_told(calls, held, provider, call):
    bad = {"error": {"status": 400, "message": "I do not know that."}}
    provider({**LATE, "answer": bad}, SAY)
    [replay] = asked(calls, "openai:gpt-4o")
    with at_work(replay, held):
        assert stop_in_flight(call, replay, ["answered", "in_flight", "answered"]) < SOON
    row = ReplayEffect.objects.get(replay=replay, seq=2)
    assert (row.state, row.error_text) == ("failed", "I do not know that.")
    told = call("GET", f"replays/{replay.public_id}")[1]
    assert (told["status"], told["error"]["code"]) == ("cancelled", "calls_failed")


def test_a_process_that_ends_meanwhile_waits_for_no_late_answer(calls, held, provider, call):
    provider(LATE, SAY)
    [replay] = asked(calls, "openai:gpt-4o")
    try:
        with at_work(replay, held) as doing:
            stop_in_flight(call, replay, ["answered", "in_flight", "answered"])
            began = time.monotonic()
            stop.tell()
            doing.result(30)
            assert time.monotonic() - began < SOON
    finally:
        stop.clear()
    assert rows_of(replay)[1] == (2, "interrupted")


@pytest.mark.django_db
def test_when_no_answer_came_in_time_nothing_more_is_said_of_it(calls, provider, call, settings):
    provider(SAY)
    [replay] = asked(calls, "openai:gpt-4o")
    jobs.run_job(replay.public_id)
    Replay.objects.update(status="cancelled")
    row = ReplayEffect.objects.filter(seq=2)
    row.update(state="interrupted", difference="", asked_at=timezone.now())
    assert call("GET", f"replays/{replay.public_id}")[1]["waits"]["code"] == "late"
    past = timedelta(seconds=settings.REPLAY_CALL_TIMEOUT_SECONDS + 1)
    row.update(asked_at=timezone.now() - past)
    assert call("GET", f"replays/{replay.public_id}")[1]["waits"] is None
