"""A provider's limits: calls at once and a minute, budgets that stop cleanly; kept by rows."""

from __future__ import annotations

import json
import threading
from datetime import timedelta
from decimal import Decimal
from functools import partial

import pytest
from django.db import connection
from django.utils import timezone

from replay import jobs, results
from replay.fake_provider.rules import parse_rules
from replay.models import ProjectProvider, ProviderCall, Replay, ReplayEffect, ReplaySample
from replay.modes import provider_now
from replay.project_providers import keeping, limits
from replay.project_providers.limits import Admitted, Gate, Spent, Wait
from replay.project_providers.sealing import seal
from replay.questions import read_question
from replay.start import plans, start
from runs.models import Run

pytestmark = pytest.mark.django_db
SAY = {"answer": {"text": "It is paid.", "usage": {"input": 1000, "output": 100}}}
EACH = Decimal("0.0035")
"""1,000 tokens in and 100 out at gpt-4o's $2.50 and $10 a million."""


@pytest.fixture
def own(project, provider, settings):
    """own(parallel=1, …) -> a provider of the project, asked at the fake one."""
    settings.REPLAY_PRIVATE_ADDRESSES = True
    fake = provider(SAY)

    def make(**limits) -> ProjectProvider:
        return ProjectProvider.objects.create(
            project=project, name="acme", kind="openai", base_url=fake.openai_base_url,
            sealed=seal("sk-acme-key", project.pk), **limits,
        )  # fmt: skip

    make.fake = fake
    return make


@pytest.fixture
def replay(run, replay):
    """replay() -> the Replay of its two calls, done."""
    return partial(replay, models=["acme:gpt-4o"])


@pytest.fixture
def gate(run, own):
    """gate(parallel=1, …) -> the Gate of a replay to a provider with these limits."""

    def make(**given) -> Gate:
        replay, _ = jobs.create_job(run=run, mode="prompt", model="m", provider="acme", plan={})
        return Gate(own(**given).pk, replay.pk, 60.0)

    return make


def states(replay: Replay) -> list[str]:
    rows = ReplayEffect.objects.filter(replay=replay).order_by("seq")
    return list(rows.values_list("state", flat=True))


# --- Budgets ------------------------------------------------------------------------------------


def test_a_replays_budget_stops_it_and_what_was_answered_stays(own, replay):
    own(parallel=1, replay_budget=EACH)
    done = replay()
    assert (done.status, done.error_code) == ("partial", "budget_replay")
    assert "1 of 2 calls were not asked" in done.error_text and "$0.0035" in done.error_text
    assert (states(done), done.cost) == (["answered", "pending"], EACH)


def test_a_replay_that_ends_says_of_an_open_call_that_nobody_asks_it(own, replay, admin):
    own(parallel=1, replay_budget=EACH)
    done = replay()
    left = ReplayEffect.objects.get(replay=done, state="pending")
    live = {"HX-Request": "true", "HX-Target": "live"}
    address = f"/p/acme/replays/{done.public_id}?at={left.seq}&state=pending"
    assert "Not asked.</div>" in admin.get(address, headers=live).content.decode()


def test_the_plan_tells_small_budgets(own, run, admin):
    own(parallel=1, replay_budget="0.0001", day_budget="12.50")
    address = f"/p/acme/runs/{run.external_id}/replay?model=acme:gpt-4o"
    told = "1 at once, $0.0001 a replay, $12.5 a day"
    assert told in admin.get(address).content.decode()


def test_a_call_nobody_asked_again_says_so(own, replay, admin):
    own(parallel=1, replay_budget=EACH)
    done = replay()
    left = ReplayEffect.objects.get(replay=done, state="pending")
    address = f"/p/acme/replays/{done.public_id}?at={left.seq}"
    page = admin.get(address).content.decode()
    assert "Not asked.</div>" in page and ">not asked</span>" in page
    ReplayEffect.objects.filter(pk=left.pk).update(calls=1, error_text="Slow down.")
    page = admin.get(address).content.decode()
    assert "Slow down. It was not asked again.</div>" in page and ">no answer</span>" in page
    Replay.objects.filter(pk=done.pk).update(status="running", finished_at=None)
    page = admin.get(address).content.decode()
    assert "Slow down. It will be asked again.</div>" in page
    ReplayEffect.objects.filter(pk=left.pk).update(error_text="Connection refused")
    page = admin.get(address).content.decode()
    assert "Connection refused. It will be asked again.</div>" in page
    assert ">waits to be asked again</span>" in page


