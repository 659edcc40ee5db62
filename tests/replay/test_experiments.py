"""Experiments over HTTP: planned, started, held to a gate, stopped, asked again, added to."""

from __future__ import annotations

import csv
import io
import json

import factories
import pytest

from replay import jobs, taking_turns
from replay.experiments import cells
from replay.experiments.asked import MAX_CELLS, MAX_RUNS
from replay.models import Cell, Experiment, Replay
from runs import curate, ingest
from runs.accounts.models import Project
from runs.models import Run

A, B = "openai:a", "openai:b"
PRICED = {"input_tokens": 1000, "output_tokens": 100, "total_tokens": 1100}


pytestmark = pytest.mark.usefixtures("rung")


@pytest.fixture
def fake(provider):
    """`a` answers as was recorded, `b` in other words, and breaks at r2."""
    return provider(
        {
            "when": {"model": "b", "contains": "r2"},
            "answer": {"error": {"status": 400, "message": "no r2 please"}},
        },
        {"when": {"model": "b"}, "answer": {"text": "It costs $5."}},
        {"answer": {"text": "Hello"}},
    )


def work() -> None:
    """Do what is queued, as a worker does."""
    while (queued := Replay.objects.filter(status="queued").order_by("pk").first()) is not None:
        jobs.run_job(queued.public_id)


@pytest.fixture
def started(runs, fake, call):
    status, made = call("POST", "experiments", runs=["r1", "r2", "r3"], models=[A, B])
    assert status == 201
    return made


@pytest.fixture
def finished(started, call):
    work()
    return call("GET", f"experiments/{started['id']}")[1]


# --- The plan -------------------------------------------------------------------------------------


def test_a_plan_counts_all_calls_and_sends_and_stores_nothing(runs, fake, call):
    asked = {"runs": ["r1", "r2", "r3", "no-model"], "models": [A, B], "plan_only": True}
    status, planned = call("POST", "experiments", **asked)
    plan = planned["plan"]
    assert (status, plan["runs"], plan["replays"], plan["calls"]["total"]) == (200, 3, 6, 12)
    assert "no_model_calls" in {note["code"] for note in plan["warnings"]}
    assert (fake.asked, Experiment.objects.count(), Replay.objects.count()) == ([], 0, 0)


def test_unknown_cost_is_null(runs, fake, call):
    _, planned = call("POST", "experiments", runs=["r1"], models=[A], plan_only=True)
    assert planned["plan"]["cost"] == {"estimate": None, "complete": False}


def test_a_known_cost_is_that_of_all_calls(store, fake, call):
    store(factories.log(*(factories.completion(n, usage=PRICED) for n in (1, 2))), "priced")
    asked = {"runs": ["priced"], "models": ["openai:gpt-4o", "openai:nobody-knows"]}
    _, planned = call("POST", "experiments", **asked, plan_only=True)
    # gpt-4o: $2.50 and $10 a million tokens
    assert planned["plan"]["candidates"][0]["cost"] == {"estimate": 0.007, "complete": True}
    assert planned["plan"]["cost"] == {"estimate": 0.007, "complete": False}


def test_a_plan_of_many_runs_asks_no_more_of_the_database(
    runs, fake, call, monkeypatch, django_assert_max_num_queries
):
    from replay.experiments import planning

    monkeypatch.setattr(planning, "TRY_SECONDS", 0.0)
    with django_assert_max_num_queries(20):
        asked = {"runs": ["r1", "r2", "r3"], "models": [A], "plan_only": True}
        _, planned = call("POST", "experiments", **asked)
    assert planned["plan"]["candidates"][0]["checked_runs"] == 1
    assert "partly_checked" in {note["code"] for note in planned["plan"]["warnings"]}


# --- How it comes out -----------------------------------------------------------------------------


