"""Recorded model calls that say nothing of what was asked: no plan counts them, none is made."""

from __future__ import annotations

import re
from decimal import Decimal

import factories
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from query_plan import plan, shrink

from replay import askable, jobs
from replay.models import Experiment, Replay
from replay.project_providers.models import ProjectProvider
from replay.project_providers.sealing import seal

PRICED = {"input_tokens": 1000, "output_tokens": 100, "total_tokens": 1100}
WHY = "nothing was recorded of what it was asked"
NO_WORD = "no message was recorded of what it was asked"
NEW = "/p/acme/experiments/new"

pytestmark = pytest.mark.usefixtures("rung")


def silent(effect_id: int, request: object = None) -> dict:
    """A model call that was answered, without what it was asked."""
    made = factories.completion(effect_id, usage=PRICED)
    return {**made, "kind": {"effect": "completion", "request": request, "stream": False}}


def asked(effect_id: int) -> dict:
    return factories.completion(effect_id, f"Hi {effect_id}", usage=PRICED)


@pytest.fixture
def fake(provider):
    return provider({"answer": {"text": "Hello"}})


def planned(call, **body):
    status, told = call("POST", "replays", run="r", plan_only=True, models=["openai:m"], **body)
    assert status == 200, told
    return told["plan"]


def test_such_a_call_is_no_call_of_the_plan(store, fake, call):
    alone = store(factories.log(asked(1), asked(3)), "alone")
    store(factories.log(asked(1), silent(2), asked(3), silent(4, {})), "r")
    plan = planned(call)
    assert (plan["total"], plan["effects"], plan["calls"]["total"]) == (2, [1, 3], 2)
    assert plan["cannot_ask"] == [{"code": "cannot_ask", "message": WHY, "effects": [2, 4]}]
    assert (plan["tokens"]["input"], plan["errors"]) == (2000, [])
    [model] = plan["components"]
    assert (model["effects"], model["asked"]) == (4, 2)
    other = call("POST", "replays", run=alone.external_id, plan_only=True, models=["openai:m"])
    assert plan["cost"] == other[1]["plan"]["cost"]


def test_a_replay_of_the_others_succeeds(store, fake, call, member_client):
    store(factories.log(asked(1), silent(2), asked(3)), "r")
    status, told = call("POST", "replays", run="r", models=["openai:m"], max_calls=2)
    assert status == 201, told
    jobs.run_job(told["id"])
    over = call("GET", f"replays/{told['id']}")[1]
    assert (over["status"], over["progress"]) == ("succeeded", {"done": 2, "total": 2})
    assert (over["states"]["failed"], len(fake.asked)) == (0, 2)
    page = member_client.get(told["url"]).content.decode()
    assert f"<b>#2</b> is not asked: {WHY}." in page


def test_the_page_says_it_with_the_reason_before_anything_is_sent(store, fake, member_client):
    store(factories.log(asked(1), silent(2)), "r")
    page = member_client.get("/p/acme/runs/r/replay?model=openai:m").content.decode()
    [said] = re.findall(r"<h2>What cannot be asked</h2>(.*?)<h2>", page, re.S)
    assert "<b>#2</b>" in said and WHY in said
    assert "Start 1 call " in page
    assert "<b>live</b> 1 of 2×" in page


@pytest.mark.parametrize("request_", [{"model": None, "chat_history": []}, {"tools": ["x" * 300]}])
def test_one_without_a_single_message_is_none_either(store, fake, call, request_):
    store(factories.log(asked(1), silent(2, request_)), "r")
    plan = planned(call)
    assert plan["cannot_ask"] == [{"code": "cannot_ask", "message": NO_WORD, "effects": [2]}]
    assert plan["calls"]["total"] == 1


def test_where_none_is_left_nothing_starts_and_the_reason_is_given(store, fake, call):
    store(factories.log(silent(1), asked(2)), "r")
    status, told = call("POST", "replays", run="r", models=["openai:m"], effects=[1])
    assert (status, told["error"]["code"]) == (422, "cannot_ask")
    assert told["error"]["field"] == "effects" and WHY in told["error"]["message"]
    assert not Replay.objects.exists()


def test_of_a_long_run_the_last_call_is_known_too(store, fake, call):
    store(factories.log(*map(asked, range(1, 121)), silent(121)), "r")
    plan = planned(call)
    assert (plan["calls"]["total"], plan["cannot_ask"][0]["effects"]) == (120, [121])


def test_a_body_that_was_recorded_whole_is_asked_without_the_log_s_own_words(api, fake, call):
    sent = {"model": "gpt-4o", "messages": [{"role": "user", "content": "Hi"}]}
    wire = {"method": "POST", "url": "https://api.openai.com/v1/chat/completions", "request": sent}
    body = factories.run("r", silent(1), wire={"1": {**wire, "status": 200}})
    assert api("POST", "/api/v1/runs", body).status_code == 201
    plan = planned(call)
    assert (plan["calls"]["total"], plan["cannot_ask"]) == (1, [])


