"""Divergences, verdicts and their export over HTTP."""

from __future__ import annotations

import json

import pytest

from replay.models import Baseline, Cluster, Replay
from runs.accounts import keys
from runs.accounts.models import Project, Scope

LIST = "/api/v1/divergences"
EXPORT = "/api/v1/verdicts/export"


@pytest.fixture
def found(run, provider, replay) -> Replay:
    """A replay that differs in two calls, #2 and #5."""
    provider({"answer": {"text": "Take an umbrella."}})
    return replay()


@pytest.fixture
def ask(api):
    def do(path: str, body=None, status: int = 200, **more):
        sent = None if body is None else json.dumps(body).encode()
        answer = api("GET" if body is None else "POST", path, sent, **more)
        data = b"".join(answer) if answer.streaming else answer.content
        assert answer.status_code == status, data
        return json.loads(data)

    return do


@pytest.fixture
def facts(found, ask):
    return ask(f"{LIST}?class=facts")["results"][0]


def test_what_is_open_is_listed(found, ask):
    one = ask(f"{LIST}?state=open&replay={found.public_id}")["results"][0]
    assert (one["seq"], one["class"], one["state"], one["run"]) == (5, "facts", "open", "run-1")
    assert (one["cluster"]["cause"], one["cluster"]["open"]) == (["/text"], 1)
    assert (one["decided_by"], one["model"]) == (None, "openai:gpt-b")


def test_the_list_comes_in_pages(found, ask):
    first = ask(f"{LIST}?limit=1")
    second = ask(f"{LIST}?limit=1&cursor={first['next']}")
    assert [p["results"][0]["seq"] for p in (first, second)] == [5, 2]
    assert second["next"] is None


@pytest.mark.parametrize(
    ("query", "count"),
    [("agent=demo", 2), ("agent=x", 0), ("run=run-1", 2), ("class=error", 0), ("cluster=1", None)],
)
def test_the_list_filters(found, ask, query, count):
    pk = Cluster.objects.first().pk
    results = ask(f"{LIST}?{query.replace('=1', f'={pk}') if count is None else query}")["results"]
    assert len(results) == (1 if count is None else count)


@pytest.mark.parametrize("query", ["state=fine", "class=x", "cursor=x", "limit=0", "run=%00"])
def test_bad_filters_are_named(found, ask, query):
    assert ask(f"{LIST}?{query}", status=422)["error"]["field"] == query.partition("=")[0]


def test_a_key_decides_in_its_name(facts, ask):
    body = {"verdict": "accepted", "reason": "fine", "version": facts["version"]}
    told = ask(f"{LIST}/{facts['id']}/verdict", body)
    assert (told["state"], told["decided_by"], told["reason"]) == ("accepted", "test", "fine")
    assert (told["decided"], told["cluster"]["open"], Baseline.objects.count()) == (1, 0, 1)


def test_the_second_is_told_what_the_first_did(facts, ask):
    address, body = f"{LIST}/{facts['id']}/verdict", {"version": facts["version"]}
    ask(address, {**body, "verdict": "regression", "reason": "paid twice"})
    told = ask(address, {**body, "verdict": "accepted"}, 409)["error"]
    assert told["message"] == "Already decided by test: regression (“paid twice”)."
    assert ask(f"{LIST}?class=facts")["results"][0]["state"] == "regression"


def test_a_cluster_is_decided_at_once(facts, ask):
    body = {"verdict": "ignored", "of": "cluster", "version": facts["cluster"]["version"]}
    assert ask(f"{LIST}/{facts['id']}/verdict", body)["decided"] == 1
    assert ask(f"{LIST}/{facts['id']}/verdict", body, 409)["error"]["code"] == "conflict"


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "verdict"),
        ({"verdict": "open"}, "verdict"),
        ({"verdict": "accepted", "reason": 1}, "reason"),
        ({"verdict": "accepted", "reason": "x" * 2001}, "reason"),
        ({"verdict": "accepted", "version": "1"}, "version"),
        ({"verdict": "accepted", "version": True}, "version"),
        ({"verdict": "accepted", "of": "all"}, "of"),
        ({"verdict": "accepted", "baseline": "no"}, "baseline"),
        ([], None),
    ],
)
def test_what_is_no_verdict_is_named(facts, ask, body, field):
    assert ask(f"{LIST}/{facts['id']}/verdict", body, 422)["error"]["field"] == field