def test_an_experiment_asks_every_call_once_and_sums_up_per_candidate(finished, fake):
    a, b = finished["candidates"]
    assert (len(fake.asked), finished["status"], finished["finished"]) == (12, "partial", True)
    assert (a["ended"]["succeeded"], a["classes"]["same"], a["same_share"]) == (3, 6, 1.0)
    assert (b["ended"]["partial"], b["classes"]["facts"], b["classes"]["error"]) == (1, 5, 1)
    assert (b["errors"], b["changed"], b["to_review"]) == (1, 6, 6)
    assert a["latency_ms"]["p50"] > 0


def test_the_matrix_has_a_cell_for_each_run_and_candidate(finished, call):
    _, matrix = call("GET", f"experiments/{finished['id']}/matrix?limit=2")
    assert [line["run"] for line in matrix["results"]] == ["r1", "r2"]
    told = [
        (cell["class"], cell["status"], cell["changed"]) for cell in matrix["results"][1]["cells"]
    ]
    assert told == [("same", "succeeded", 0), ("error", "partial", 2)]
    _, rest = call("GET", f"experiments/{finished['id']}/matrix?limit=2&cursor={matrix['next']}")
    assert ([line["run"] for line in rest["results"]], rest["next"]) == (["r3"], None)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("sort=worst", ["r2", "r1", "r3"]),
        ("sort=worst&limit=1&cursor=9.2", ["r1"]),
        ("class=error", ["r2"]),
        ("class=facts", ["r1", "r3"]),
        ("class=changed&candidate=1", []),
        ("status=partial", ["r2"]),
        ("status=open", []),
    ],
)
def test_the_matrix_is_sorted_and_narrowed(finished, call, query, expected):
    _, matrix = call("GET", f"experiments/{finished['id']}/matrix?{query}")
    assert [line["run"] for line in matrix["results"]] == expected


BAD_QUERIES = ["cursor=x", "sort=price", "class=bad", "status=none", "limit=0", "cursor=1.2",
               "sort=worst&cursor=5", "candidate=-1", "candidate=0", "candidate=3"]  # fmt: skip


@pytest.mark.parametrize("query", BAD_QUERIES)
def test_a_matrix_cannot_be_asked_for_that(started, call, query):
    assert call("GET", f"experiments/{started['id']}/matrix?{query}")[0] == 422


def test_a_sum_and_a_page_of_the_matrix_are_few_queries(
    finished, call, django_assert_max_num_queries
):
    with django_assert_max_num_queries(8):
        call("GET", f"experiments/{finished['id']}")
    with django_assert_max_num_queries(7):
        call("GET", f"experiments/{finished['id']}/matrix")


# --- The gate -------------------------------------------------------------------------------------


def test_a_gate_names_each_check_and_passes_nothing_while_it_runs(started, call):
    path = f"experiments/{started['id']}?min_same=0"
    assert call("GET", path)[1]["gate"]["passed"] is False
    work()
    gate = call("GET", f"{path}&no_errors=true")[1]["gate"]
    failed = [(one["candidate"], one["check"]) for one in gate["checks"] if not one["passed"]]
    assert (gate["passed"], failed) == (False, [(B, "no_errors")])
    assert call("GET", path)[1]["gate"]["passed"] is True


def test_no_gate_passes_once_the_runs_are_deleted(finished, call):
    for run in Run.objects.filter(external_id__in=("r1", "r2", "r3")):
        curate.delete_run(run)
    gate = call("GET", f"experiments/{finished['id']}?no_errors=true")[1]["gate"]
    failed = {(one["candidate"], one["check"], one["value"]) for one in gate["checks"]}
    assert gate["passed"] is False
    assert {(A, "runs", 0), (B, "runs", 0)} <= failed


def test_an_unknown_cost_passes_no_gate(finished, call):
    gate = call("GET", f"experiments/{finished['id']}?max_cost_ratio=5")[1]["gate"]
    values = {(one["check"], one["value"], one["passed"]) for one in gate["checks"]}
    assert ("max_cost_ratio", None, False) in values


