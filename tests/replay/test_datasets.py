"""Sets of runs over HTTP: kept, used, added to, taken from, renamed, deleted."""

from __future__ import annotations

import factories
import pytest

from replay.experiments import datasets
from runs import curate

A = "openai:a"

pytestmark = pytest.mark.usefixtures("rung")


def test_a_dataset_is_kept_used_renamed_and_deleted(runs, provider, call):
    provider({"answer": {"text": "Hello"}})
    status, kept = call("POST", "datasets", name="Refunds", runs=["r2", "r1", "r2"])
    assert (status, kept["runs"]) == (201, 2)
    path = f"datasets/{kept['id']}"
    assert call("GET", path)[1]["run_ids"] == ["r2", "r1"]
    _, made = call("POST", "experiments", dataset=kept["id"], models=[A])
    assert (made["dataset"], made["progress"]["total"]) == (kept["id"], 2)
    assert call("PATCH", path, name="Old refunds")[1]["name"] == "Old refunds"
    assert [one["name"] for one in call("GET", "datasets")[1]["results"]] == ["Old refunds"]
    assert call("DELETE", path)[0] == 204
    assert call("GET", f"experiments/{made['id']}")[1]["dataset"] is None


def test_a_run_that_is_deleted_leaves_its_datasets(runs, call):
    _, kept = call("POST", "datasets", name="Refunds", runs=["r1", "r2"])
    curate.delete_run(runs[0])
    assert call("GET", f"datasets/{kept['id']}")[1]["run_ids"] == ["r2"]


@pytest.mark.parametrize("name", ["", " ", "\u202e", "\u200b\u3164", "\u0301"])
def test_a_dataset_nobody_could_see_is_refused(runs, call, name):
    status, told = call("POST", "datasets", name=name, runs=["r1"])
    assert (status, told["error"]["field"]) == (422, "name")


def test_two_datasets_have_two_names(runs, call):
    _, other = call("POST", "datasets", name="B", runs=["r1"])
    assert call("POST", "datasets", name="A", runs=["r1"])[0] == 201
    assert call("POST", "datasets", name="A", runs=["r1"])[0] == 409
    assert call("PATCH", f"datasets/{other['id']}", name="A")[0] == 409


@pytest.fixture
def kept(store, call) -> str:
    """The path of a dataset of r1 and r2; r3 is there too."""
    for name in ("r1", "r2", "r3"):
        store(factories.log(factories.completion(1, f"Hi {name}")), name)
    return f"datasets/{call('POST', 'datasets', name='Refunds', runs=['r1', 'r2'])[1]['id']}"


def test_runs_join_a_dataset_and_leave_it(kept, call):
    assert call("PATCH", kept, add=["r3", "r1"], remove=["r2", "nobody"])[1]["runs"] == 2
    assert call("GET", kept)[1]["run_ids"] == ["r1", "r3"]
    assert call("PATCH", kept, add=["r2"], name="All")[1]["name"] == "All"
    assert call("GET", kept)[1]["run_ids"] == ["r1", "r3", "r2"]


@pytest.mark.parametrize(
    ("body", "status", "field"),
    [
        ({"add": ["r3", "nobody"]}, 404, "add"),
        ({"add": "r3"}, 422, "add"),
        ({"remove": [5]}, 422, "remove.0"),
        ({"add": ["r3"], "name": ""}, 422, "name"),
        ({"add": ["r3"], "until": 1}, 422, None),
        ({}, 400, None),
    ],
)
def test_what_cannot_be_changed_changes_nothing(kept, call, body, status, field):
    found, answer = call("PATCH", kept, **body)
    assert (found, answer["error"]["field"]) == (status, field)
    assert call("GET", kept)[1]["run_ids"] == ["r1", "r2"]


def test_a_dataset_holds_so_many_runs_and_no_more(kept, call, monkeypatch):
    monkeypatch.setattr(datasets, "MAX_RUNS", 2)
    status, answer = call("PATCH", kept, add=["r3"])
    assert (status, answer["error"]["code"], answer["error"]["limit"]) == (422, "too_many", 2)
    assert call("PATCH", kept, add=["r3"], remove=["r1"])[0] == 200


def test_by_page_too(kept, call, member_client):
    again = member_client.post("/p/acme/datasets", {"run": ["r2", "r3"], "name": "Refunds"})
    page = member_client.get(again["Location"]).text
    assert "Added 1 run to “Refunds”." in page and "<b>3</b> runs" in page
    path = f"/p/acme/{kept}"
    member_client.post(path, {"remove": "r1"})
    assert call("GET", kept)[1]["run_ids"] == ["r2", "r3"]
    page = member_client.post(path, {"add": "r1 nobody"}, follow=True).text
    assert "There is no run of this id: nobody." in page
    member_client.post(path, {"add": "r1"})
    assert call("GET", kept)[1]["run_ids"] == ["r2", "r3", "r1"]
