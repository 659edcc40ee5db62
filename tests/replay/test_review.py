"""The review page and what is done on it, without JavaScript: verdicts, undo, two at once."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from replay.models import Baseline, Cluster, Divergence, Replay, ReplayEffect, ReviewEvent
from runs.accounts.models import User
from runs.comments.models import Mention
from runs.models import Run

SAY = {"answer": {"text": "Take an umbrella."}}
PAGE = "/p/acme/review"
HX = {"HX-Request": "true", "HX-Target": "review"}


@pytest.fixture
def found(store, read_log, provider, replay):
    """Two replays of one run that differ alike: two clusters of two. Gives the first replay."""
    provider(SAY)
    store(read_log("02-two-tools-memory"))
    first = replay()
    replay(models=["anthropic:claude-c"])
    return first


@pytest.fixture
def cluster(found) -> Cluster:
    return Cluster.objects.get(difference="facts")


def text(answer, status: int = 200) -> str:
    assert answer.status_code == status, answer.content.decode()[:500]
    return answer.content.decode().replace("&#x27;", "'")


def form(client: Client, cluster: Cluster, query: str = "") -> dict[str, str]:
    """What the verdict form of a cluster's page holds."""
    page = text(client.get(f"{PAGE}?cluster={cluster.pk}{query}"))
    [judge] = re.findall(r'<form class="judge".*?</form>', page, re.S)
    hidden = dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', judge))
    return {**hidden, "which": "all", "baseline": "on"}


def judge(client: Client, cluster: Cluster, sent: dict[str, str], verdict: str, **more):
    address = f"{PAGE}/clusters/{cluster.pk}/verdict"
    return client.post(address, {**sent, "verdict": verdict, **more.pop("data", {})}, **more)


def decide(client: Client, cluster: Cluster, verdict: str = "accepted", **data):
    return judge(client, cluster, form(client, cluster), verdict, data=data)


def states(cluster: Cluster) -> list[str]:
    return list(cluster.members.order_by("pk").values_list("state", flat=True))


def counts(cluster: Cluster) -> tuple[int, ...]:
    cluster.refresh_from_db()
    return tuple(getattr(cluster, f"{s}_count") for s in ("open", "accepted", "regression"))


# --- Reading -----------------------------------------------------------------------------------


def test_clusters_are_listed_gravest_first_with_an_example(found, person):
    page = text(person().get(PAGE))
    assert re.findall(r'<span class="tag \w+">([\w ]+)</span> drops', page) == ["tool calls"]
    assert page.index("drops weather") < page.index("/text")
    assert "2 clusters open" in page
    assert "<del>" in page


def test_the_rail_says_how_many_wait(found, person):
    assert 'title="2 to review">2</b>' in text(person().get("/p/acme/runs"))


def test_nothing_waits(project, person):
    assert "Nothing waits for review" in text(person().get(PAGE))


def test_all_members_are_listed(cluster, person):
    page = text(person().get(f"{PAGE}?cluster={cluster.pk}&tab=members"))
    assert "openai:gpt-b" in page and "anthropic:claude-c" in page


@pytest.mark.parametrize(
    ("query", "shown"),
    [
        ("of=facts", 1),
        ("of=arguments", 0),
        ("agent=demo", 2),
        ("agent=%E2%80%94", 0),
        ("agent=other", 0),
        ("assignee=none", 2),
        ("assignee=me", 0),
        ("state=accepted", 0),
        ("state=nonsense&of=x&assignee=%00&after=9&at=!&before=-1&cluster=x&tab=7", 2),
    ],
)
def test_the_address_filters(found, person, query, shown):
    page = text(person().get(f"{PAGE}?{query}"))
    assert page.count('class="cluster"') == shown


def test_an_experiment_s_own(cluster, person, project):
    from replay.models import Experiment

    mine = Experiment.objects.create(project=project, name="Move off")
    Replay.objects.filter(pk=cluster.members.first().replay_id).update(experiment=mine)
    page = text(person("Cy").get(PAGE))
    assert f'<option value="{mine.public_id}">Move off</option>' in page
    page = text(person().get(f"{PAGE}?experiment={mine.public_id}&of=facts"))
    assert f'<option value="{mine.public_id}" selected>Move off</option>' in page
    assert page.count('class="cluster"') == 1
    assert "the replay with openai:gpt-b" in page
    assert "No cluster is like that" in text(person("Bob").get(f"{PAGE}?experiment=ex_no"))


def heading(page: str) -> str:
    return re.findall(r'<h1>Review</h1><span class="muted">([^<]*)</span>', page)[0]


