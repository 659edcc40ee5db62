"""Experiments with the candidate `recorded`: each run asks the model it was recorded with."""

from __future__ import annotations

import csv
import io
import re

import factories
import pytest

from replay import jobs
from replay.lanes import lanes
from replay.models import Experiment, Replay
from replay.project_providers.models import ProjectProvider
from replay.project_providers.sealing import seal
from replay.taking_turns import take_turn
from runs import curate
from runs.models import Run

NEW = "/p/acme/experiments/new"
GPT, CLAUDE = "openai:gpt-4o", "anthropic:claude-opus-4-5"
PRICED = {"input_tokens": 1000, "output_tokens": 100, "total_tokens": 1100}
OF_CLAUDE = {"provider": "anthropic", "model": "claude-opus-4-5", "api": "anthropic.messages"}
SEVERAL = (
    f"The run used several models ({CLAUDE}, {GPT}); name the model to ask."  # as of one replay
)
HERE = ["gpt", "claude"]


pytestmark = pytest.mark.usefixtures("rung")


@pytest.fixture
def fake(provider):
    return provider({"answer": {"text": "Hello"}})


@pytest.fixture
def runs(store, fake):
    """Two calls of one model, one of another; a run of both; one of a provider nobody set up."""
    made = factories.completion
    store(factories.log(made(1, "Hi", usage=PRICED), made(2, "Bye", usage=PRICED)), "gpt")
    store(factories.log(made(1, "Hi claude", usage=PRICED, **OF_CLAUDE)), "claude")
    store(factories.log(made(1, "Hi both"), made(2, "Bye both", **OF_CLAUDE)), "both")
    store(factories.log(made(1, "Hi mars", provider="mars", model="m", api="mars.x")), "mars")


def work() -> None:
    while (queued := Replay.objects.filter(status="queued").order_by("pk").first()) is not None:
        jobs.run_job(queued.public_id)


def planned(call, runs, **asked):
    status, told = call("POST", "experiments", runs=runs, plan_only=True, **asked)
    assert status == 200, told
    return told["plan"]


def asked_of() -> dict[str, str]:
    return {one.run.external_id: one.candidate for one in Replay.objects.select_related("run")}


def test_the_plan_says_which_models_are_asked_how_often_and_at_whose_price(runs, call, fake):
    plan = planned(call, HERE, models=["recorded"], temperature=0.2)
    [one] = plan["candidates"]
    assert (one["model"], one["controls"]) == ("recorded", {"temperature": 0.2})
    assert one["models"] == [
        {"model": GPT, "runs": 1, "calls": 2}, {"model": CLAUDE, "runs": 1, "calls": 1},
    ]  # fmt: skip
    assert (one["left_out"], one["errors"], plan["errors"]) == ([], [], [])
    alone = [
        planned(call, [run], models=[model])["cost"]["estimate"]
        for run, model in (("gpt", GPT), ("claude", CLAUDE))
    ]
    assert plan["cost"] == {"estimate": pytest.approx(sum(alone)), "complete": True}
    assert alone[0] != 2 * alone[1]  # so it matters whose price it is
    assert (plan["calls"]["total"], plan["replays"], fake.asked) == (3, 2, [])


def test_each_run_asks_the_model_it_was_recorded_with(runs, call, fake):
    asked = {"runs": HERE, "models": ["recorded"], "temperature": 0.2, "max_calls": 3}
    status, made = call("POST", "experiments", **asked)
    assert status == 201 and made["name"] == "2 runs × recorded model"
    assert asked_of() == {"gpt": GPT, "claude": CLAUDE}
    work()
    bodies = [one.body for one in fake.asked]
    assert sorted(body["model"] for body in bodies) == ["claude-opus-4-5", "gpt-4o", "gpt-4o"]
    _, told = call("GET", f"experiments/{made['id']}?min_same=1&no_errors=true")
    [column] = told["candidates"]
    assert (told["status"], column["model"], column["calls"]) == ("succeeded", "recorded", 3)
    assert told["gate"]["passed"]
    names = {check["candidate"] for check in told["gate"]["checks"]}
    assert names == {"recorded model · temperature 0.2"}


