"""Lanes: a provider that hangs keeps nobody else's replays waiting."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
from workers import embedded_worker, until

from replay import jobs, taking_turns
from replay.lanes import Lanes, lanes
from replay.models import ProjectProvider, Replay
from replay.project_providers.sealing import seal
from replay.questions import read_question
from replay.start import start

HUNG, OTHER = (1, "hung"), (1, "other")


@pytest.fixture
def of_four(settings) -> Lanes:
    settings.CELERY_WORKER_CONCURRENCY = 4
    return Lanes()


def test_one_provider_has_all_threads_but_two_and_all_together_all_but_one(of_four):
    assert [of_four.enter(HUNG, name) for name in "abc"] == [True, True, False]
    assert [of_four.enter(OTHER, name) for name in "de"] == [True, False]


def test_who_was_turned_away_is_let_in_when_there_is_room_the_first_first(of_four):
    for name in "abcd":
        of_four.enter(HUNG, name)
    assert of_four.let_in() == []
    of_four.leave(HUNG)
    assert of_four.let_in() == ["c"]
    assert of_four.enter(HUNG, "c")
    of_four.leave(HUNG)
    of_four.leave(HUNG)
    assert of_four.let_in() == ["d"]


def test_no_more_are_let_in_than_there_is_room_for_of_all(of_four):
    for name in "abc":
        of_four.enter((int(name, 16), "hung"), name)
    for name in "def":
        of_four.enter((int(name, 16), "hung"), name)
    of_four.leave((0xA, "hung"))
    assert of_four.let_in() == ["d"]


@pytest.mark.parametrize("threads", [1, 2])
def test_a_worker_of_few_threads_does_one_replay_at_least(settings, threads):
    settings.CELERY_WORKER_CONCURRENCY = threads
    few = Lanes()
    assert [few.enter(HUNG, name) for name in "ab"] == [True, False]


# --- In a worker --------------------------------------------------------------------------------


@pytest.fixture
def worker(transactional_db, settings):
    settings.CELERY_WORKER_CONCURRENCY = 4
    with embedded_worker(threads=4) as controller:
        yield controller


@pytest.fixture
def hung(transactional_db, project, provider, settings, monkeypatch) -> Iterator[threading.Event]:
    """A provider of the project that answers when it is let, beside `openai`, which does so at
    once."""
    settings.REPLAY_PRIVATE_ADDRESSES = True
    fake = provider({"when": {"model": "slow"}, "delay_ms": 1, "answer": {"text": "at last"}},
                    {"answer": {"text": "ok"}})  # fmt: skip
    let_go = threading.Event()
    monkeypatch.setattr(fake, "pause", lambda seconds: seconds and let_go.wait(90))
    ProjectProvider.objects.create(
        project=project, name="hung", kind="openai", base_url=fake.openai_base_url,
        sealed=seal("sk-acme-key", project.pk),
    )  # fmt: skip
    yield let_go
    let_go.set()


@pytest.mark.slow
def test_a_provider_that_hangs_keeps_no_other_replay_waiting(hung, store, read_log, request):
    run = store(read_log("02-two-tools-memory"))
    slow = [
        start(run, read_question({"run": run.external_id, "models": ["hung:slow"], **more}),
              jobs.Asker()).replays[0]
        for more in ({"temperature": n / 10} for n in range(6))
    ]  # fmt: skip
    request.getfixturevalue("worker")
    until(lambda: Replay.objects.filter(status="running").count() == 2)
    other = start(run, read_question({"run": run.external_id, "models": ["openai:m"]}),
                  jobs.Asker()).replays[0]  # fmt: skip
    proof, _ = jobs.create_job(run=run, mode="reconstruct", plan={})
    mine = Replay.objects.filter(pk__in=[one.pk for one in slow])
    assert [until(lambda one=one: ended(one)).status for one in (other, proof)] == ["succeeded"] * 2
    assert not any(ended(one) for one in slow)
    hung.set()
    until(lambda: mine.filter(status="succeeded").count() == 6)


def ended(replay: Replay) -> Replay | None:
    replay.refresh_from_db()
    return replay if replay.is_final else None


@pytest.mark.django_db
def test_others_of_an_experiment_go_on_beside_a_full_lane(
    project, store, read_log, provider, rung, settings
):
    settings.CELERY_WORKER_CONCURRENCY = 4
    provider({"answer": {"text": "ok"}})
    run = store(read_log("02-two-tools-memory"))
    models = ["openai:a", "anthropic:b"]
    both = start(run, read_question({"run": run.external_id, "models": models}), jobs.Asker())
    first, second = both.replays
    full = project.pk, "openai"
    assert lanes.enter(full, "x") and lanes.enter(full, "y")
    try:
        taking_turns.take_turn(first.public_id)
    finally:
        lanes.leave(full)
        lanes.leave(full)
    states = {one.pk: one.status for one in Replay.objects.all()}
    assert states == {first.pk: "queued", second.pk: "succeeded"}
    assert lanes.let_in() == [first.public_id]


@pytest.mark.django_db
def test_a_turn_ends_where_others_have_all_the_threads(
    project, store, read_log, provider, rung, settings, monkeypatch
):
    """Not before it is over it would look for the same replay again and again."""
    settings.CELERY_WORKER_CONCURRENCY = 4
    provider({"answer": {"text": "ok"}})
    run = store(read_log("02-two-tools-memory"))
    models = ["openai:a", "openai:b", "anthropic:c"]
    waiting = start(run, read_question({"run": run.external_id, "models": models}), jobs.Asker())
    others = [(project.pk + n, "of another project") for n in (1, 2, 3)]
    assert all(lanes.enter(lane, "x") for lane in others)
    asked: list[str] = []
    enter = lanes.enter
    monkeypatch.setattr(
        lanes, "enter", lambda lane, name: asked.append(lane[1]) or enter(lane, name)
    )
    try:
        taking_turns.take_turn(waiting.replays[0].public_id)
    finally:
        for lane in others:
            lanes.leave(lane)
    assert asked == ["openai", "anthropic"]
    assert Replay.objects.filter(status="queued").count() == 3
    assert len(lanes.let_in()) == 2


@pytest.mark.django_db
def test_a_turn_keeps_its_lane_from_one_replay_to_the_next(
    project, store, read_log, provider, rung, settings, monkeypatch
):
    """Between two it would be given to who was turned away, who would turn this one away then."""
    settings.CELERY_WORKER_CONCURRENCY = 3
    monkeypatch.setattr(taking_turns, "TURN_SECONDS", 60.0)
    provider({"answer": {"text": "ok"}})
    run = store(read_log("02-two-tools-memory"))
    models = [f"openai:{name}" for name in "abc"]
    first, *_ = start(run, read_question({"run": run.external_id, "models": models}),
                      jobs.Asker()).replays  # fmt: skip
    let_in: list[str] = []
    following = taking_turns._next_beside

    def next_beside(*asked):
        lanes.enter((project.pk, "openai"), "turned away")
        let_in.extend(lanes.let_in())
        return following(*asked)

    monkeypatch.setattr(taking_turns, "_next_beside", next_beside)
    rung.clear()
    taking_turns.take_turn(first.public_id)
    assert (let_in, rung) == ([], ["turned away"])
    assert Replay.objects.filter(status="succeeded").count() == 3


@pytest.mark.django_db
def test_a_turn_that_ends_rings_for_as_many_as_it_leaves_room_for(
    project, store, read_log, provider, rung, settings, monkeypatch
):
    settings.CELERY_WORKER_CONCURRENCY = 3
    monkeypatch.setattr(taking_turns, "TURN_SECONDS", 0.0)
    provider({"answer": {"text": "ok"}})
    run = store(read_log("02-two-tools-memory"))
    models = ["openai:a", "openai:b"]
    first, second = start(run, read_question({"run": run.external_id, "models": models}),
                          jobs.Asker()).replays  # fmt: skip
    lane = project.pk, "openai"
    assert lanes.enter(lane, "x") and not lanes.enter(lane, "turned away")
    lanes.leave(lane)
    rung.clear()
    taking_turns.take_turn(first.public_id)
    assert rung == ["turned away"]
    assert lanes.let_in() == [second.public_id]


@pytest.mark.django_db
def test_the_sweeper_rings_for_no_more_of_an_experiment_than_there_is_room_for(
    project, store, read_log, provider, rung, settings
):
    settings.CELERY_WORKER_CONCURRENCY = 4
    provider({"answer": {"text": "ok"}})
    run = store(read_log("02-two-tools-memory"))
    models = [f"openai:{name}" for name in "abcd"]
    waiting = start(run, read_question({"run": run.external_id, "models": models}),
                    jobs.Asker()).replays  # fmt: skip
    lane = project.pk, "openai"
    Replay.objects.update(rung_at=None)
    rung.clear()
    assert lanes.enter(lane, "x")
    jobs.sweep()
    assert rung == [waiting[0].public_id]
    assert lanes.enter(lane, "y")
    Replay.objects.update(rung_at=None)
    rung.clear()
    jobs.sweep()
    lanes.leave(lane)
    lanes.leave(lane)
    assert rung == []
