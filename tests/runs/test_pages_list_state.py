"""The list's columns, views and default, what keeps it fresh, and pages of sessions and agents."""

import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from django.db.models import F
from django.test import Client

from runs.models import Run, RunLabel, SavedView

START = datetime(2026, 11, 1, tzinfo=UTC)


@pytest.fixture
def make_run(project):
    def make(name: str, minutes: int = 0, tags: tuple = (), **fields) -> Run:
        at = START + timedelta(minutes=minutes)
        fields = {"status": "succeeded", "source": "rig", **fields}
        run = Run.objects.create(project=project, external_id=name, sort_at=at, **fields)
        for tag in tags:
            RunLabel.objects.create(run=run, project=project, kind="tag", value=tag, sort_at=at)
        return run

    return make


@pytest.fixture
def as_role(make_member):
    def sign_in(role: str, email: str = "") -> Client:
        client = Client()
        client.force_login(make_member(role, email), "django.contrib.auth.backends.ModelBackend")
        return client

    return sign_in


def heads(page: str) -> list[str]:
    head = re.search(r"<thead>.*?</thead>", page, re.S)
    assert head
    return re.findall(r">([A-Z][a-z]+)[ ↑↓]*<", head[0])


def shown(page: str) -> list[str]:
    return re.findall(r'data-pick name="run" value="([^"]+)"', page)


def test_columns_and_page_size_are_in_the_address(member_client, make_run) -> None:
    for n in range(30):
        make_run(f"r{n:02}", n, tags=("vip", "eu"), session_id="s 1", cost=Decimal("0.25"))
    page = member_client.get("/p/acme/runs?col=tags&col=cost&col=session&rows=25").text
    assert heads(page) == ["Status", "Run", "Cost", "Session", "Tags"]
    assert len(shown(page)) == 25
    assert page.count('<span class="tag muted">vip</span>') == 25
    assert "/p/acme/session?id=s+1" in page


def test_a_head_sorts_and_turns_the_order_around(member_client, make_run) -> None:
    make_run("cheap", 0, cost=Decimal("0.1"))
    make_run("dear", 1, cost=Decimal(3))
    make_run("unknown", 2)
    first = member_client.get("/p/acme/runs?status=succeeded").text
    assert 'href="?status=succeeded&amp;sort=-cost"' in first
    page = member_client.get("/p/acme/runs?status=succeeded&sort=-cost").text
    assert shown(page) == ["dear", "cheap", "unknown"]
    assert 'aria-sort="descending"' in page
    assert 'href="?status=succeeded&amp;sort=cost"' in page


def test_each_filter_in_use_is_taken_off_by_itself(member_client, make_run) -> None:
    make_run("a", agent="desk", agent_version="18")
    page = member_client.get("/p/acme/runs?agent=desk&version=18&sort=-cost").text
    chips = re.findall(r'href="\?([^"]*)" aria-label="Remove the filter ([^"]+)"', page)
    assert chips == [
        ("version=18&amp;sort=-cost", "agent desk"),
        ("agent=desk&amp;sort=-cost", "version 18"),
    ]


def test_a_rare_find_is_said_to_be_looked_for_further_on(
    member_client, make_run, monkeypatch
) -> None:
    monkeypatch.setattr("runs.lists.paging.LOOKED_AT", 2)
    monkeypatch.setattr("runs.lists.matching.FEW_SORTED", 0)
    for n in range(6):
        make_run(f"r{n}", n, agent="rare" if n == 0 else "desk", effect_count=n)
    page = member_client.get("/p/acme/runs?agent=rare&sort=-effects").text
    assert "None among the next" in page
    on = re.search(r'href="(\?[^"]+after=[^"]+)" data-key="\]"', page)
    assert on
    assert shown(member_client.get(f"/p/acme/runs{on[1].replace('&amp;', '&')}").text) == ["r0"]


# --- Saved views ---------------------------------------------------------------------------------