@pytest.mark.parametrize("of", ["one", "cluster"])
@pytest.mark.parametrize("version", [-1, 9, 10**30])
def test_a_version_there_never_was_is_named_and_nothing_decided(facts, ask, of, version):
    body = {"verdict": "accepted", "of": of, "version": version}
    told = ask(f"{LIST}/{facts['id']}/verdict", body, 422)["error"]
    assert (told["code"], told["field"]) == ("invalid", "version")
    assert told["message"] == "There is no such version; it is at 0."
    assert ask(f"{LIST}?state=open")["results"][0] == facts


def test_a_reading_key_decides_nothing(facts, ask, project):
    key = keys.mint(project=project, name="r", scope=Scope.READ)[1]
    ask(f"{LIST}/{facts['id']}/verdict", {"verdict": "ignored"}, 403, key=key)


def test_the_export_is_what_ci_checks(found, facts, ask):
    ask(f"{LIST}/{facts['id']}/verdict", {"verdict": "accepted", "reason": "fine"})
    told = ask(f"{EXPORT}?replay={found.public_id}")
    assert told["counts"] == {"open": 1, "accepted": 1, "regression": 0, "ignored": 0}
    [verdict], [baseline] = told["verdicts"], told["baselines"]
    assert (verdict["seq"], verdict["state"], verdict["reason"]) == (5, "accepted", "fine")
    assert (baseline["divergence"], baseline["accepted_by"]) == (facts["id"], "test")
    assert (told["project"], told["minimum_class"]) == ("acme", "facts")


def test_an_export_of_nothing(project, ask):
    told = ask(EXPORT)
    assert (told["verdicts"], told["baselines"], told["counts"]["open"]) == ([], [], 0)


def test_the_list_costs_the_same_whatever_there_is(found, api, django_assert_max_num_queries):
    with django_assert_max_num_queries(4):
        api("GET", LIST)


def test_without_a_version_nobody_s_verdict_is_overwritten(facts, ask):
    path = f"{LIST}/{facts['id']}/verdict"
    ask(path, {"verdict": "regression"})
    refused = ask(path, {"verdict": "accepted"}, status=409)
    assert "regression" in refused["error"]["message"]
    ask(path, {"verdict": "accepted", "version": 1})


@pytest.mark.parametrize("name", ["replay", "run", "experiment", "cluster"])
@pytest.mark.parametrize("path", [LIST, EXPORT])
@pytest.mark.parametrize("value", ["999999", ""])
def test_what_is_not_here_cannot_be_asked_about(found, ask, path, name, value):
    """An empty one is an unset variable of a script: a build would pass with it."""
    status = 422 if (name, value) == ("cluster", "") else 404
    assert ask(f"{path}?{name}={value}", status=status)["error"]["field"] == name


def test_nor_what_is_another_projects(found, ask):
    other = Project.objects.create(slug="other", name="Other")
    _, token = keys.mint(project=other, name="theirs", scope=Scope.READ)
    for query in (f"replay={found.public_id}", "run=run-1"):
        assert ask(f"{EXPORT}?{query}", status=404, key=token)["error"]["code"] == "not_found"


def test_a_build_passes_when_all_is_decided_and_over(found, ask):
    query = f"{EXPORT}?replay={found.public_id}"
    told = ask(query)
    assert (told["replays"], told["passed"]) == ({"succeeded": 1}, False)
    # Of the accepted ones alone none is open: that says nothing.
    assert ask(f"{query}&state=accepted")["passed"] is None
    for one in ask(LIST)["results"]:
        ask(f"{LIST}/{one['id']}/verdict", {"verdict": "accepted", "reason": "fine"})
    assert ask(query)["passed"] is True
    assert (ask(EXPORT)["passed"], ask(EXPORT)["replays"]) == (True, None)
    Replay.objects.update(status="running", finished_at=None)
    told = ask(query)
    assert (told["replays"], told["passed"]) == ({"running": 1}, False)


def test_a_run_that_was_never_replayed_passes_nothing(store, read_log, ask):
    store(read_log("02-two-tools-memory"))
    told = ask(f"{EXPORT}?run=run-1")
    assert (told["replays"], told["passed"]) == ({}, False)
