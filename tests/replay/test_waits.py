"""What a replay waits for, said on its page and by the API while it waits."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta

import factories
import pytest
from django.db import connections
from django.utils import timezone
from workers import until

from replay import jobs
from replay.models import ProjectProvider, ProviderCall, Replay, ReplayEffect
from replay.project_providers.limits import Admitted, Gate
from replay.project_providers.sealing import seal
from replay.questions import read_question
from replay.start import start
from replay.waiting import asked_again, waits_for

SAY = {"answer": {"text": "Hello"}}


@pytest.fixture
def calls(transactional_db, store, rung):
    """A run of three model calls."""
    return store(factories.log(*(factories.completion(n, f"Hi {n}") for n in (1, 2, 3))), "r")


@pytest.fixture
def own(project, settings):
    """own(fake, parallel=1, …) -> the project's provider `mine` with these limits."""
    settings.REPLAY_PRIVATE_ADDRESSES = True

    def make(fake, **given) -> ProjectProvider:
        return ProjectProvider.objects.create(
            project=project, name="mine", kind="openai", base_url=fake.openai_base_url,
            sealed=seal("sk-mine", project.pk), **given,
        )  # fmt: skip

    return make


def asked(run, model: str, **body) -> Replay:
    question = read_question({"run": run.external_id, "models": [model], **body})
    return start(run, question, jobs.Asker()).replays[0]


@contextmanager
def at_work(replay: Replay):
    """The replay is done on a thread beside, and stopped at the end if it still goes on."""

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
            jobs.cancel(Replay.objects.get(pk=replay.pk))
            doing.result(30)


def said(call, replay: Replay) -> dict | None:
    return call("GET", f"replays/{replay.public_id}")[1]["waits"]


def said_of(call, replay: Replay, code: str) -> dict:
    """What it says as soon as it waits for this."""
    return until(lambda: (told := said(call, replay)) and told["code"] == code and told)


def page_of(client, replay: Replay) -> str:
    return client.get(f"/p/acme/replays/{replay.public_id}").content.decode()


def test_one_that_waits_for_a_place_says_so(calls, provider, own, call, member_client):
    row = own(provider(SAY), parallel=2)
    other = asked(calls, "mine:other")
    door = Gate(row.pk, other.pk, 60.0)
    assert all(isinstance(door.admit(None), Admitted) for _ in range(2))
    replay = asked(calls, "mine:gpt-4o")
    with at_work(replay):
        until(lambda: ReplayEffect.objects.filter(replay=replay).count() == 3)
        told = said_of(call, replay, "place")
        assert told == {"code": "place", "message": "waits for a place at mine (2 at once)",
                        "until": None}  # fmt: skip
        assert "; waits for a place at mine (2 at once)</span>" in page_of(member_client, replay)
        ProviderCall.objects.update(ended_at=timezone.now())
        until(lambda: Replay.objects.get(pk=replay.pk).status == "succeeded")
    assert said(call, replay) is None


def test_one_that_waits_for_the_next_minute_says_for_how_long(
    calls, provider, own, call, member_client
):
    own(provider(SAY), per_minute=2)
    replay = asked(calls, "mine:gpt-4o")
    answered = ReplayEffect.objects.filter(replay=replay, state="answered")
    with at_work(replay):
        until(lambda: answered.count() == 2)
        told = said_of(call, replay, "minute")
        assert told["until"] is not None
        assert re.fullmatch(
            r"waits \d\d s for the next minute at mine \(2 a minute\)", told["message"]
        )
        assert "s for the next minute at mine (2 a minute)</span>" in page_of(member_client, replay)


def test_calls_that_are_put_off_say_when_they_are_asked_again(calls, provider, call, member_client):
    provider({"when": {"contains": "Hi 2"}, "times": 1,
              "answer": {"error": {"status": 429, "message": "Slow.", "retry_after": 30}}},
             SAY)  # fmt: skip
    replay = asked(calls, "openai:gpt-4o", effects=[2])
    with at_work(replay):
        told = said_of(call, replay, "again")
        assert re.fullmatch(r"#2 is asked again in \d\d s \(429\)", told["message"])
        [row] = call("GET", f"replays/{replay.public_id}/effects")[1]["results"]
        assert (row["state"], row["again_at"]) == ("pending", told["until"])
        shown = page_of(member_client, replay)
        assert "; #2 is asked again in " in shown and ">asked again in " in shown


def test_a_provider_that_asks_for_rest_holds_the_calls_behind_too(calls, provider, call, settings):
    settings.REPLAY_PARALLEL_CALLS = 1
    provider({"when": {"contains": "Hi 1"}, "times": 1,
              "answer": {"error": {"status": 429, "message": "Slow.", "retry_after": 30}}},
             SAY)  # fmt: skip
    replay = asked(calls, "openai:gpt-4o")
    with at_work(replay):
        told = said_of(call, replay, "again")
        assert re.fullmatch(r"waits \d\d s, as the provider asks \(429\)", told["message"])


@pytest.mark.django_db
def test_what_waits_for_a_worker_or_for_nothing(calls, provider, call, member_client):
    provider(SAY)
    replay = asked(calls, "openai:gpt-4o")
    assert said(call, replay)["code"] == "worker"
    assert "; waits for a worker</span>" in page_of(member_client, replay)
    jobs.run_job(replay.public_id)
    assert said(call, replay) is None
    rows = ReplayEffect.objects.filter(replay=replay)
    assert [asked_again(row) for row in rows] == ["", "", ""]


@pytest.mark.django_db
def test_several_calls_are_told_by_the_first_of_them(calls, provider):
    provider(SAY)
    replay = asked(calls, "openai:gpt-4o")
    now = timezone.now()
    Replay.objects.update(status="running", heartbeat_at=now)
    for seq in (1, 2, 3):
        ReplayEffect.objects.create(
            replay=replay, seq=seq, state="pending", error_code="http_503",
            again_at=now + timedelta(seconds=10 * seq + 1),
        )  # fmt: skip
    replay.refresh_from_db()
    told = waits_for(replay)
    assert told is not None and told.until == now + timedelta(seconds=11)
    assert told.message == "3 calls are asked again, the first in 11 s (503)"
    ReplayEffect.objects.filter(seq=1).update(state="in_flight")
    assert waits_for(replay).message == "2 calls are asked again, the first in 21 s (503)"
    ReplayEffect.objects.filter(seq=3).update(again_at=None)
    assert waits_for(replay) is None  # the one that is out may be all it does at once
