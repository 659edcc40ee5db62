"""The review page and what is done on it, without JavaScript: verdicts, undo, two at once."""

from __future__ import annotations

import re

import pytest
from reviewing import PAGE, counts, decide, form, judge, states, text, undo

from replay.models import Cluster, Replay, ReviewEvent
from runs.accounts.models import User
from runs.comments.models import Mention
from runs.models import Run

HX = {"HX-Request": "true", "HX-Target": "review"}


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
    assert "There is no experiment ex_no" in text(person("Bob").get(f"{PAGE}?experiment=ex_no"))


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


def test_a_form_with_a_version_there_never_was_says_so(person, cluster):
    ada = person("Ada")
    sent = form(ada, cluster) | {"version": "7"}
    page = text(judge(ada, cluster, sent, "accepted"), 422)
    assert "There is no such version; it is at 0." in page
    assert set(states(cluster)) == {"open"}


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


def test_a_filter_for_an_experiment_that_is_not_there_says_so(found, member_client):
    page = member_client.get("/p/acme/review", {"experiment": "ex_gone"}).content.decode()
    assert "There is no experiment ex_gone" in page
    assert '<option value="ex_gone" selected>ex_gone: not there</option>' in page