def test_the_heading_counts_what_is_listed(cluster, person, project):
    from replay.models import Experiment

    ada = person()
    mine = Experiment.objects.create(project=project, name="Move off")
    Replay.objects.filter(pk=cluster.members.first().replay_id).update(experiment=mine)
    decide(ada, cluster, "ignored")
    for query, told in (
        ("", "1 cluster open"),
        ("state=ignored", "1 cluster ignored"),
        ("state=accepted", "nothing accepted"),
        ("of=facts", "nothing open with these filters"),
        ("agent=demo", "1 cluster open with these filters"),
        ("agent=%E2%80%94", "nothing open with these filters"),
        (f"experiment={mine.public_id}", "1 cluster open with these filters"),
        (f"state=ignored&experiment={mine.public_id}", "1 cluster ignored with these filters"),
        ("state=resolved", "1 cluster open"),
    ):
        assert (query, heading(text(ada.get(f"{PAGE}?{query}")))) == (query, told)
    page = text(ada.get(f"{PAGE}?state=ignored&experiment={mine.public_id}"))
    assert "demo · 1 of 2 ignored" in page
    assert "demo · 2 ignored" in text(ada.get(f"{PAGE}?state=ignored"))


def test_what_the_page_does_not_know_is_named(cluster, person):
    page = text(person().get(f"{PAGE}?state=acepted&replay=r1&cluster=999999"))
    assert "<b>replay</b>, <b>state=acepted (did you mean accepted?)</b>: left out" in page
    assert "This cluster is gone, or it never was here." in page
    assert heading(page) == "2 clusters open"


def test_a_divergence_has_an_address(cluster, person):
    one = cluster.members.first()
    answer = person().get(f"{PAGE}/divergences/{one.public_id}")
    assert answer["Location"] == f"{PAGE}?state=open&cluster={cluster.pk}&at={one.public_id}"


def test_htmx_gets_the_part(found, person):
    page = text(person().get(PAGE, headers=HX))
    assert "<html" not in page and 'id="to-review" hx-swap-oob="true"' in page


def test_what_pages_ask_by_themselves_brings_the_counts_of_the_rail(found, person):
    ada = person()
    count = '<span class="unread" id="to-review" hx-swap-oob="true"><b title="2 to review">2</b>'
    news = text(ada.get("/p/acme/list/news?from=0", headers={"HX-Request": "true"}))
    assert count in news and 'id="unread" hx-swap-oob="true"' in news
    live = {"HX-Request": "true", "HX-Target": "live"}
    assert count in text(ada.get(f"/p/acme/replays/{found.public_id}", headers=live), 286)
    Replay.objects.filter(pk=found.pk).update(status="running", finished_at=None)
    assert count not in text(ada.get(f"/p/acme/replays/{found.public_id}", headers=live))
    assert 'id="to-review" hx-swap-oob' not in text(ada.get("/p/acme/runs"))


def test_a_stranger_s_cluster_is_not_there(cluster, project, person):
    from runs.accounts.models import Project

    Cluster.objects.filter(pk=cluster.pk).update(project=Project.objects.create(slug="other"))
    client = person()
    assert "is gone" in text(client.get(f"{PAGE}?cluster={cluster.pk}"))
    assert client.post(f"{PAGE}/clusters/{cluster.pk}/verdict").status_code == 404


def test_many_clusters_come_in_pages(project, person):
    made = [Cluster(project=project, digest=f"{n}", difference="facts", severity=3,
                    agent=f"a{n}", open_count=1) for n in range(120)]  # fmt: skip
    Cluster.objects.bulk_create(made)
    client, seen, address = person(), [], PAGE
    while address:
        page = text(client.get(address))
        seen += re.findall(r"<small>(a\d+) ·", page)
        following = re.search(r'href="(\?[^"]+)">more clusters', page)
        address = following and PAGE + following[1].replace("&amp;", "&")
    assert len(seen) == len(set(seen)) == 120


def test_the_page_costs_the_same_whatever_waits(cluster, person, django_assert_max_num_queries):
    for n in range(40):
        divergence = cluster.members.first()
        divergence.pk, divergence.public_id, divergence.seq = None, f"dv_{n}", 100 + n
        divergence.save(force_insert=True)
    client = person()
    client.get(PAGE)
    with django_assert_max_num_queries(26):
        text(client.get(f"{PAGE}?cluster={cluster.pk}"))
    with django_assert_max_num_queries(27):
        text(client.get(f"{PAGE}?cluster={cluster.pk}&tab=members"))


# --- Deciding ----------------------------------------------------------------------------------