def test_a_call_that_a_budget_has_no_room_for_is_told_as_that(gate):
    door = gate(replay_budget=1)
    limits.settle(door.admit(Decimal("0.8")).call_id, cost=Decimal("0.8"), answered=True)
    of = "the provider's budget for one replay, $1"
    assert door.admit(Decimal("0.5")).text == (
        f"The next call may cost $0.5, more than is left of {of} ($0.8 spent)."
    )
    limits.settle(door.admit(Decimal("0.2")).call_id, cost=Decimal("0.4"), answered=True)
    assert door.admit(Decimal("0.1")).text == f"Used up: {of} ($1.2 spent)."


def test_a_provider_that_is_gone_takes_no_answer_away(own, replay):
    row = own(parallel=1, replay_budget=EACH)
    stopped = replay()
    keeping.remove(row)
    jobs.retry(stopped)
    jobs.run_job(stopped.public_id)
    done = Replay.objects.get(pk=stopped.pk)
    assert (done.status, done.cost, states(done)) == ("partial", EACH, ["answered", "pending"])
    assert done.error_code == "unknown_provider" and "acme" in done.error_text


def test_a_budget_of_a_day_counts_what_was_spent_before_it_was_set(own, replay, api):
    own()
    assert replay().status == "succeeded"
    given = {"kind": "openai", "base_url": own.fake.openai_base_url, "key": "sk-acme-key"}

    def put(**limits):
        body = json.dumps({**given, **limits}).encode()
        told = api("PUT", "/api/v1/providers/acme", body).json()
        return told["spent_today"], told["spent_today_complete"]

    assert put() == (None, False)
    assert put(day_budget=0.008) == (float(EACH * 2), True)
    assert replay().error_code == "budget_day"
    spent = put(day_budget=0.008)[0]
    assert put() == (None, False)
    assert put(parallel=1) == (spent, True)
    assert api("DELETE", "/api/v1/providers/acme").status_code == 204
    assert put(day_budget=0.008) == (spent, True)


def test_it_is_at_least_that_where_nobody_knows_what_an_answer_of_today_cost(own, replay, api):
    own()
    replay(models=["acme:nobody-knows-it"])
    replay()
    body = {"kind": "openai", "base_url": own.fake.openai_base_url, "key": "sk-a", "day_budget": 9}
    told = api("PUT", "/api/v1/providers/acme", json.dumps(body).encode()).json()
    assert (told["spent_today"], told["spent_today_complete"]) == (float(EACH * 2), False)


def test_what_was_spent_today_is_at_least_that_where_a_cost_is_unknown(own, replay, api, admin):
    own(day_budget=5)
    assert replay(models=["acme:nobody-knows-it"]).error_code == "cost_unknown"
    told = api("GET", "/api/v1/providers/acme").json()
    assert (told["spent_today"], told["spent_today_complete"]) == (None, False)
    assert ">unknown</span>" in admin.get("/p/acme/settings/providers/acme").content.decode()
    assert replay().status == "succeeded"
    told = api("GET", "/api/v1/providers").json()["results"][0]
    assert (told["spent_today"], told["spent_today_complete"]) == (float(EACH * 2), False)
    assert "≥" in admin.get("/p/acme/settings/providers/acme").content.decode()
    ProviderCall.objects.filter(priced=False).delete()
    assert api("GET", "/api/v1/providers/acme").json()["spent_today_complete"] is True


def test_with_a_raised_budget_it_goes_on_where_it_stopped(own, replay):
    row = own(parallel=1, replay_budget=EACH)
    stopped = replay()
    ProjectProvider.objects.filter(pk=row.pk).update(replay_budget=EACH * 3)
    jobs.retry(stopped)
    jobs.run_job(stopped.public_id)
    done = Replay.objects.get(pk=stopped.pk)
    assert (done.status, states(done), len(own.fake.asked)) == ("succeeded", ["answered"] * 2, 2)


