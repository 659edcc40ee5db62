"""Room in the air: as many calls as a worker may make, and who waits comes in turn."""

from __future__ import annotations

import json
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connections
from hypothesis import given
from hypothesis import strategies as st
from workers import until

from replay import jobs
from replay.lease import Lost, stop
from replay.models import Replay, ReplayEffect
from replay.modes import prompt
from replay.modes.air import Air, Grounded
from replay.modes.flights import Flights
from replay.questions import read_question
from replay.start import start

SAY = {"delay_ms": 60, "answer": {"text": "ok"}}


class Replaying:
    """Waits as a replay does."""

    def __init__(self) -> None:
        self.places = self.let_in_times = self.out = 0

    def let_in(self) -> None:
        self.let_in_times += 1


@pytest.fixture
def air(settings):
    """air(2) -> Air for two calls."""

    def make(most: int) -> Air:
        settings.WORKER_PARALLEL_CALLS = most
        return Air(standing_by=0)

    return make


def test_who_waits_is_let_in_in_turn(air):
    two, (first, second, third) = air(2), [Replaying() for _ in range(3)]
    assert [two.take(first, 4), two.take(second, 1), two.take(third, 1)] == [2, 0, 0]
    two.use(first)
    two.use(first)
    two.give_back()
    assert (second.places, third.places) == (1, 0)
    two.give_back()
    assert (second.places, third.places, first.places) == (1, 1, 0)


def test_who_leaves_the_line_or_needs_no_place_lets_the_next_in(air):
    one, (first, second, third) = air(1), [Replaying() for _ in range(3)]
    assert [one.take(first, 1), one.take(second, 1), one.take(third, 1)] == [1, 0, 0]
    one.leave(second)
    one.let_go(first)
    assert (second.let_in_times, third.places) == (0, 1)
    one.leave(third)
    assert one.take(second, 1) == 1


def test_without_a_bound_there_is_always_room(air):
    none, some = air(0), Replaying()
    assert none.take(some, 100) == 100


def test_one_that_stands_by_goes_out_when_another_has_landed_or_not_at_all(air):
    one, wanted = air(1), threading.Event()
    wanted.set()
    went_out, landed = threading.Event(), threading.Event()

    def stand_by() -> str:
        try:
            with one.flight(wanted.is_set):
                went_out.set()
        except Grounded:
            return "grounded"
        finally:
            landed.set()
        return "made"

    with ThreadPoolExecutor(1) as pool:
        with one.flight(lambda: True):
            made = pool.submit(stand_by)
            assert not went_out.wait(0.2)
        assert made.result(10) == "made"
        with one.flight(lambda: True):
            not_made = pool.submit(stand_by)
            wanted.clear()
            one.look()
            assert not_made.result(10) == "grounded"


STEPS = st.lists(st.tuples(st.sampled_from(["take", "use", "end", "leave"]), st.integers(0, 3)))


@given(most=st.integers(1, 4), steps=STEPS)
def test_no_place_is_lost_and_none_too_many_is_given(most, steps):
    from django.test import override_settings

    air, all_of_them = Air(standing_by=0), [Replaying() for _ in range(4)]
    waits: set[Replaying] = set()
    with override_settings(WORKER_PARALLEL_CALLS=most):
        for step, number in steps:
            one = all_of_them[number]
            if step == "take" and not air.take(one, 2):
                waits.add(one)
            elif step == "use" and one.places:
                air.use(one)
                one.out += 1
            elif step == "end" and one.out:
                one.out -= 1
                air.give_back()
            elif step == "leave":
                air.leave(one)
                waits.discard(one)
            waits = {each for each in waits if not each.places}
            taken = sum(each.places + each.out for each in all_of_them)
            assert taken <= most
            assert not waits or taken == most, "somebody waits while there is room"


# --- Of replays ---------------------------------------------------------------------------------


@pytest.fixture
def queue(transactional_db, store, read_log, rung):
    """queue(2) -> so many replays of eight calls each, queued."""

    def make(count: int) -> list[Replay]:
        run = store(read_log("night-shift-300"), "night")
        made = []
        for number in range(count):
            seqs = [1 + 5 * n for n in range(8)]
            body = {"run": "night", "models": [f"openai:m{number}"], "effects": seqs}
            made.append(start(run, read_question(body), jobs.Asker()).replays[0])
        return made

    return make