def test_the_gate_given_at_the_start_is_kept(runs, fake, call):
    gate = {"min_same": 0.99, "no_errors": True}
    _, made = call("POST", "experiments", runs=["r1"], models=[A], gate=gate)
    work()
    kept = call("GET", f"experiments/{made['id']}")[1]["gate"]
    assert (kept["min_same"], kept["no_errors"], kept["passed"]) == (0.99, True, True)


def test_a_call_answered_where_the_recording_failed_is_no_error(store, fake, call):
    store(factories.log(factories.completion(1, error="overloaded"), factories.completion(2)), "f")
    _, made = call("POST", "experiments", runs=["f"], models=[A], gate={"no_errors": True})
    work()
    told = call("GET", f"experiments/{made['id']}")[1]
    [sums] = told["candidates"]
    assert (told["gate"]["passed"], sums["errors"], sums["classes"]["error"]) == (True, 0, 1)


@pytest.mark.parametrize("query", ["min_same=2", "min_sam=0.9", "min_same=x", "max_cost_ratio=-1",
                                   "max_cost_ratio=nan", "no_errors=maybe"])  # fmt: skip
def test_a_gate_that_is_none_is_refused(started, call, query):
    assert call("GET", f"experiments/{started['id']}?{query}")[0] == 422


# --- Stop, again, more ----------------------------------------------------------------------------


def test_stopping_keeps_what_has_come_and_asks_no_more(started, call, fake):
    jobs.run_job(Replay.objects.order_by("pk").first().public_id)
    status, stopped = call("POST", f"experiments/{started['id']}/cancel")
    work()
    assert (status, stopped["status"], len(fake.asked)) == (200, "cancelled", 2)
    assert [one["ended"]["cancelled"] for one in stopped["candidates"]] == [2, 3]
    assert stopped["candidates"][0]["classes"]["same"] == 2


def test_a_retry_asks_only_for_what_has_no_answer(finished, call, fake):
    status, again = call("POST", f"experiments/{finished['id']}/retry")
    work()
    assert (status, again["status"], again["progress"]["done"]) == (200, "running", 5)
    assert len(fake.asked) == 13
    assert call("GET", f"experiments/{finished['id']}")[1]["status"] == "partial"


def test_nothing_to_retry_is_a_conflict(runs, fake, call):
    _, made = call("POST", "experiments", runs=["r1"], models=[A])
    work()
    assert call("POST", f"experiments/{made['id']}/retry")[0] == 409


def test_a_candidate_can_be_added_later_once(finished, call, fake):
    path = f"experiments/{finished['id']}/candidates"
    more = [A, {"model": A, "temperature": 0}]
    status, planned = call("POST", path, candidates=more, plan_only=True)
    assert (status, planned["added"], len(fake.asked)) == (200, 0, 12)
    status, grown = call("POST", path, candidates=more)
    work()
    assert (status, grown["added"], grown["status"], len(fake.asked)) == (201, 1, "running", 18)
    assert fake.asked[-1].body["temperature"] == 0
    assert call("POST", path, candidates=more)[1]["added"] == 0


def test_what_ended_unseen_is_written_down_by_the_sweeper(started, call, monkeypatch):
    monkeypatch.setattr(cells, "settle", lambda replays: None)
    work()
    assert call("GET", f"experiments/{started['id']}")[1]["progress"]["done"] == 0
    monkeypatch.undo()
    jobs.sweep()
    assert call("GET", f"experiments/{started['id']}")[1]["finished"] is True


def test_workers_are_rung_for_a_few_and_each_end_rings_for_another(
    runs, fake, call, monkeypatch, django_capture_on_commit_callbacks
):
    heard: list[str] = []
    monkeypatch.setattr(jobs.ring_waiting, "__defaults__", (2,))
    monkeypatch.setattr(jobs, "ring", lambda name: (heard.append(name), _rung(name)))
    with django_capture_on_commit_callbacks(execute=True):
        call("POST", "experiments", runs=["r1", "r2", "r3"], models=[A])
    assert len(heard) == 2
    jobs.run_job(heard[0])
    assert len(set(heard)) == 3