def test_asking_again_while_it_runs_gives_what_is_there(runs, call):
    asked = {"runs": HERE, "models": ["recorded"]}
    (first, made), (again, there) = (call("POST", "experiments", **asked) for _ in range(2))
    assert (first, again, made["id"]) == (201, 200, there["id"])


def test_it_starts_with_no_more_calls_than_were_seen(runs, call):
    asked = {"runs": HERE, "models": ["recorded"], "samples": 2}
    status, told = call("POST", "experiments", **asked, max_calls=5)
    assert (status, told["error"]["code"]) == (409, "plan_changed")
    assert call("POST", "experiments", **asked, max_calls=6)[0] == 201


def test_the_recorded_model_stands_beside_the_same_model_named(runs, call, fake):
    """Each candidate is asked, also where both come to one and the same question."""
    _, made = call("POST", "experiments", runs=HERE, models=["recorded", GPT, CLAUDE])
    work()
    assert len(fake.asked) == 9
    _, matrix = call("GET", f"experiments/{made['id']}/matrix")
    assert [[cell["model"] for cell in line["cells"]] for line in matrix["results"]] == [
        [GPT, GPT, CLAUDE], [CLAUDE, GPT, CLAUDE],
    ]  # fmt: skip


def test_candidates_with_changes_of_their_own_can_be_the_recorded_model(runs, call):
    asked = [{"model": "recorded", "temperature": 0}, {"model": "recorded", "temperature": 1}]
    plan = planned(call, HERE, candidates=[*asked, asked[0]])
    assert [one["controls"]["temperature"] for one in plan["candidates"]] == [0, 1]


# --- What cannot be asked -------------------------------------------------------------------------


def test_runs_whose_model_cannot_be_asked_are_left_out_by_name_and_reason(runs, call):
    [one] = planned(call, [*HERE, "both", "mars"], models=["recorded"])["candidates"]
    both, mars = one["left_out"]
    assert both == {"code": "several_models", "message": SEVERAL, "runs": 1, "run_ids": ["both"]}
    assert (mars["code"], mars["run_ids"]) == ("unknown_provider", ["mars"])
    assert "there is no provider 'mars'" in mars["message"]
    assert (one["runs"], one["calls"], one["checked_runs"]) == (2, 3, 2)


def test_a_missing_key_is_said_of_the_runs_it_is_needed_for(runs, call, monkeypatch):
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    plan = planned(call, HERE, models=["recorded"])
    [one] = plan["candidates"]
    assert [(why["code"], why["run_ids"]) for why in one["left_out"]] == [("no_key", ["claude"])]
    assert (plan["errors"], plan["calls"]["total"]) == ([], 2)


def test_a_recording_that_names_no_model_says_so(store, fake, call):
    """Here as where one replay of it is asked for."""
    for run, told in (("nameless", {"provider": ""}), ("silent", {"model": "", "provider": ""})):
        store(factories.log(factories.completion(1, api="", **told)), run)
        said = "The recording does not name its provider and model; name the model to ask."
        [one] = planned(call, [run], models=["recorded"])["errors"]
        assert (one["code"], one["message"], one["field"]) == ("bad_form", said, "models")
        _, single = call("POST", "replays", run=run, temperature=0, plan_only=True)
        assert [error["message"] for error in single["plan"]["errors"]] == [said]