def do(replay: Replay) -> None:
    """On a thread of its own."""
    try:
        jobs.run_job(replay.public_id)
    finally:
        connections.close_all()


def together(replays: list[Replay]) -> list[Replay]:
    """Done at once, each on a thread of its own."""
    with ThreadPoolExecutor(len(replays)) as pool:
        list(pool.map(do, replays))
    return list(Replay.objects.filter(pk__in=[one.pk for one in replays]))


def test_all_replays_of_a_worker_keep_within_its_calls_at_once(
    queue, provider, settings, monkeypatch
):
    settings.WORKER_PARALLEL_CALLS = 2
    fake = provider(SAY)
    all_there, begun, places_for = threading.Barrier(4, timeout=60), set(), Flights.places_for

    def places_when_all_are_there(self, wanted: int) -> int:
        if self not in begun:
            begun.add(self)
            all_there.wait()
        return places_for(self, wanted)

    monkeypatch.setattr(Flights, "places_for", places_when_all_are_there)
    done = together(queue(4))
    assert [one.status for one in done] == ["succeeded"] * 4
    assert (len(fake.asked), fake.peak) == (32, 2)
    first_half = Counter(asked.body["model"] for asked in fake.asked[:16])
    assert set(first_half) == {"m0", "m1", "m2", "m3"}, "one kept the others waiting"


def test_samples_of_a_call_keep_within_them_too(run, provider, settings, replay):
    settings.WORKER_PARALLEL_CALLS = 2
    fake = provider(SAY)
    assert replay(samples=5).status == "succeeded"
    assert (len(fake.asked), fake.peak) == (10, 2)


def test_a_replay_that_breaks_off_keeps_no_place(queue, provider, settings, monkeypatch):
    settings.WORKER_PARALLEL_CALLS = 1
    provider(SAY)
    broken, whole = queue(2)

    def lost(self, landed) -> None:
        raise Lost

    with monkeypatch.context() as breaking:
        breaking.setattr(prompt._Asking, "_land", lost)
        together([broken])
    waits_for_ever = threading.Timer(60, give_up, [whole.pk])
    waits_for_ever.start()
    assert together([whole])[0].status == "succeeded"
    waits_for_ever.cancel()


def cancel_it(replay: Replay) -> None:
    jobs.cancel(replay)


def end_the_process(replay: Replay) -> None:
    stop.tell(grace_seconds=5)


@pytest.mark.parametrize(("act", "status"), [(cancel_it, "cancelled"), (end_the_process, "queued")])
def test_calls_that_stand_by_when_a_replay_is_stopped_are_not_made(
    queue, provider, settings, act, status
):
    settings.WORKER_PARALLEL_CALLS = 1
    fake = provider({"delay_ms": 1500, "answer": {"text": "ok"}})
    [replay] = queue(1)
    with ThreadPoolExecutor(1) as pool:
        doing = pool.submit(do, replay)
        rows = ReplayEffect.objects.filter(replay=replay)
        until(lambda: fake.asked and rows.filter(state="in_flight").count() == 3)
        try:
            act(replay)
            doing.result(30)
        finally:
            stop.clear()
    replay.refresh_from_db()
    states = Counter(rows.values_list("state", "calls"))
    asked = len(fake.asked)
    assert (replay.status, fake.peak) == (status, 1)
    assert states == {("answered", 1): asked, ("pending", 0): 8 - asked} and asked < 4


def give_up(pk: int) -> None:
    Replay.objects.filter(pk=pk, status="running").update(status="cancelling")
    connections.close_all()


@pytest.mark.parametrize("model", ["openai:m", "anthropic:m"])
def test_a_call_is_said_as_it_goes_out_before_it_has_its_place(
    run, provider, replay, monkeypatch, model
):
    fake = provider({"answer": {"text": "ok"}})
    sent, ask = [], prompt.send

    def send(call, **how):
        sent.append(json.loads(call.request_bytes))
        return ask(call, **how)

    monkeypatch.setattr(prompt, "send", send)
    assert replay(models=[model]).status == "succeeded"
    assert sorted(sent, key=str) == sorted((asked.body for asked in fake.asked), key=str)