def test_the_recorded_model_of_a_run_is_that_of_what_can_be_asked(store, fake, call):
    other = {**silent(2), "outcome": factories.completion(2, model="gpt-5")["outcome"]}
    store(factories.log(asked(1), other), "r")
    told = call("POST", "replays", run="r", plan_only=True, mode="prompt")[1]["plan"]
    assert (told["candidate"], told["errors"]) == ("openai:gpt-4o", [])
    told = call("POST", "experiments", runs=["r"], models=["recorded"], plan_only=True)[1]
    assert told["plan"]["candidates"][0]["left_out"] == []


@pytest.fixture
def three(store, fake) -> list[str]:
    """Three calls, of which one says nothing; one that says something; and one run of silence."""
    store(factories.log(asked(1), silent(2), asked(3)), "mixed")
    store(factories.log(asked(1)), "whole")
    store(factories.log(silent(1), silent(2)), "mute")
    return ["mixed", "whole", "mute"]


def test_an_experiment_counts_and_pays_for_none_of_them(three, fake, call):
    models = ["openai:gpt-4o", "openai:gpt-4o-mini"]
    told = call("POST", "experiments", runs=three, models=models, plan_only=True)[1]["plan"]
    assert (told["runs"], told["replays"], told["calls"]["total"]) == (2, 4, 6)
    assert told["cannot_ask"] == [
        {"code": "cannot_ask", "message": WHY, "calls": 3, "runs": 2, "run_ids": ["mixed", "mute"]}
    ]
    assert told["tokens"] == {"input": 6000, "output": 600, "complete": True}
    assert told["cost"]["complete"] is True
    said = "1 of 3 runs have no model call that can be asked and are left out."
    assert {"code": "no_model_calls", "message": said} in told["warnings"]
    assert all(not one["warnings"] and not one["errors"] for one in told["candidates"])


@pytest.mark.parametrize("models", [["openai:m"], ["recorded"], ["openai:m", "openai:n"]])
def test_an_experiment_asks_none_of_them(three, fake, call, models):
    status, told = call("POST", "experiments", runs=three, models=models)
    assert status == 201, told
    for replay in Replay.objects.order_by("pk"):
        jobs.run_job(replay.public_id)
    assert set(Replay.objects.values_list("status", flat=True)) == {"succeeded"}
    assert len(fake.asked) == 3 * len(models) == told["plan"]["calls"]["total"]
    over = call("GET", f"experiments/{told['id']}")[1]
    assert [one["errors"] for one in over["candidates"]] == [0] * len(models)


def test_more_candidates_are_asked_none_of_them_either(three, fake, call):
    made = call("POST", "experiments", runs=three, models=["openai:m"])[1]
    told = call("POST", f"experiments/{made['id']}/candidates", models=["openai:n"])[1]
    assert told["plan"]["calls"]["total"] == 3
    new = Replay.objects.filter(model="n")
    assert sorted(new.values_list("total", flat=True)) == [1, 2]


@pytest.mark.parametrize("warns", [True, False])
def test_limits_are_held_against_what_is_asked(three, fake, call, project, settings, warns):
    settings.REPLAY_PRIVATE_ADDRESSES = True
    budget = Decimal("0.0104") if warns else Decimal("0.0106")  # three of the five calls
    ProjectProvider.objects.create(
        project=project, name="mine", kind="openai", base_url=fake.openai_base_url,
        sealed=seal("sk-mine", project.pk), per_minute=2 if warns else 3, day_budget=budget,
    )  # fmt: skip
    asks = {"runs": three, "models": ["mine:gpt-4o"], "plan_only": True}
    warned = call("POST", "experiments", **asks)[1]["plan"]["warnings"]
    codes = [one["code"] for one in warned]
    assert codes == ["no_model_calls", *(["per_minute", "over_budget"] if warns else [])]


def test_the_experiment_s_page_says_it(three, fake, member_client):
    runs = "&".join(f"run={name}" for name in three)
    page = member_client.get(f"{NEW}?{runs}&model=openai:m").content.decode()
    [said] = re.findall(r"<h2>What cannot be asked</h2>(.*?)</div></div>", page, re.S)
    assert "<b>3 calls:</b>" in said and WHY in said and "in 2 runs" in said
    assert "/p/acme/runs/mute" in said and "Start 3 calls " in page
    assert not Experiment.objects.exists()


@pytest.mark.parametrize(("bound", "known"), [("LOOKED_AT", 2), ("SEGMENTS", 8)])
def test_many_short_calls_are_read_up_to_a_bound(store, fake, call, monkeypatch, bound, known):
    monkeypatch.setattr(askable, bound, 2)
    names = ["a", "b", "c"]
    for name in names:
        store(factories.log(*map(silent, range(1, 5)), asked(5)), name)
    other = call("POST", "experiments", runs=names, models=["openai:m"], plan_only=True)[1]
    assert other["plan"]["cannot_ask"][0]["calls"] == known


def test_calls_that_do_say_something_are_not_gone_through(store):
    runs = [store(factories.log(*map(asked, range(1, 60)), silent(60)), name) for name in "ab"]
    with CaptureQueriesContext(connection) as captured:
        unasked = askable.unasked(runs)
    assert [unasked.calls(run) for run in runs] == [59, 59]
    [statement] = [one["sql"] for one in captured if '"request_size" <=' in one["sql"]]
    shrink("runs_effect")
    assert "effect_short_calls" in plan(statement)