def test_a_limit_is_held_against_the_calls_of_its_provider(store, fake, call, project, settings):
    settings.REPLAY_PRIVATE_ADDRESSES = True
    ProjectProvider.objects.create(
        project=project, name="acme", kind="openai", base_url=fake.openai_base_url,
        sealed=seal("sk-acme-key", project.pk), per_minute=3,
    )  # fmt: skip
    for run, provider in (("a1", "acme"), ("a2", "acme"), ("o1", "openai"), ("o2", "openai")):
        log = factories.log(*(factories.completion(n, provider=provider) for n in (1, 2)))
        store(log, run)
    for runs, told in ((["a1", "o1", "o2"], 0), (["a1", "a2", "o1"], 1)):
        plan = planned(call, runs, models=["recorded"])
        assert [one["code"] for one in plan["warnings"]] == ["per_minute"] * told


def test_where_no_run_can_be_asked_nothing_starts(runs, call):
    plan = planned(call, ["both", "mars"], models=["recorded"])
    assert [one["code"] for one in plan["errors"]] == ["several_models", "unknown_provider"]
    status, told = call("POST", "experiments", runs=["both"], models=["recorded"])
    assert (status, told["error"]["message"]) == (422, SEVERAL)
    assert (told["error"]["field"], Experiment.objects.count()) == ("models", 0)


def test_another_candidate_asks_about_all_runs_and_the_gate_tells(runs, call, page_of):
    """A run without a cell is no deleted run, and a candidate that left one out passes nothing."""
    _, made = call("POST", "experiments", runs=[*HERE, "both"], models=["recorded", GPT])
    work()
    _, told = call("GET", f"experiments/{made['id']}?no_errors=true")
    assert [one["runs"] for one in told["candidates"]] == [2, 3]
    failed = [(one["place"], one["check"]) for one in told["gate"]["checks"] if not one["passed"]]
    assert (failed, told["deleted_runs"], told["status"]) == ([(1, "runs")], 0, "succeeded")
    line = call("GET", f"experiments/{made['id']}/matrix")[1]["results"][2]
    assert [(cell["candidate"], cell["model"]) for cell in line["cells"]] == [(2, GPT)]
    assert "—: not asked, as the model recorded in that run" in page_of(made["id"])


def test_deleted_runs_are_told_from_those_left_out(runs, call, page_of):
    _, made = call("POST", "experiments", runs=[*HERE, "mars"], models=["recorded"])
    work()
    curate.delete_run(Run.objects.get(external_id="gpt"))
    _, told = call("GET", f"experiments/{made['id']}")
    assert (told["deleted_runs"], told["candidates"][0]["runs"]) == (1, 1)
    assert "1 of its 3 runs was deleted since" in page_of(made["id"])


# --- Later ----------------------------------------------------------------------------------------


def test_it_is_added_later_once_for_the_runs_that_can_be_asked(runs, call, fake):
    _, made = call("POST", "experiments", runs=[*HERE, "both"], models=[GPT])
    work()
    asked = {"models": ["recorded"], "temperature": 0.5}
    path = f"experiments/{made['id']}/candidates"
    assert call("POST", path, **asked, max_calls=2)[0] == 409
    status, told = call("POST", path, **asked, max_calls=3)
    assert (status, told["added"], told["progress"]) == (201, 1, {"done": 3, "total": 5})
    assert call("POST", path, **asked)[1]["added"] == 0
    work()
    assert len(fake.asked) == 8


def test_a_retry_asks_the_same_models_for_what_has_no_answer(store, provider, call):
    broken = {"error": {"status": 400, "message": "not now"}}
    fake = provider({"when": {"contains": "claude"}, "answer": broken, "times": 1},
                    {"answer": {"text": "Hello"}})  # fmt: skip
    store(factories.log(factories.completion(1)), "gpt")
    store(factories.log(factories.completion(1, "Hi claude", **OF_CLAUDE)), "claude")
    _, made = call("POST", "experiments", runs=HERE, models=["recorded"])
    work()
    call("POST", f"experiments/{made['id']}/retry", again=True)
    work()
    models = [one.body["model"] for one in fake.asked]
    assert models.count("gpt-4o") == 1 and models.count("claude-opus-4-5") == 2
    assert call("GET", f"experiments/{made['id']}")[1]["status"] == "succeeded"