def save(client, name: str, query: str, **more: str):
    return client.post("/p/acme/views", {"name": name, "query": query, **more})


def test_a_view_brings_back_the_list_it_was_saved_from(member_client, make_run) -> None:
    make_run("a", agent="desk")
    make_run("b", 1, agent="night")
    address = save(member_client, "Desk", "agent=desk&col=cost&sort=-cost&after=1.2")["Location"]
    page = member_client.get(address).text
    assert shown(page) == ["a"]
    assert heads(page) == ["Status", "Run", "Cost"]
    assert ">Desk</span>" in page
    assert "Desk" in member_client.get("/p/acme/views", headers={"HX-Request": "true"}).text


def test_views_are_a_persons_own_or_the_projects(as_role, make_run) -> None:
    one, other, viewer = as_role("member"), as_role("owner"), as_role("viewer")
    save(one, "mine", "agent=a")
    save(one, "ours", "agent=b", shared="on")
    page = other.get("/p/acme/views").text
    assert ">ours<" in page and ">mine<" not in page
    mine = SavedView.objects.get(name="mine")
    assert other.post(f"/p/acme/views/{mine.pk}", {"do": "delete"}).status_code == 404
    assert save(viewer, "all", "", shared="on").status_code == 403
    assert save(viewer, "own", "agent=c").status_code == 302


def test_the_list_opens_with_ones_own_default_before_the_projects(as_role, make_run) -> None:
    one, other = as_role("member"), as_role("owner")
    save(one, "ours", "agent=b", shared="on", default="on")
    save(one, "mine", "agent=a", default="on")
    assert "agent=a" in one.get("/p/acme/runs")["Location"]
    assert "agent=b" in other.get("/p/acme/runs")["Location"]
    assert one.get("/p/acme/runs?view=all").status_code == 200
    save(one, "newer", "agent=c", default="on")
    assert SavedView.objects.filter(is_default=True).count() == 2
    mine = SavedView.objects.get(name="newer")
    one.post(f"/p/acme/views/{mine.pk}", {"do": "delete"})
    assert "agent=b" in one.get("/p/acme/runs")["Location"]


def test_the_same_name_again_replaces_the_view(member_client, make_run) -> None:
    save(member_client, "Desk", "agent=a")
    save(member_client, "Desk", "agent=b")
    assert SavedView.objects.get().query == "agent=b"
    save(member_client, "", "agent=b")
    save(member_client, "x" * 81, "agent=b")
    save(member_client, "\u202e", "agent=b")
    assert SavedView.objects.count() == 1


# --- What keeps it fresh -------------------------------------------------------------------------


def news_of(client, page: str) -> str:
    asked = re.search(r'id="news"[^>]* hx-get="([^"]+)"', page)
    assert asked
    return client.get(asked[1].replace("&amp;", "&")).text


def test_new_runs_that_match_are_counted_and_nothing_else(member_client, make_run) -> None:
    make_run("a", agent="desk")
    page = member_client.get("/p/acme/runs?agent=desk&sort=-cost").text
    assert " new</b>" not in news_of(member_client, page)
    make_run("b", -99, agent="desk")
    make_run("c", 99, agent="night")
    found = news_of(member_client, page)
    assert "<b>1 new</b>" in found
    assert 'href="/p/acme/runs?agent=desk&amp;sort=-cost"' in found
    for n in range(100):
        make_run(f"n{n}", n, agent="desk")
    assert "<b>99+ new</b>" in news_of(member_client, page)


def test_pages_behind_the_first_announce_nothing(member_client, make_run) -> None:
    make_run("a")
    assert 'id="news"' not in member_client.get("/p/acme/runs?before=1.1").text


