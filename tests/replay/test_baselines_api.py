"""Baselines over HTTP: listed, one with its answer, revoked with a reason."""

from __future__ import annotations

import json

import pytest
from reviewing import PAGE, decide, text, undo

from replay.models import Baseline, Cluster, ReplayEffect, ReviewEvent
from runs.accounts import keys
from runs.accounts.models import Project, Scope

LIST = "/api/v1/baselines"


@pytest.fixture
def ask(api):
    def do(path: str, body=None, status: int = 200, **more):
        sent = None if body is None else json.dumps(body).encode()
        answer = api("GET" if body is None else "POST", path, sent, **more)
        assert answer.status_code == status, answer.content
        return answer.json()

    return do


@pytest.fixture
def accepted(cluster, person) -> Baseline:
    decide(person(), cluster, "accepted", reason="shorter is fine")
    return Baseline.objects.get()


@pytest.fixture
def several(found, person, provider, replay) -> int:
    provider({"when": {"model": "gpt-d"}, "answer": {"text": "Take a coat."}},
             {"answer": {"tool": {"name": "refund", "arguments": {"eur": 5}}}})  # fmt: skip
    replay(models=["openai:gpt-d"])
    replay(models=["openai:gpt-e"])
    ada = person()
    for cluster in Cluster.objects.all():
        decide(ada, cluster, "accepted")
    return Baseline.objects.count()


def revocation(one: Baseline) -> str:
    return f"{LIST}/{one.public_id}/revocation"


def test_what_somebody_accepted_is_listed(accepted, ask):
    [one] = ask(LIST)["results"]
    assert (one["id"], one["run"], one["seq"]) == (accepted.public_id, "run-1", 5)
    assert (one["accepted_by"], one["reason"]) == ("Ada", "shorter is fine")
    assert (one["model"], one["class"]) == ("openai:gpt-b", "facts")
    assert (one["revoked_by"], one["revoked_at"], one["revoked_reason"]) == (None, None, None)
    assert one["url"] == f"{PAGE}/divergences/{one['divergence']}"
    assert "answer" not in one


def test_one_has_its_answer(accepted, ask):
    one = ask(f"{LIST}/{accepted.public_id}")
    assert one["answer"]["text"] == "Take an umbrella."
    assert one["answer"]["calls"] == []


def test_the_list_comes_in_pages(several, ask):
    seen, query = [], "limit=2"
    while query:
        page = ask(f"{LIST}?{query}")
        seen += [one["id"] for one in page["results"]]
        query = page["next"] and f"limit=2&cursor={page['next']}"
    assert len(seen) == len(set(seen)) == several > 3
    assert seen[0] == Baseline.objects.latest("pk").public_id


def test_the_list_costs_the_same_however_many(several, api, django_assert_max_num_queries):
    with django_assert_max_num_queries(4):
        assert len(api("GET", LIST).json()["results"]) == several
    Baseline.objects.filter(pk=Baseline.objects.latest("pk").pk).update(
        revoked_at="2026-01-01T00:00Z"
    )
    with django_assert_max_num_queries(5):
        assert len(api("GET", f"{LIST}?revoked=true").json()["results"]) == several


def test_a_key_revokes_in_its_name_and_says_why(accepted, ask, member_client, replay):
    told = ask(revocation(accepted), {"reason": "too short after all"})
    assert (told["revoked_by"], told["revoked_reason"]) == ("test", "too short after all")
    assert told["revoked_at"] and told["answer"]["text"] == "Take an umbrella."
    assert ask(LIST)["results"] == []
    [kept] = ask(f"{LIST}?revoked=true")["results"]
    assert (kept["id"], kept["revoked_reason"]) == (accepted.public_id, "too short after all")
    history = f"{PAGE}?cluster={accepted.divergence.cluster_id}&tab=history&state=accepted"
    page = text(member_client.get(history))
    assert "<b>test</b> <span>revoked a baseline" in page and "too short after all" in page
    row = ReplayEffect.objects.get(replay=replay(models=["openai:gpt-c"], effects=[5]))
    assert row.difference == "facts"


def test_a_second_revocation_is_told_who_was_first(accepted, ask):
    ask(revocation(accepted), {})
    told = ask(revocation(accepted), {"reason": "mine"}, 409)["error"]
    assert (told["code"], told["message"]) == ("conflict", "It was revoked already by test.")
    assert ReviewEvent.objects.filter(kind="revoked").count() == 1


def test_a_baseline_that_an_undo_ended_says_so_without_a_reason(accepted, ask, person):
    undo(person("Bob"), ReviewEvent.objects.get())
    [one] = ask(f"{LIST}?revoked=true")["results"]
    assert (one["revoked_by"], one["revoked_reason"]) == ("Bob", None)


@pytest.mark.parametrize(
    ("body", "code", "field"),
    [
        ({"reason": 1}, "invalid", "reason"),
        ({"reason": "x" * 2001}, "too_long", "reason"),
        ({"why": "x"}, "unknown_field", "why"),
        ([], "invalid", None),
    ],
)
def test_what_is_no_reason_revokes_nothing(accepted, ask, body, code, field):
    told = ask(revocation(accepted), body, 422)["error"]
    assert (told["code"], told["field"]) == (code, field)
    assert Baseline.objects.holding().count() == 1


@pytest.mark.parametrize(
    ("query", "status", "code"),
    [
        ("revoked=maybe", 422, "invalid"),
        ("limit=0", 422, "invalid"),
        ("cursor=x", 422, "invalid"),
        ("run=run-2", 404, "not_found"),
        ("replay=rp_1", 422, "unknown_field"),
    ],
)
def test_bad_filters_are_named(accepted, ask, query, status, code):
    told = ask(f"{LIST}?{query}", status=status)["error"]
    assert (told["code"], told["field"]) == (code, query.partition("=")[0])


def test_the_list_filters_by_run(accepted, ask):
    assert len(ask(f"{LIST}?run=run-1")["results"]) == 1


def test_others_neither_see_nor_revoke_it(accepted, ask, project):
    other = Project.objects.create(slug="other", name="Other")
    theirs = keys.mint(project=other, name="theirs", scope=Scope.REPLAY)[1]
    reading = keys.mint(project=project, name="r", scope=Scope.READ)[1]
    assert ask(LIST, key=theirs)["results"] == []
    ask(f"{LIST}/{accepted.public_id}", status=404, key=theirs)
    ask(revocation(accepted), {}, 404, key=theirs)
    ask(revocation(accepted), {}, 403, key=reading)
    assert Baseline.objects.holding().count() == 1


def test_the_page_revokes_with_a_reason_too(accepted, person):
    bob, address = person("Bob"), f"/p/acme/baselines/{accepted.public_id}/revocation"
    told = text(bob.post(address, {"reason": "x" * 2001}, follow=True))
    assert "A reason has at most 2,000 characters" in told
    bob.post(address, {"reason": "too short"})
    assert "too short</q>" in text(bob.get("/p/acme/baselines?revoked=on"))