@pytest.fixture
def three(runs, fake, call, monkeypatch) -> list[str]:
    """Three replays of an experiment, and nobody has been rung for."""
    monkeypatch.setattr(jobs, "ring", lambda name: None)
    call("POST", "experiments", runs=["r1", "r2", "r3"], models=[A])
    return list(Replay.objects.order_by("pk").values_list("public_id", flat=True))


def waiting() -> int:
    return Replay.objects.filter(status="queued").count()


def test_a_worker_that_is_rung_once_does_all_of_an_experiment(three, fake):
    taking_turns.take_turn(three[1])
    assert (waiting(), Replay.objects.filter(status="succeeded").count()) == (0, 3)
    assert len(fake.asked) == 6


def test_a_worker_stays_with_its_run_and_comes_to_those_of_others_last(started):
    """Two replays of each run; somebody else is at work on the first of the first run."""
    names = list(Replay.objects.order_by("pk").values_list("public_id", flat=True))
    jobs.claim(names[0])
    taking_turns.take_turn(names[2])
    done = Replay.objects.exclude(status="running").order_by("started_at")
    order = [names[2], names[3], names[4], names[5], names[1]]
    assert list(done.values_list("public_id", flat=True)) == order


def test_a_turn_ends_for_others_and_rings_for_what_waits(three, monkeypatch):
    heard: list[str] = []
    monkeypatch.setattr(taking_turns, "TURN_SECONDS", 0.0)
    monkeypatch.setattr(jobs, "ring", heard.append)
    taking_turns.take_turn(three[0])
    assert (waiting(), heard) == (2, [three[1]])


def test_a_late_message_is_a_turn_as_well(three):
    jobs.run_job(three[0])
    taking_turns.take_turn(three[0])
    assert waiting() == 0


def _rung(name: str) -> None:
    Replay.objects.filter(public_id=name).update(rung_at="2026-01-01T00:00:00Z")


# --- Runs that go ---------------------------------------------------------------------------------


def test_a_deleted_run_leaves_the_matrix_and_the_sums(finished, call):
    curate.mark_deleted(Run.objects.filter(external_id="r2"))
    _, left = call("GET", f"experiments/{finished['id']}")
    assert ([one["runs"] for one in left["candidates"]], left["status"]) == ([2, 2], "succeeded")
    _, matrix = call("GET", f"experiments/{finished['id']}/matrix")
    assert [line["run"] for line in matrix["results"]] == ["r1", "r3"]
    curate.delete_run(Run.everything.get(external_id="r2"))
    assert Cell.objects.count() == 4


# --- Files ----------------------------------------------------------------------------------------


def test_the_export_has_a_line_a_cell(finished, api):
    answer = api("GET", f"/api/v1/experiments/{finished['id']}/export?format=csv")
    rows = list(csv.DictReader(io.StringIO(answer.getvalue().decode())))
    assert [(row["run"], row["model"], row["class"]) for row in rows[:4]] == [
        ("r1", A, "same"), ("r1", B, "facts"), ("r2", A, "same"), ("r2", B, "error"),
    ]  # fmt: skip
    assert rows[0]["cost"] == ""
    assert (rows[0]["input_tokens"], rows[0]["tokens_complete"]) != ("", "")
    assert [(row["latency_calls"], row["original_latency_calls"]) for row in rows[:4]] == [
        ("2", "0"), ("2", "0"), ("2", "0"), ("1", "0"),
    ]  # fmt: skip
    whole = api("GET", f"/api/v1/experiments/{finished['id']}/export").getvalue()
    assert [line["run"] for line in json.loads(whole)["results"]] == ["r1", "r2", "r3"]