def test_a_days_budget_counts_all_replays_of_the_day(own, replay):
    own(parallel=1, day_budget=EACH * 2)
    assert replay().status == "succeeded"
    second = replay()
    assert (second.status, second.error_code) == ("partial", "budget_day")
    assert len(own.fake.asked) == 2


def test_a_new_day_has_its_whole_budget(gate):
    door = gate(day_budget=1)
    yesterday = timezone.now().date() - timedelta(days=1)
    ProjectProvider.objects.update(day=yesterday, day_spent=5)
    assert isinstance(door.admit(Decimal("0.9")), Admitted)
    assert ProjectProvider.objects.get().day_spent == Decimal("0.9")


def test_an_answer_of_unknown_cost_ends_what_a_budget_bounds(own, run):
    own(parallel=1, replay_budget=5)
    question = read_question({"run": run.external_id, "models": ["acme:nobody-knows-it"]})
    [planned] = plans(run, question)
    assert "budget_blind" in [warning["code"] for warning in planned.plan["warnings"]]
    queued = start(run, question, jobs.Asker()).replays[0]
    jobs.run_job(queued.public_id)
    done = Replay.objects.get(pk=queued.pk)
    assert (done.error_code, len(own.fake.asked)) == ("cost_unknown", 1)


def test_what_is_in_flight_is_waited_for_before_a_budget_is_used_up(gate):
    door = gate(replay_budget=1)
    first = door.admit(Decimal("0.8"))
    assert isinstance(door.admit(Decimal("0.8")), Wait)
    limits.settle(first.call_id, cost=Decimal("0.1"), answered=True)
    assert isinstance(door.admit(Decimal("0.8")), Admitted)
    assert isinstance(door.admit(Decimal("0.95")), Spent)


def test_a_refused_call_costs_nothing_and_a_lost_one_what_was_reserved(gate):
    door = gate(replay_budget=1)
    limits.settle(door.admit(Decimal("0.9")).call_id, cost=None, answered=False, billed=False)
    limits.settle(door.admit(Decimal("0.9")).call_id, cost=None, answered=False, billed=True)
    assert door.admit(Decimal("0.2")).code == "budget_replay"
    assert ProjectProvider.objects.get().day_spent == Decimal("0.9")


def test_calls_of_unknown_cost_go_out_one_by_one_under_a_budget(own, store, read_log, settings):
    settings.REPLAY_PARALLEL_CALLS = 4
    own(parallel=4, day_budget=5)
    store(read_log("night-shift-300"), "night")
    seqs = [1 + 5 * n for n in range(4)]
    body = {"run": "night", "models": ["acme:nobody-knows-it"], "effects": seqs}
    queued = start(Run.objects.get(), read_question(body), jobs.Asker()).replays[0]
    jobs.run_job(queued.public_id)
    done = Replay.objects.get(pk=queued.pk)
    assert (done.error_code, len(own.fake.asked)) == ("cost_unknown", 1)


def test_an_answer_that_tells_what_calls_cost_lets_the_others_out_together(
    own, store, read_log, settings, monkeypatch
):
    settings.REPLAY_PARALLEL_CALLS = 3
    own(parallel=4, day_budget=5)
    first_alone = {"when": {"call": 1}, "delay_ms": 200, **SAY}
    own.fake.rules = parse_rules([first_alone, {"delay_ms": 1, **SAY}])
    sleep, together = own.fake.pause, threading.Barrier(3, timeout=60)
    monkeypatch.setattr(
        own.fake, "pause", lambda seconds: sleep(seconds) if seconds != 0.001 else together.wait()
    )
    run = store(read_log("night-shift-300"), "night")
    run.effects.update(input_tokens=None, output_tokens=None)
    body = {"run": "night", "models": ["acme:gpt-4o"], "effects": [1 + 5 * n for n in range(4)]}
    queued = start(run, read_question(body), jobs.Asker()).replays[0]
    jobs.run_job(queued.public_id)
    assert Replay.objects.get(pk=queued.pk).status == "succeeded"
    first, *others = sorted(asked.at for asked in own.fake.asked)
    assert (own.fake.peak, others[0] - first > 0.2) == (3, True)


