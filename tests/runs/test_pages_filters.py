"""Filters and pages of the run list, on rows made by hand."""

import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from urllib.parse import urlencode

import pytest
from django.http import QueryDict
from django.test import Client
from django.utils import timezone

from runs.lists.filters import RunFilterForm
from runs.lists.paging import Cursor
from runs.models import Run, RunLabel

START = datetime(2026, 11, 1, tzinfo=UTC)


@pytest.fixture
def make_run(project):
    def make(name: str, minutes: int = 0, labels: tuple = (), **fields) -> Run:
        at = START + timedelta(minutes=minutes)
        fields = {"status": "succeeded", "source": "rig", **fields}
        run = Run.objects.create(project=project, external_id=name, sort_at=at, **fields)
        for kind, value in labels:
            RunLabel.objects.create(run=run, project=project, kind=kind, value=value, sort_at=at)
        return run

    return make


def names(project, query: str, limit: int = 50) -> list[str]:
    return [run.external_id for run in listed(project, query, limit).runs]


def listed(project, query: str, limit: int = 50):
    return RunFilterForm(QueryDict(query)).page(project, limit)


def walk(project, query: str, limit: int) -> list[str]:
    seen, page = [], listed(project, query, limit)
    seen += [run.external_id for run in page.runs]
    while page.next:
        page = listed(project, f"{query}&after={page.next}", limit)
        seen += [run.external_id for run in page.runs]
    return seen


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("agent=desk", ["b", "a"]),
        ("agent=desk&version=18", ["a"]),
        ("status=failed&status=running", ["c", "b"]),
        ("environment=production", ["a"]),
        ("user=u1", ["a"]),
        ("session=s1", ["c"]),
        ("cost_min=0.5", ["c"]),
        ("cost_max=0.5", ["a"]),
        ("duration_min=2&duration_max=4", ["b"]),
        ("has_errors=yes", ["b"]),
        ("review=yes", ["c"]),
        ("kind=replay", ["c"]),
        ("model=gpt-4o", ["c", "a"]),
        ("model=gpt-4o&tool=search&tag=vip", ["a"]),
        ("tool=search&agent=desk", ["a"]),
        ("since=2026-11-01T00:01&until=2026-11-01T00:02", ["b"]),
        ("sort=started", ["a", "b", "c"]),
    ],
)
def test_each_filter_finds_its_runs(project, make_run, query: str, found: list[str]) -> None:
    vip = (("model", "gpt-4o"), ("tool", "search"), ("tag", "vip"))
    make_run("a", 0, vip, agent="desk", agent_version="18", environment="production",
             end_user="u1", cost=Decimal("0.1"), duration_ms=1000.0)  # fmt: skip
    make_run("b", 1, agent="desk", status="failed", error_count=2, duration_ms=3000.0)
    make_run("c", 2, (("model", "gpt-4o"),), status="running", session_id="s1", is_replay=True,
             cost=Decimal("2"), to_review=1)  # fmt: skip
    assert names(project, query) == found