def test_what_is_at_least_says_so_everywhere(store, fake, call, api, project):
    """Of two recorded calls one tells its tokens, and one its time."""
    told = [factories.completion(1, usage=PRICED), factories.completion(2)]
    times = {"1": {"started_at": "2026-11-29T10:00:00Z", "duration_ms": 40}}
    ingest.accept_run(project, factories.run("partly", *told, times=times))
    _, made = call("POST", "experiments", runs=["partly"], models=[A])
    work()
    path = f"experiments/{made['id']}"
    [column] = call("GET", path)[1]["candidates"]
    assert (column["original_tokens_complete"], column["original_cost_complete"]) == (False, False)
    assert [column[of]["calls"] for of in ("original_latency_ms", "latency_ms")] == [1, 2]
    [cell] = call("GET", f"{path}/matrix")[1]["results"][0]["cells"]
    assert (cell["original_cost"] > 0, cell["original_cost_complete"]) == (True, False)
    file = api("GET", f"/api/v1/{path}/export?format=csv").getvalue().decode()
    [row] = csv.DictReader(io.StringIO(file))
    assert row["original_cost_complete"] == "False"
    assert (row["original_input_tokens"], row["original_tokens_complete"]) == ("1000", "False")
    assert (row["latency_calls"], row["original_latency_calls"]) == ("2", "1")
    assert (cell["latency_calls"], cell["original_latency_calls"]) == (2, 1)


def test_no_cell_of_a_spreadsheet_is_a_formula(store, fake, call, api):
    store(factories.log(factories.completion(1, "=1+1")), "formula")
    _, made = call("POST", "experiments", runs=["formula"], models=[A])
    answer = api("GET", f"/api/v1/experiments/{made['id']}/export?format=csv")
    assert "'=1+1" in answer.getvalue().decode()


# --- What nobody should send ----------------------------------------------------------------------

BAD = [
    ({"models": [A]}, 422, "runs"),
    ({"runs": [], "models": [A]}, 422, "runs"),
    ({"runs": ["r1"], "dataset": "x", "models": [A]}, 422, "runs"),
    ({"runs": ["r1", 5], "models": [A]}, 422, "runs.1"),
    ({"runs": ["r1", "nobody"], "models": [A]}, 404, "runs"),
    ({"runs": ["a\u0000"], "models": [A]}, 422, "runs.0"),
    ({"dataset": "ds_none", "models": [A]}, 404, "dataset"),
    ({"runs": ["r1"]}, 422, "models"),
    ({"runs": ["r1"], "models": []}, 422, "models"),
    ({"runs": ["r1"], "models": ["gpt"]}, 422, "models.0"),
    ({"runs": ["r1"], "models": [A] * 21}, 422, "models"),
    ({"runs": ["r1"], "models": [A], "candidates": [A]}, 422, "models"),
    ({"runs": ["r1"], "candidates": [{"temperature": 0}]}, 422, "candidates.0"),
    ({"runs": ["r1"], "candidates": [{"model": A, "top": 1}]}, 422, "candidates.0.top"),
    ({"runs": ["r1"], "candidates": [A, {"model": A, "temperature": 9}]}, 422,
     "candidates.1.temperature"),
    ({"runs": ["r1"], "models": ["martian:a"]}, 422, "models"),
    ({"runs": ["no-model"], "models": [A]}, 422, "runs"),
    ({"runs": ["r1"], "models": [A], "gate": {"min_same": "all"}}, 422, "gate.min_same"),
    ({"runs": ["r1"], "models": [A], "gate": {"max": 1}}, 422, "gate.max"),
    ({"runs": ["r1"], "models": [A], "name": "x" * 201}, 422, "name"),
    ({"runs": ["r1"], "models": [A], "until": 1}, 422, "until"),
    ({"runs": [f"r{n}" for n in range(10_000)], "models": [A]}, 422, "runs"),
]  # fmt: skip


