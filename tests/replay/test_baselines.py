"""Accepted answers: what they do to later replays, and when they end."""

from __future__ import annotations

import re

from reviewing import decide, form, judge, states, text, undo

from replay.models import Baseline, Cluster, Divergence, ReplayEffect, ReviewEvent
from runs import curate
from runs.models import Run


def test_an_accepted_answer_is_the_same_from_then_on(cluster, person, replay, member_client, api):
    decide(person(), cluster, "accepted", reason="shorter is fine")
    done = replay(models=["openai:gpt-c"], effects=[5])
    row = ReplayEffect.objects.get(replay=done)
    assert (row.difference, done.identical, done.changed) == ("same", True, 0)
    assert row.summary == "same as baseline, accepted by Ada: shorter is fine"
    assert states(cluster) == ["accepted", "accepted"]
    [told] = api("GET", f"/api/v1/replays/{done.public_id}/effects").json()["results"]
    held = told["baseline"]
    assert (told["class"], held["accepted_by"], held["reason"], held["revoked"]) == (
        "same", "Ada", "shorter is fine", False,
    )  # fmt: skip
    page = text(member_client.get(f"/p/acme/replays/{done.public_id}?at=5"))
    assert "accepted by Ada" in page and '<h2 id="recorded-heading">Baseline</h2>' in page


def test_another_answer_is_held_against_it(cluster, person, replay, provider):
    decide(person(), cluster, "accepted")
    provider({"answer": {"text": "Do take an umbrella."}})
    row = ReplayEffect.objects.get(replay=replay(models=["openai:gpt-c"], effects=[5]))
    assert (row.difference, row.baseline is not None) == ("wording", True)
    assert row.summary.startswith("differs from baseline")


def test_alike_answers_are_one_baseline(cluster, person):
    decide(person(), cluster, "accepted")
    assert Baseline.objects.holding().count() == 1


def test_accepting_without_the_box_makes_none(cluster, person):
    client = person()
    sent = {k: v for k, v in form(client, cluster).items() if k != "baseline"}
    judge(client, cluster, sent, "accepted")
    assert (states(cluster), Baseline.objects.count()) == (["accepted"] * 2, 0)


def test_of_two_who_accepted_one_answer_the_other_holds_on(cluster, person, replay):
    ada, bob = person("Ada"), person("Bob")
    decide(ada, cluster, "accepted", which="one")
    decide(bob, cluster, "accepted", which="one", one=cluster.members.first().public_id, seen="0")
    assert Baseline.objects.get().signed == "Ada"
    undo(ada, ReviewEvent.objects.earliest("pk"))
    assert list(Baseline.objects.holding().values_list("signed", flat=True)) == ["Bob"]
    done = replay(models=["openai:gpt-c"], effects=[5])
    assert ReplayEffect.objects.get(replay=done).difference == "same"
    undo(bob, ReviewEvent.objects.filter(kind="verdict").latest("pk"))
    assert Baseline.objects.holding().count() == 0


def test_an_answer_that_was_no_baseline_does_not_become_one_by_an_undo(cluster, person):
    ada, bob = person("Ada"), person("Bob")
    decide(ada, cluster, "accepted", which="one")
    sent = form(bob, cluster) | {"which": "one", "one": cluster.members.first().public_id}
    judge(bob, cluster, {k: v for k, v in (sent | {"seen": "0"}).items() if k != "baseline"},
          "accepted")  # fmt: skip
    undo(ada, ReviewEvent.objects.earliest("pk"))
    assert (states(cluster), Baseline.objects.holding().count()) == (["accepted", "open"], 0)


def test_undo_ends_its_baselines(cluster, person):
    client = person()
    decide(client, cluster, "accepted")
    undo(client, ReviewEvent.objects.get())
    assert Baseline.objects.holding().count() == 0


def test_another_verdict_ends_them_and_its_undo_brings_them_back(cluster, person):
    client = person()
    decide(client, cluster, "accepted")
    held = Baseline.objects.get().divergence
    sent = {**form(client, cluster, f"&at={held.public_id}"), "which": "one"}
    judge(client, cluster, sent, "regression")
    assert Baseline.objects.holding().count() == 0
    undo(client, ReviewEvent.objects.latest("pk"))
    assert Baseline.objects.holding().count() == 1


def test_a_revoked_one_holds_no_more(cluster, person, replay):
    client = person()
    decide(client, cluster, "accepted", reason="fine")
    made = Baseline.objects.get()
    row = told(text(client.get("/p/acme/baselines")))[0]
    assert row.startswith("Take an umbrella. openai:gpt-b ") and "by Ada, " in row
    assert row.endswith("fine Revoke… Revoke the baseline")
    client.post(f"/p/acme/baselines/{made.public_id}/revocation")
    assert "No baseline yet" in text(client.get("/p/acme/baselines"))
    assert "revoked by Ada" in text(client.get("/p/acme/baselines?revoked=on"))
    replay(models=["openai:gpt-c"], effects=[5])
    assert states(cluster) == ["accepted", "accepted", "open"]


def told(page: str) -> list[str]:
    """The words of each row of a table."""
    rows = re.findall(r"<tr data-row>(.*?)</tr>", page, re.S)
    return [" ".join(re.sub(r"<[^>]+>", " ", row.replace("<wbr>", "")).split()) for row in rows]


def test_a_name_breaks_behind_its_parts(cluster, person):
    client = person()
    decide(client, cluster, "accepted")
    Baseline.objects.update(effect_key="model::a<b::gpt-4.1/turbo")
    page = text(client.get("/p/acme/baselines"))
    assert "model::<wbr>a&lt;b::<wbr>gpt-4.1/<wbr>turbo</small>" in page


def test_baselines_of_one_cause_are_told_apart(found, person, provider, replay):
    provider({"when": {"model": "gpt-d"}, "answer": {"text": "Take a coat."}},
             {"answer": {"tool": {"name": "refund", "arguments": {"eur": 5}}}})  # fmt: skip
    replay(models=["openai:gpt-d"])
    replay(models=["openai:gpt-e"])
    client = person()
    for cluster in Cluster.objects.all():
        decide(client, cluster, "accepted", reason="fine by us")
    rows = told(text(client.get("/p/acme/baselines")))
    assert len(rows) == len(set(rows)) > 3
    assert any(row.startswith("Take a coat. openai:gpt-d") for row in rows)
    assert any(row.startswith("refund({&quot;eur&quot;:5}) openai:gpt-e") for row in rows)


def test_baselines_go_with_their_run(cluster, person):
    decide(person(), cluster, "accepted")
    curate.delete_run(Run.objects.get())
    assert (Baseline.objects.count(), Divergence.objects.count()) == (0, 0)