def test_a_verdict_covers_the_cluster(cluster, person):
    answer = decide(person(), cluster, "regression", reason="the opening hours are wrong")
    event = ReviewEvent.objects.get()
    assert states(cluster) == ["regression", "regression"]
    assert (counts(cluster), event.count, event.signed) == ((0, 0, 2), 2, "Ada")
    assert event.reason == "the opening hours are wrong"
    assert answer["Location"] == f"{PAGE}?cluster={Cluster.objects.get(difference='tool_calls').pk}"
    assert Run.objects.get().to_review == 2


def test_a_verdict_on_one_leaves_the_others(cluster, person):
    decide(person(), cluster, "ignored", which="one")
    assert states(cluster) == ["open", "ignored"]
    assert counts(cluster)[0] == 1


def test_what_joins_later_is_open(cluster, person, replay):
    decide(person(), cluster, "ignored")
    replay(models=["openai:gpt-c"])
    assert states(cluster) == ["ignored", "ignored", "open"]


def test_what_joins_while_one_looks_is_not_covered(cluster, person, replay):
    client = person()
    looked_at = form(client, cluster)
    replay(models=["openai:gpt-c"])
    judge(client, cluster, looked_at, "ignored")
    assert states(cluster) == ["ignored", "ignored", "open"]


def test_the_history_says_who_and_why(cluster, person):
    client = person()
    decide(client, cluster, "ignored", reason="only words")
    page = text(client.get(f"{PAGE}?cluster={cluster.pk}&tab=history&state=ignored"))
    assert re.search(r"<b>Ada</b> <span>ignored: 2 divergences", page)
    assert "<q>only words</q>" in page


@pytest.mark.parametrize(
    ("data", "status"),
    [
        ({"verdict": "fine"}, 422),
        ({"reason": "x" * 2001}, 422),
        ({"version": "x"}, 400),
        ({"which": "some"}, 400),
        ({"which": "one", "one": "dv_no"}, 404),
        ({"up_to": str(10**30)}, 400),
    ],
)
def test_what_is_no_verdict_changes_nothing(cluster, person, data, status):
    client = person()
    sent = {**form(client, cluster), "verdict": "accepted", **data}
    assert client.post(f"{PAGE}/clusters/{cluster.pk}/verdict", sent).status_code == status
    assert states(cluster) == ["open", "open"]


def test_a_viewer_reads(cluster, person):
    client = person("Vic", "viewer")
    page = text(client.get(f"{PAGE}?cluster={cluster.pk}"))
    assert "<del>" in page and 'class="judge"' not in page


# --- Two people --------------------------------------------------------------------------------


def test_the_second_sees_what_the_first_decided(cluster, person):
    ada, bob = person("Ada"), person("Bob")
    looked_at = form(bob, cluster)
    decide(ada, cluster, "regression", reason="paid twice")
    page = text(judge(bob, cluster, looked_at, "accepted", data={"reason": "fine by me"}), 409)
    assert "Already decided by Ada: regression (“paid twice”)." in page
    assert "accepted — “fine by me”, not kept yet" in page
    assert states(cluster) == ["regression", "regression"]


def test_the_second_can_go_on_and_nothing_is_lost(cluster, person):
    ada, bob = person("Ada"), person("Bob")
    looked_at = form(bob, cluster)
    decide(ada, cluster, "regression", reason="paid twice")
    page = text(judge(bob, cluster, looked_at, "accepted", data={"reason": "fine"}), 409)
    [again] = re.findall(r'class="conflict.*?(<form.*?</form>)', page, re.S)
    sent = dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', again))
    assert judge(bob, cluster, sent, "accepted").status_code == 302
    events = ReviewEvent.objects.order_by("pk").values_list("signed", "verdict", "reason")
    assert list(events) == [("Ada", "regression", "paid twice"), ("Bob", "accepted", "fine")]
    assert (states(cluster), counts(cluster)) == (["accepted"] * 2, (0, 2, 0))


def test_two_on_one_divergence(cluster, person):
    ada, bob = person("Ada"), person("Bob")
    looked_at = {**form(bob, cluster), "which": "one"}
    decide(ada, cluster, "regression", which="one")
    page = text(judge(bob, cluster, looked_at, "ignored"), 409)
    assert "Already decided by Ada: regression." in page
    assert states(cluster) == ["open", "regression"]


def test_htmx_is_shown_the_conflict_too(cluster, person):
    ada, bob = person("Ada"), person("Bob")
    looked_at = form(bob, cluster)
    decide(ada, cluster, "regression")
    answer = judge(bob, cluster, looked_at, "accepted", headers=HX)
    assert "Already decided by Ada" in text(answer, 200)
    assert answer["HX-Push-Url"].startswith(f"{PAGE}?")


# --- Undo --------------------------------------------------------------------------------------