def test_an_unknown_cost_is_no_estimate_of_nothing(own, run):
    own(day_budget="0")
    question = read_question({"run": run.external_id, "models": ["acme:nobody-prices-this"]})
    warnings = plans(run, question)[0].plan["warnings"]
    [told] = [one["message"] for one in warnings if one["code"] == "over_budget"]
    assert "what this costs is unknown" in told
    assert "estimated" not in told


def test_the_plan_says_what_a_budget_will_do(own, run):
    own(replay_budget="0.0001", per_minute=1)
    question = read_question({"run": run.external_id, "models": ["acme:gpt-4o"]})
    plan = plans(run, question)[0].plan
    assert plan["limits"] == {"replay_budget": 0.0001, "per_minute": 1}
    assert {"over_budget", "per_minute"} <= {warning["code"] for warning in plan["warnings"]}


def test_an_experiments_plan_adds_up_what_its_replays_take_of_a_day_and_a_minute(
    own, run, project, api
):
    """Each of them is within the limits; all of them are not."""
    own(day_budget="0.005", per_minute=3)
    asked = {"runs": [run.external_id], "models": ["acme:gpt-4o"], "plan_only": True}
    [alone, together] = [
        api("POST", "/api/v1/experiments", json.dumps(asked | more).encode()).json()["plan"]
        for more in ({}, {"samples": 9})
    ]
    assert alone["warnings"] == []
    assert {"over_budget", "per_minute"} <= {one["code"] for one in together["warnings"]}


@pytest.mark.parametrize("model", ["acme:gpt-4o", "acme:nobody-prices-this"])
def test_an_experiments_plan_tells_a_used_up_day_once(own, run, project, api, model):
    own(day_budget="0", per_minute=1)
    asked = {"runs": [run.external_id], "models": [model], "samples": 9, "plan_only": True}
    plan = api("POST", "/api/v1/experiments", json.dumps(asked).encode()).json()["plan"]
    [of_one] = plan["candidates"]
    told = [one["code"] for one in (*plan["warnings"], *of_one["warnings"])]
    assert (told.count("over_budget"), told.count("per_minute")) == (1, 1)


def test_an_experiment_is_priced_as_its_replays_are(own, run, project, api):
    """By whose models they are, not by what the project calls the provider."""
    ProjectProvider.objects.filter(pk=own().pk).update(kind="groq")
    model = "acme:llama-3.3-70b-versatile"
    question = read_question({"run": run.external_id, "models": [model]})
    asked = {"runs": [run.external_id], "models": [model], "plan_only": True}
    plan = api("POST", "/api/v1/experiments", json.dumps(asked).encode()).json()["plan"]
    single = plans(run, question)[0].plan["cost"]["estimate"]
    assert single is not None
    assert plan["cost"]["estimate"] == pytest.approx(single)


# --- At once, and a minute ----------------------------------------------------------------------


def test_no_more_calls_at_once_than_allowed(own, replay):
    own(parallel=1)
    assert replay().status == "succeeded"
    assert own.fake.peak == 1


def test_a_call_of_a_dead_worker_counts_until_it_would_be_over(gate):
    door = gate(parallel=1)
    door.admit(None)
    assert isinstance(door.admit(None), Wait)
    ProviderCall.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert isinstance(door.admit(None), Admitted)


def test_whoever_takes_a_replay_over_gives_up_its_calls_in_flight(gate):
    door = gate(parallel=1)
    door.admit(None)
    limits.give_up(Replay.objects.get().pk)
    assert isinstance(door.admit(None), Admitted)


def test_a_replay_that_ends_without_its_worker_leaves_its_places(gate, rung):
    door = gate(parallel=1)
    door.admit(None)
    long_ago = timezone.now() - timedelta(hours=1)
    Replay.objects.update(status="cancelling", heartbeat_at=long_ago)
    jobs.sweep()
    assert Replay.objects.get().status == "cancelled"
    assert isinstance(door.admit(None), Admitted)


@pytest.mark.django_db(transaction=True)
def test_who_claims_what_was_taken_back_has_no_call_of_its_own_given_up(gate, rung, monkeypatch):
    door = gate(parallel=2)
    door.admit(None)
    mine = Replay.objects.get()
    jobs.claim(mine.public_id)
    Replay.objects.update(heartbeat_at=timezone.now() - timedelta(hours=1))
    give_up = limits.give_up

    def claim_and_ask() -> None:
        while jobs.claim(mine.public_id) is None:
            pass
        assert isinstance(door.admit(None), Admitted)
        connection.close()

    another = threading.Thread(target=claim_and_ask)

    def beside_another(pk: int) -> None:
        another.start()
        another.join(1)
        give_up(pk)

    monkeypatch.setattr(limits, "give_up", beside_another)
    jobs.sweep()
    another.join(20)
    calls = ProviderCall.objects.order_by("pk")
    assert [call.ended_at is None for call in calls] == [False, True]