def test_a_full_lane_holds_up_only_the_runs_of_its_provider(runs, call, project, fake):
    call("POST", "experiments", runs=["claude", "gpt"], models=["recorded"])
    lane, first = (project.pk, "anthropic"), Replay.objects.order_by("pk")[0]
    taken = 0
    while lanes.enter(lane, f"other-{taken}"):
        taken += 1
    try:
        take_turn(first.public_id)
        assert [one.body["model"] for one in fake.asked] == ["gpt-4o", "gpt-4o"]
        work_of = Replay.objects.exclude(pk=first.pk).get()
        assert (work_of.candidate, work_of.status) == (GPT, "succeeded")
        assert Replay.objects.get(pk=first.pk).status == "queued"
    finally:
        for _ in range(taken):
            lanes.leave(lane)


# --- The file and the page ------------------------------------------------------------------------


def test_the_file_names_the_model_of_each_replay_and_the_candidate(runs, call, api):
    _, made = call("POST", "experiments", runs=HERE, models=["recorded"])
    answer = api("GET", f"/api/v1/experiments/{made['id']}/export?format=csv")
    rows = list(csv.DictReader(io.StringIO(answer.getvalue().decode())))
    assert [(one["run"], one["model"], one["label"]) for one in rows] == [
        ("gpt", GPT, "recorded model"), ("claude", CLAUDE, "recorded model"),
    ]  # fmt: skip


@pytest.fixture
def page_of(member_client):
    def get(experiment_id: str) -> str:
        return member_client.get(f"/p/acme/experiments/{experiment_id}").content.decode()

    return get


def test_the_form_has_it_beside_the_models_and_shows_what_is_asked(runs, member_client):
    query = "&".join(f"run={run}" for run in (*HERE, "both"))
    blank = member_client.get(f"{NEW}?{query}").content.decode()
    box = '<input type="checkbox" name="model" value="recorded"'
    assert f"{box}> Recorded model of each run" in blank
    shown = member_client.get(f"{NEW}?{query}&model=recorded&temperature=0.3").content.decode()
    assert f"{box} checked>" in shown and 'id="model-0" name="model" value=""' in shown
    assert "Recorded model of each run</h2>" in shown and "Start 3 calls" in shown
    assert "<dt>Replays</dt><dd>2</dd>" in shown
    for model, calls in ((GPT, "2 in 1 run"), (CLAUDE, "1 in 1 run")):
        plain = shown.replace("<wbr>", "").replace("\u200b", "")
        assert f"<dt>of {model}</dt><dd>{calls}</dd>" in plain
    assert "1 run is left out:" in shown and ">both</a>" in shown


def test_the_form_starts_it_and_the_page_names_it(runs, member_client, page_of):
    shown = member_client.get(f"{NEW}?run=gpt&run=claude&model=recorded").content.decode()
    [seen] = re.findall(r'name="seen" value="(\d+)"', shown)
    asked = {"run": HERE, "model": ["recorded"], "temperature": "0.3", "seen": seen}
    assert member_client.post(NEW, asked).status_code == 302
    made = Experiment.objects.get()
    assert asked_of() == {"gpt": GPT, "claude": CLAUDE}
    assert "<b>recorded model · temperature 0.3</b>" in page_of(made.public_id)
    more = f"/p/acme/experiments/{made.public_id}/candidates"
    assert "Recorded model of each run" in member_client.get(more).content.decode()
    assert member_client.post(more, {"model": "recorded", "seen": "3"}).status_code == 302
    assert Replay.objects.count() == 4


def test_a_form_without_any_model_says_what_may_be_chosen(runs, member_client):
    answer = member_client.post(NEW, {"run": "gpt"})
    assert answer.status_code == 422
    assert "Name a model to ask, or choose the recorded one." in answer.content.decode()