@pytest.mark.parametrize("query", ["", "sort=started", "tag=vip", "tag=vip&sort=started"])
def test_pages_hold_every_run_once_though_many_started_at_once(project, make_run, query) -> None:
    made = [make_run(f"r{n}", n // 4, (("tag", "vip"),)).external_id for n in range(11)]
    expected = made if "started" in query else made[::-1]
    assert walk(project, query, 3) == expected


def test_going_back_gives_the_page_one_came_from(project, make_run) -> None:
    for n in range(7):
        make_run(f"r{n}", n)
    second = listed(project, f"after={listed(project, '', 3).next}", 3)
    back = listed(project, f"before={second.previous}", 3)
    assert [run.external_id for run in back.runs] == ["r6", "r5", "r4"]
    assert back.previous is None
    assert back.next is not None


def test_a_new_run_moves_nothing_on_the_page_one_reads(project, make_run) -> None:
    for n in range(6):
        make_run(f"r{n}", n)
    cursor = listed(project, "", 2).next
    make_run("late", 99)
    assert names(project, f"after={cursor}", 2) == ["r3", "r2"]


def test_another_projects_runs_are_never_listed(project, make_run) -> None:
    from runs.accounts.models import Project

    make_run("mine")
    assert names(Project.objects.create(slug="other", name="Other"), "") == []


@pytest.mark.parametrize(
    "query",
    ["cost_min=cheap", "status=exploded", "after=1.x", "after=9e99.1", "after=" + "9" * 60 + ".1",
     "since=yesterday", "agent=%00", "duration_min=-1", "last=eternity", "before=.."],
)  # fmt: skip
def test_what_cannot_be_understood_is_named_and_left_out(project, make_run, query: str) -> None:
    make_run("a")
    form = RunFilterForm(QueryDict(query))
    assert names(project, query) == ["a"]
    assert list(form.errors) == [query.partition("=")[0]]


@pytest.mark.parametrize(
    ("path", "field"),
    [("runs?has_eror=yes", "has_eror"), ("runs?after=x", "after"), ("search?q=a&x%00=1", "x␀"),
     ("runs/a/effects?familly=tool", "familly"), ("replays?runn=a", "runn"),
     ("divergences?stat=open", "stat"), ("verdicts/export?stat=open", "stat"),
     ("experiments?before=1", "before"), ("compare?a=a&b=a&chnged=1", "chnged"),
     ("verdicts/export?limit=5", "limit"), ("runs/a/effects/1/comments?befor=1", "befor"),
     (f"runs?{'y' * 5000}=1", None)],
)  # fmt: skip
def test_the_api_refuses_a_parameter_it_does_not_know(api, make_run, path, field) -> None:
    make_run("a")
    answer = api("GET", f"/api/v1/{path}")
    refused = answer.json()["error"]
    assert (answer.status_code, refused["code"]) == (422, "unknown_field")
    assert refused["field"] == field or (field is None and len(refused["field"]) == 60)


def test_a_page_says_what_it_left_out_and_leads_on_without_it(member_client, make_run) -> None:
    make_run("a", agent="desk")
    page = member_client.get("/p/acme/runs?has_eror=yes&agent=desk").text
    assert "Unknown filter <b>has_eror (did you mean has_errors?)</b>" in page
    assert 'href="?agent=desk">Take it out of the address' in page
    assert "Unknown filter" not in member_client.get("/p/acme/runs?agent=desk&view=all").text


@pytest.mark.parametrize(
    ("page", "unknown", "left"),
    [
        ("runs", "has_eror=yes", "view=all"),
        ("search", "famly=tool", ""),
        ("sessions", "agent=desk", ""),
        ("session", "id=s&form=json", "id=s"),
        ("agents", "sort=cost", ""),
        ("agent", "name=desk&versoin=2", "name=desk"),
        ("compare", "a=a&chnged=on", "a=a"),
        ("replays", "statos=failed", ""),
        ("experiments", "status=failed", ""),
        ("datasets", "name=mine", ""),
        ("review", "state=open&asignee=me", "state=open"),
        ("baselines", "revokd=on", ""),
        ("inbox", "unread=1", ""),
        ("review", "replay=r&of=facts", "of=facts"),
        ("review", "state=resolved&of=facts", "of=facts"),
        ("review", "of=facts&assignee=Ada&cluster=x", "of=facts"),
        ("replays", "status=fialed&mode=prompt", "mode=prompt"),
        ("baselines", "before=x", ""),
    ],
)
def test_each_page_names_a_filter_that_it_does_not_know(
    member_client, make_run, page: str, unknown: str, left: str
) -> None:
    make_run("a", agent="desk", session_id="s")
    told = member_client.get(f"/p/acme/{page}?{unknown}").text
    assert re.search("Unknown filters? <b>", told)
    assert re.search(rf'href="\?{left}">Take (it|them) out of the address', told)
    assert "Unknown filter" not in member_client.get(f"/p/acme/{page}?{left}").text


def test_a_chip_can_be_taken_off_and_keeps_the_rest() -> None:
    form = RunFilterForm(QueryDict("agent=desk&status=failed&status=running&after=1.2"))
    chips = {(chip.label, chip.said): chip.without for chip in form.chips()}
    assert chips == {
        ("agent", "desk"): "status=failed&status=running",
        ("status", "failed"): "agent=desk&status=running",
        ("status", "running"): "agent=desk&status=failed",
    }
    assert form.query(after="5.6") == "agent=desk&status=failed&status=running&after=5.6"


def test_a_cursor_reads_back_as_it_was_written() -> None:
    cursor = Cursor(datetime(1969, 7, 20, 20, 17, 40, 123456, tzinfo=UTC), 7)
    assert Cursor.parse(str(cursor)) == cursor


@pytest.mark.parametrize("query", ["agent=café", "agent=caf%C3%A9", "last=1h&agent=café"])
def test_an_address_may_hold_letters_as_they_are(api_key, make_run, query: str) -> None:
    make_run("a", agent="café")
    make_run("b")
    Run.objects.update(sort_at=timezone.now())
    sent = {"QUERY_STRING": query.encode().decode("latin-1")}  # as WSGI hands it on
    for _ in range(2):
        answer = Client().get(
            "/api/v1/runs", headers={"Authorization": f"Bearer {api_key}"}, **sent
        )
        assert [run["id"] for run in answer.json()["results"]] == ["a"]


def test_a_kept_filter_goes_by_the_clock(api, make_run) -> None:
    make_run("a")
    Run.objects.update(sort_at=timezone.now() - timedelta(minutes=59))
    assert len(api("GET", "/api/v1/runs?last=1h").json()["results"]) == 1
    Run.objects.update(sort_at=timezone.now() - timedelta(minutes=61))
    assert api("GET", "/api/v1/runs?last=1h").json()["results"] == []


@pytest.mark.parametrize("name", ["since", "until"])
@pytest.mark.parametrize("edge", ["9999-12-31T23:59:59-14:00", "0001-01-01T00:00:00+14:00"])
def test_a_time_beyond_the_calendar_is_named(api, member_client, make_run, name, edge) -> None:
    make_run("a")
    query = urlencode({name: edge})
    answer = api("GET", f"/api/v1/runs?{query}")
    assert (answer.status_code, answer.json()["error"]["field"]) == (422, name)
    assert "beyond the calendar" in member_client.get(f"/p/acme/runs?{query}").content.decode()


def test_a_time_with_an_offset_is_that_instant_and_shown_in_utc(member_client, make_run) -> None:
    make_run("a")  # at midnight, UTC
    late, early = "2026-11-01T05:31+05:30", "2026-11-01T05:29+05:30"
    assert "No run matches" in member_client.get("/p/acme/runs", {"since": late}).text
    page = member_client.get("/p/acme/runs", {"since": early}).text
    assert 'value="2026-10-31T23:59"' in page and "Started from (UTC)" in page
    assert "from <time" in page and ">2026-10-31 23:59 UTC</time>" in page