def test_the_call_beyond_a_minutes_allowance_waits_for_the_oldest(gate):
    door = gate(per_minute=2)
    for _ in range(2):
        limits.settle(door.admit(None).call_id, cost=None, answered=True)
    then = timezone.now()
    ProviderCall.objects.order_by("pk").update(started_at=then - timedelta(seconds=50))
    held = door.admit(None)
    assert 10 - (timezone.now() - then).total_seconds() <= held.seconds <= 10
    ProviderCall.objects.update(started_at=timezone.now() - timedelta(seconds=61))
    assert isinstance(door.admit(None), Admitted)


def test_a_provider_that_was_removed_lets_nothing_through(gate):
    door = gate(parallel=1)
    ProjectProvider.objects.all().delete()
    assert door.admit(None).code == "provider_removed"


@pytest.fixture
def meanwhile(monkeypatch, settings):
    """meanwhile(act) -> `act` is done behind the first answer of a replay that asks one by one."""
    settings.REPLAY_PARALLEL_CALLS = 1
    monkeypatch.setattr(provider_now, "LOOK_SECONDS", 0.0)
    store = results.answer

    def do(act):
        def answer(*args, **columns):
            stored = store(*args, **columns)
            if act_once := acts and acts.pop():
                act_once()
            return stored

        acts = [act]
        monkeypatch.setattr(results, "answer", answer)

    return do


def test_a_provider_without_limits_that_is_removed_is_asked_no_more(own, replay, meanwhile):
    row = own()
    meanwhile(lambda: keeping.remove(row))
    done = replay()
    assert (done.status, done.error_code) == ("partial", "provider_removed")
    assert (states(done), len(own.fake.asked)) == (["answered", "pending"], 1)


def test_a_key_that_is_entered_anew_goes_with_the_next_call(own, replay, meanwhile, project):
    row = own()
    fresh = seal("sk-acme-new", project.pk)
    meanwhile(lambda: ProjectProvider.objects.filter(pk=row.pk).update(sealed=fresh))
    assert replay().status == "succeeded"
    keys = [asked.header("authorization") for asked in own.fake.asked]
    assert keys == ["Bearer sk-acme-key", "Bearer sk-acme-new"]


def test_a_limit_that_is_set_meanwhile_holds(own, replay, meanwhile):
    row = own()
    meanwhile(lambda: ProjectProvider.objects.filter(pk=row.pk).update(replay_budget=0))
    done = replay()
    assert (done.status, done.error_code) == ("partial", "budget_replay")


@pytest.mark.django_db(transaction=True)
def test_workers_that_ask_together_stay_within_the_limit(gate):
    door, found = gate(parallel=3), []

    def ask() -> None:
        try:
            for _ in range(20):
                found.append(door.admit(None))
        finally:
            connection.close()

    threads = [threading.Thread(target=ask) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(isinstance(one, Admitted) for one in found) == 3
    assert ProviderCall.objects.count() == 3


def test_samples_of_a_call_stay_within_what_the_provider_takes(own, run):
    own(parallel=2, replay_budget=EACH * 3)
    first = run.effects.filter(family="completion").earliest("seq").seq
    asked = {"run": run.external_id, "models": ["acme:gpt-4o"], "samples": 4, "effects": [first]}
    queued = start(run, read_question(asked), jobs.Asker()).replays[0]
    jobs.run_job(queued.public_id)
    done = Replay.objects.get(pk=queued.pk)
    assert (done.status, done.error_code, done.calls) == ("partial", "budget_replay", 3)
    assert (ReplaySample.objects.count(), len(own.fake.asked)) == (3, 3)
    assert own.fake.peak <= 2


def test_without_limits_nothing_is_counted(own, replay):
    own()
    assert replay().status == "succeeded" and not ProviderCall.objects.exists()
