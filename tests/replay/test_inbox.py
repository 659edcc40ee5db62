"""One inbox for what others said to a person and gave them, by two who are signed in."""

from __future__ import annotations

import re
from datetime import timedelta

import factories
import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from replay.models import Cluster, Notice
from replay.views import inbox
from runs.accounts.models import User
from runs.comments.models import Comment, Mention

pytestmark = pytest.mark.django_db
INBOX = "/p/acme/inbox"


@pytest.fixture
def two(person) -> tuple[Client, Client]:
    """Ada and Bob, signed in."""
    return person("Ada"), person("Bob")


@pytest.fixture
def cluster(project) -> Cluster:
    return Cluster.objects.create(
        project=project, digest="d", difference="facts", severity=3, agent="desk", open_count=2
    )


@pytest.fixture
def run(store):
    return store(factories.log(factories.completion(1), factories.tool(2)))


def give(client: Client, cluster: Cluster, name: str) -> None:
    whom = User.objects.get(name=name).pk if name else ""
    client.post(f"/p/acme/review/clusters/{cluster.pk}/assignment", {"whom": whom})


def say(client: Client, text: str) -> None:
    client.post("/p/acme/runs/run-1/effects/2/comments", {"text": text})


def shown(client: Client, query: str = "") -> str:
    return client.get(f"{INBOX}{query}").content.decode()


def unread(client: Client) -> str:
    page = client.get("/p/acme/runs").content.decode()
    return re.search(r'id="unread">(?:<b aria-hidden="true">(\d+)</b>)?', page)[1] or ""


def kinds(page: str) -> list[str]:
    return re.findall(r">(on|gave you)</span>", page)


def test_who_is_given_a_cluster_is_told_and_led_there(two, cluster):
    ada, bob = two
    give(ada, cluster, "Bob")
    assert (unread(ada), unread(bob)) == ("", "1")
    page = shown(bob)
    assert "<b>Ada</b>" in page and "2 to review" in page
    assert f'href="/p/acme/review?cluster={cluster.pk}">facts in desk</a>' in page
    assert "Nothing is here for you" in shown(ada)


def test_one_of_a_judged_cluster_is_led_to_where_it_is_listed(two, cluster):
    ada, bob = two
    give(ada, cluster, "Bob")
    Cluster.objects.update(open_count=0, regression_count=2)
    assert f"/p/acme/review?state=regression&amp;cluster={cluster.pk}" in shown(bob)


def test_nobody_is_told_of_what_they_took_themselves_or_was_taken_away(two, cluster):
    ada, bob = two
    give(ada, cluster, "Ada")
    give(ada, cluster, "Bob")
    give(ada, cluster, "Ada")
    assert (unread(ada), unread(bob)) == ("", "")
    give(bob, cluster, "")
    assert not Notice.objects.exists()


def test_mentions_and_assignments_stand_together_newest_first(two, cluster, run, monkeypatch):
    ada, bob = two
    say(ada, "@Bob first")
    give(ada, cluster, "Bob")
    say(ada, "@Bob third")
    assert (kinds(shown(bob)), unread(bob)) == (["on", "gave you", "on"], "3")
    monkeypatch.setattr(inbox, "ROWS", 1)
    pages, query = [], ""
    for _ in range(3):
        page = shown(bob, query)
        pages += kinds(page)
        found = re.search(r'href="(\?before=[\d.]+)"', page)
        query = found[1] if found else ""
    assert (pages, query) == (["on", "gave you", "on"], "")


def test_they_are_read_one_by_one_or_all(two, cluster, run):
    ada, bob = two
    say(ada, "@Bob look")
    give(ada, cluster, "Bob")
    bob.post(INBOX, {"notice": Notice.objects.get().pk})
    assert (unread(bob), shown(bob).count("Mark as read")) == ("1", 1)
    bob.post(INBOX, {"comment": Comment.objects.get().pk})
    assert unread(bob) == ""
    say(ada, "@Bob again")
    give(ada, cluster, "")
    give(ada, cluster, "Bob")
    bob.post(INBOX)
    assert (unread(bob), kinds(shown(bob))) == ("", ["gave you", "on", "gave you", "on"])


def test_nobody_reads_for_another(two, cluster, run):
    ada, bob = two
    say(ada, "@Bob look")
    give(ada, cluster, "Bob")
    notice = Notice.objects.get()
    ada.post(INBOX, {"notice": notice.pk, "comment": Comment.objects.get().pk})
    ada.post(INBOX)
    bob.post(INBOX, {"notice": "x", "comment": "9" * 30})
    assert unread(bob) == "2"


def test_the_old_address_leads_there_and_marks_mentions_only(two, cluster, run):
    ada, bob = two
    say(ada, "@Bob look")
    give(ada, cluster, "Bob")
    assert bob.get("/p/acme/mentions")["Location"] == INBOX
    answer = bob.post("/p/acme/mentions", headers={"HX-Request": "true"}).content.decode()
    assert '<b aria-hidden="true">1</b>' in answer


@pytest.mark.parametrize("query", ["?before=", "?before=x", "?before=9999999999999999999.1"])
def test_a_place_that_cannot_be_is_no_error(two, query):
    assert two[0].get(f"{INBOX}{query}").status_code == 200


def test_a_long_inbox_asks_no_more_of_the_database(two, cluster, run):
    ada, bob = two
    say(ada, "@Bob look")
    give(ada, cluster, "Bob")
    shown(bob)
    with CaptureQueriesContext(connection) as few:
        shown(bob)
    user, now = User.objects.get(name="Bob"), timezone.now()
    Notice.objects.bulk_create(
        Notice(
            user=user, project=cluster.project, kind="assigned", cluster=cluster,
            created_at=now - timedelta(minutes=n),
        )
        for n in range(120)
    )  # fmt: skip
    comments = [Comment(run=run, seq=2, signed="Ada", text="@Bob") for _ in range(60)]
    Mention.objects.bulk_create(
        Mention(comment=one, user=user, project=cluster.project, name="Bob")
        for one in Comment.objects.bulk_create(comments)
    )
    with CaptureQueriesContext(connection) as many:
        page = shown(bob)
    assert (len(many), page.count("<article")) == (len(few), 50)