def test_all_that_is_wrong_with_an_experiment_is_named_at_once(runs, fake, call):
    body = {"runs": [5], "candidates": ["gpt", {"model": A, "temperature": 9, "samples": 0}],
            "top_p": 7, "name": "", "gate": {"min_same": 2, "no_errors": "yes"},
            "until": 1}  # fmt: skip
    status, answer = call("POST", "experiments", **body)
    assert [one["field"] for one in answer["error"]["errors"]] == [
        "until", "runs.0", "candidates.0", "top_p", "candidates.1.temperature",
        "candidates.1.samples", "name", "gate.min_same", "gate.no_errors",
    ]  # fmt: skip
    assert (status, fake.asked, Experiment.objects.count()) == (422, [], 0)


@pytest.mark.parametrize(("body", "status", "field"), BAD)
def test_what_is_no_experiment_is_refused_at_its_field(runs, fake, call, body, status, field):
    found, answer = call("POST", "experiments", **body)
    assert (found, answer["error"]["field"]) == (status, field)
    assert (fake.asked, Experiment.objects.count()) == ([], 0)


def test_all_that_is_wrong_with_more_candidates_is_named_at_once(started, call):
    body = {"models": ["gpt"], "plan_only": 1, "max_calls": -1, "until": 1}
    status, answer = call("POST", f"experiments/{started['id']}/candidates", **body)
    assert [one["field"] for one in answer["error"]["errors"]] == [
        "until", "models.0", "plan_only", "max_calls",
    ]  # fmt: skip
    assert status == 422


def test_a_parameter_of_a_gate_is_named_as_it_was_asked(started, call):
    query = "min_same=2&no_errors=maybe"
    status, answer = call("GET", f"experiments/{started['id']}?{query}")
    named = [one["field"] for one in answer["error"]["errors"]]
    assert (status, named) == (422, ["min_same", "no_errors"])


def test_another_project_s_runs_are_not_there(store, fake, call):
    other = Project.objects.create(slug="other", name="Other")
    store(factories.log(factories.completion(1)), "theirs", of=other)
    assert call("POST", "experiments", runs=["theirs"], models=[A])[0] == 404
    assert call("POST", "datasets", name="x", runs=["theirs"])[0] == 404


def test_the_same_candidate_twice_is_one(runs, fake, call):
    _, made = call("POST", "experiments", runs=["r1", "r1"], models=[A, A])
    assert (len(made["candidates"]), made["progress"]["total"]) == (1, 1)


def test_asking_again_while_it_runs_gives_what_is_there(started, call):
    again = {"runs": ["r3", "r1", "r2"], "models": [B, A]}
    status, same = call("POST", "experiments", **again)
    assert (status, same["id"], Replay.objects.count()) == (200, started["id"], 6)
    work()
    assert call("POST", "experiments", **again)[0] == 201


@pytest.mark.parametrize("name", ["models", "candidates"])
def test_more_candidates_than_an_experiment_has_are_refused_with_the_limit(runs, call, name):
    status, answer = call("POST", "experiments", **{"runs": ["r1"], name: [A] * 21})
    assert (status, answer["error"]["code"], answer["error"]["limit"]) == (422, "too_many", 20)


def test_more_models_than_a_replay_asks_are_refused_with_the_limit(runs, call):
    status, answer = call("POST", "replays", run="r1", models=[A] * 21)
    assert (status, answer["error"]["code"], answer["error"]["limit"]) == (422, "too_many", 20)


def test_more_cells_than_an_experiment_holds_are_refused(runs, fake, call, monkeypatch):
    from replay.experiments import planning

    assert (MAX_RUNS, MAX_CELLS) == (1000, 5000)
    monkeypatch.setattr(planning, "MAX_CELLS", 3)
    status, answer = call("POST", "experiments", runs=["r1", "r2"], models=[A, B])
    assert (status, answer["error"]["code"], answer["error"]["limit"]) == (422, "too_many", 3)