def undo(client: Client, event: ReviewEvent):
    return client.post(f"{PAGE}/events/{event.pk}/undo")


def test_undo_opens_again(cluster, person):
    client = person()
    decide(client, cluster, "regression")
    assert "Undo: regression 2" in text(client.get(PAGE))
    assert undo(client, ReviewEvent.objects.get()).status_code == 302
    assert (states(cluster), counts(cluster)) == (["open", "open"], (2, 0, 0))
    assert Run.objects.get().to_review == 4


def test_undo_twice_says_so(cluster, person):
    client = person()
    decide(client, cluster, "regression")
    event = ReviewEvent.objects.get()
    undo(client, event)
    assert "Ada took back a verdict" in text(undo(client, event), 409)


def test_undo_leaves_what_was_judged_anew(cluster, person):
    ada, bob = person("Ada"), person("Bob")
    decide(ada, cluster, "regression")
    first = ReviewEvent.objects.get()
    decide(bob, cluster, "ignored", which="one")
    undo(ada, first)
    assert states(cluster) == ["open", "ignored"]


def test_undo_of_a_second_verdict_brings_back_the_first(cluster, person):
    ada, bob = person("Ada"), person("Bob")
    decide(ada, cluster, "regression")
    decide(bob, cluster, "ignored", which="one")
    undo(bob, ReviewEvent.objects.latest("pk"))
    assert (states(cluster), counts(cluster)) == (["regression"] * 2, (0, 0, 2))


# --- Assign, comment, minimum ------------------------------------------------------------------


def test_two_of_one_name_are_told_apart_where_one_is_chosen(cluster, person, make_member):
    names = ("sam@a.example", "sam@b.example")
    User.objects.filter(pk__in=[make_member("member", one).pk for one in names]).update(name="Sam")
    page = text(person().get(PAGE))
    assert [page.count(f">Sam ({one})<") for one in names] == [2, 2]
    assert ">Ada (" not in page


def test_an_assigned_cluster_is_in_one_s_queue(cluster, person):
    ada, bob = person("Ada"), person("Bob")
    whom = User.objects.get(name="Bob").pk
    ada.post(f"{PAGE}/clusters/{cluster.pk}/assignment", {"whom": whom})
    assert text(bob.get(f"{PAGE}?assignee=me")).count('class="cluster"') == 1
    assert "My queue 1" in text(bob.get(PAGE))
    page = text(ada.get(f"{PAGE}?cluster={cluster.pk}&tab=history"))
    assert "assigned it to Bob" in page


def test_only_members_can_be_given_one(cluster, person):
    stranger = User.objects.create_user("x@example.com")
    answer = person().post(f"{PAGE}/clusters/{cluster.pk}/assignment", {"whom": stranger.pk})
    assert answer.status_code == 404


def test_a_comment_mentions_and_leads_back(cluster, person):
    ada, bob = person("Ada"), person("Bob")
    one = cluster.members.latest("pk")
    answer = ada.post(f"{PAGE}/divergences/{one.public_id}/comments", {"text": "@Bob look"})
    assert answer["Location"] == f"{PAGE}/divergences/{one.public_id}#comments"
    assert '<span class="mention' in text(ada.get(f"{PAGE}?cluster={cluster.pk}"))
    assert Mention.objects.get().user.name == "Bob"
    assert f"{PAGE}/divergences/{one.public_id}#c" in text(bob.get("/p/acme/inbox"))
    page = text(ada.get(f"/p/acme/runs/run-1?at={one.seq}"))
    assert "look</p>" not in page


def test_an_empty_comment_is_refused_in_place(cluster, person):
    one = cluster.members.first()
    answer = person().post(f"{PAGE}/divergences/{one.public_id}/comments", {"text": " "})
    assert "A comment needs some words." in text(answer, 422)


def test_an_admin_sets_the_minimum_class(found, person):
    boss, ada = person("Boss", "admin"), person("Ada")
    assert ada.post(f"{PAGE}/minimum", {"minimum": "wording"}).status_code == 403
    assert boss.post(f"{PAGE}/minimum", {"minimum": "same"}).status_code == 400
    assert boss.post(f"{PAGE}/minimum", {"minimum": "wording"}).status_code == 302
    assert '<option value="wording" selected>' in text(boss.get(PAGE))


# --- Baselines ---------------------------------------------------------------------------------


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
    return [" ".join(re.sub(r"<[^>]+>", " ", row).split()) for row in rows]


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
    from runs import curate

    decide(person(), cluster, "accepted")
    curate.delete_run(Run.objects.get())
    assert (Baseline.objects.count(), Divergence.objects.count()) == (0, 0)