def test_rows_of_running_runs_come_in_one_request_until_they_end(member_client, make_run) -> None:
    for name, status in (("a", "running"), ("b", "succeeded"), ("c", "running")):
        make_run(name, status=status)
    page = member_client.get("/p/acme/runs?col=effects").text
    asked = re.search(r'id="live"[^>]* hx-get="([^"]+)"', page)
    assert asked
    address = asked[1].replace("&amp;", "&")
    Run.objects.filter(external_id="a").update(status="failed", effect_count=1234)
    rows = member_client.get(address).text
    assert sorted(shown(rows)) == ["a", "c"]
    assert "1,234" in rows
    assert "run=c&amp;col=effects" in rows and "run=a" not in rows
    Run.objects.update(status="succeeded")
    assert "hx-trigger" not in member_client.get(address).text


@pytest.mark.parametrize("start", ["", "x", "-1", "9" * 30, "１"])
def test_news_from_nowhere_is_not_found(member_client, start: str) -> None:
    assert member_client.get(f"/p/acme/list/news?from={start}").status_code == 404


# --- Sessions and agents -------------------------------------------------------------------------


def test_a_session_shows_its_runs_in_order(member_client, make_run) -> None:
    for name, minutes in (("second", 5), ("first", 1), ("third", 9)):
        make_run(name, minutes, session_id="a/b ü")
    make_run("else", 2, session_id="other")
    listing = member_client.get("/p/acme/sessions").text
    address = re.search(r'href="(/p/acme/session\?[^"]+)">a/b', listing)
    assert address
    assert shown(member_client.get(address[1]).text) == ["first", "second", "third"]
    assert member_client.get("/p/acme/session?id=none").status_code == 404


def test_an_agent_shows_the_figures_of_its_versions(member_client, make_run) -> None:
    known = {"total_tokens": 1000, "tokens_complete": True, "cost_complete": True}
    make_run("a", 0, agent="desk", agent_version="1", cost=Decimal("0.5"), duration_ms=100, **known)
    make_run("b", 1, agent="desk", agent_version="1", cost=Decimal("0.25"), duration_ms=300,
             status="failed", **known)  # fmt: skip
    make_run("c", 2, agent="desk", agent_version="2")
    page = member_client.get("/p/acme/agent?name=desk").text
    rows = re.findall(r"<tr data-row>(.*?)</tr>", page)
    cells = [[re.sub("<[^>]+>", "", c) for c in re.findall(r"<td.*?</td>", row)] for row in rows]
    assert [row[:6] for row in cells] == [
        ["2", "1", "0", "—", "—", "—"],
        ["1", "2", "1", "200 ms", "2,000", "$0.7500"],
    ]
    assert "/p/acme/runs?agent=desk&amp;version=1" in page
    assert "/p/acme/agent?name=desk" in member_client.get("/p/acme/agents").text
    assert member_client.get("/p/acme/agent?name=nobody").status_code == 404


def test_first_and_last_are_recorded_times_where_a_log_has_any(member_client, make_run) -> None:
    for name, minutes, agent in (("a", 5, "timed"), ("b", 9, "timed"), ("c", 1, "untold")):
        make_run(name, minutes, agent=agent)
    timed = Run.objects.filter(agent="timed")
    timed.update(started_at=F("sort_at"))
    make_run("came in later", 30, agent="timed")
    rows = re.findall(r"<tr data-row>.*?</tr>", member_client.get("/p/acme/agents").text)
    minutes = [re.findall(r'<time datetime="[^"T]+T\d\d:(\d\d)', row) for row in rows]
    assert minutes == [["05", "09"], ["01", "01"]]
    assert ["received" in row for row in rows] == [False, True]


@pytest.mark.parametrize("path", ["sessions", "session?id=s", "agents", "agent?name=desk"])
def test_small_pages_cost_few_queries(
    member_client, make_run, path: str, django_assert_max_num_queries
) -> None:
    for n in range(20):
        make_run(f"r{n}", n, session_id="s", agent="desk", agent_version=str(n))
    with django_assert_max_num_queries(9):
        assert member_client.get(f"/p/acme/{path}").status_code == 200
