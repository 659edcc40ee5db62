"""Any order, any filter: every run once, both ways, whatever comes, goes, or is unknown."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from django.db import connection
from django.http import QueryDict
from django.test.utils import CaptureQueriesContext
from query_plan import plan

from runs.lists import matching, paging
from runs.lists.filters import SORTS, RunFilterForm
from runs.models import Run, RunLabel

START = datetime(2026, 11, 1, tzinfo=UTC)
COLUMN = {"cost": "cost", "duration": "duration_ms", "tokens": "total_tokens",
          "effects": "effect_count", "started": "sort_at"}  # fmt: skip


@pytest.fixture
def runs(project) -> list[Run]:
    """24 runs: each value three times and more, every fifth without cost, duration or tokens."""
    made = [
        Run(
            project=project, external_id=f"r{n:02}", source="rig", status="succeeded",
            sort_at=START + timedelta(minutes=n // 3), agent="desk" if n % 2 else "night",
            cost=None if n % 5 == 0 else round(Decimal(n % 4) / 7, 12),
            duration_ms=None if n % 5 == 1 else (n % 3) * 0.1,
            total_tokens=None if n % 5 == 2 else n % 4, effect_count=n % 3,
        )
        for n in range(24)
    ]  # fmt: skip
    Run.objects.bulk_create(made)
    every = list(Run.objects.order_by("pk"))
    RunLabel.objects.bulk_create(
        RunLabel(run=run, project=project, kind="tag", value="vip", sort_at=run.sort_at)
        for run in every[::2]
    )
    return every


def by_hand(runs: list[Run], sort: str) -> list[str]:
    """What the order means: by value, then id; the unknown behind, by id the same way."""
    column, down = COLUMN[sort.lstrip("-")], sort.startswith("-")
    known = [run for run in runs if getattr(run, column) is not None]
    rest = [run for run in runs if getattr(run, column) is None]
    known.sort(key=lambda run: (getattr(run, column), run.pk), reverse=down)
    rest.sort(key=lambda run: run.pk, reverse=down)
    return [run.external_id for run in known + rest]


def listed(project, query: str, limit: int = 5):
    return RunFilterForm(QueryDict(query)).page(project, limit)


def walk(project, query: str, way: str, limit: int = 5, start="") -> list[str]:
    """All pages one way; what each gives is put where it stands in the list."""
    found: list[str] = []
    page = listed(project, f"{query}&{way}={start}", limit)
    for _ in range(100):
        ids = [run.external_id for run in page.runs]
        found = found + ids if way == "after" else ids + found
        cursor = page.next if way == "after" else page.previous
        if cursor is None:
            return found
        page = listed(project, f"{query}&{way}={cursor}", limit)
    raise AssertionError("no end of pages")


@pytest.mark.parametrize("sort", SORTS)
def test_each_order_gives_every_run_once_both_ways(project, runs, sort: str) -> None:
    expected = by_hand(runs, sort)
    assert walk(project, f"sort={sort}", "after") == expected
    last = listed(project, f"sort={sort}", 23)
    assert walk(project, f"sort={sort}", "before", start=last.next) == expected[:22]


@pytest.mark.parametrize("few", [0, 2000])
@pytest.mark.parametrize("look", [2, 7, 1000])
@pytest.mark.parametrize("query", ["agent=desk", "tag=vip", "since=2026-11-01T00:02&tag=vip"])
def test_filters_give_the_same_runs_however_they_are_found(
    project, runs, monkeypatch, query, look, few
) -> None:
    monkeypatch.setattr(matching, "FEW_SORTED", few)
    monkeypatch.setattr(paging, "LOOKED_AT", look)
    wanted = set(walk(project, query, "after"))
    expected = [name for name in by_hand(runs, "-cost") if name in wanted]
    assert len(expected) in (9, 12)
    assert walk(project, f"{query}&sort=-cost", "after", 4) == expected
    last = runs[[run.external_id for run in runs].index(expected[-1])]
    behind = paging.Cursor(last.cost, last.pk - 1)
    assert walk(project, f"{query}&sort=-cost", "before", 4, behind) == expected


def test_runs_that_come_and_go_move_nothing_else(project, runs) -> None:
    first = listed(project, "sort=-cost", 6)
    Run.objects.filter(pk=first.runs[-1].id).delete()  # the one the cursor was made of
    Run.objects.create(project=project, external_id="new", source="rig", status="succeeded",
                       sort_at=START, cost=Decimal(5))  # fmt: skip
    rest = walk(project, "sort=-cost", "after", start=first.next)
    assert rest == by_hand(runs, "-cost")[6:]
    back = listed(project, f"sort=-cost&before={first.next}", 6)
    assert [run.external_id for run in back.runs] == ["new", *by_hand(runs, "-cost")[:5]]


def test_where_nothing_is_left_the_way_back_leads_to_the_last(project, runs) -> None:
    page = listed(project, "sort=cost", 23)
    last = listed(project, f"sort=cost&after={page.next}").runs[0]
    after = paging.Cursor(last.cost, last.id)
    empty = listed(project, f"sort=cost&after={after}")
    assert not empty.runs
    assert listed(project, f"sort=cost&before={empty.previous}").runs[-1] == last


def test_a_page_of_what_is_rare_stops_after_its_share_and_goes_on(
    project, runs, monkeypatch
) -> None:
    monkeypatch.setattr(matching, "FEW_SORTED", 0)
    monkeypatch.setattr(paging, "LOOKED_AT", 10)
    Run.objects.filter(pk=runs[20].pk).update(agent="rare")
    page = listed(project, "agent=rare&sort=effects")
    assert (page.runs, page.stopped) == ([], True)
    assert walk(project, "agent=rare&sort=effects", "after") == ["r20"]


@pytest.mark.parametrize(
    ("sort", "index"),
    [("-cost", "run_cost"), ("duration", "run_duration"), ("-tokens", "run_tokens"),
     ("effects", "run_effects")],
)  # fmt: skip
@pytest.mark.parametrize("more", ["", "&agent=desk&tag=vip&since=2026-11-01T00:00&kind=original"])
def test_each_order_is_read_along_its_index(project, runs, monkeypatch, sort, index, more) -> None:
    monkeypatch.setattr(matching, "FEW_SORTED", 0)
    monkeypatch.setattr(paging, "LOOKED_AT", 20)
    with CaptureQueriesContext(connection) as seen:
        listed(project, f"sort={sort}{more}")
    rows = next(q["sql"] for q in seen.captured_queries if '"runs_run"."title"' in q["sql"])
    taken = plan(rows)
    assert index in taken
    assert "ORDER BY" not in taken and "Sort" not in taken


@pytest.mark.parametrize(
    "cursor", ["x.1", "nan.1", "inf.1", "1e400.1", "9" * 30 + ".1", "1.", ".", "1.-1", "%00.1"]
)
@pytest.mark.parametrize("sort", ["cost", "duration", "tokens", "effects"])
def test_a_place_that_is_none_is_named_and_left_out(project, runs, sort, cursor) -> None:
    form = RunFilterForm(QueryDict(f"sort={sort}&after={cursor}"))
    page = form.page(project, 30)
    assert len(page.runs) == 24 or (sort == "duration" and cursor[0] == "9")


def test_the_api_sorts_and_pages_alike(api, project, runs) -> None:
    seen, path = [], "/api/v1/runs?sort=-tokens&agent=desk&limit=5"
    answer = api("GET", path).json()
    seen += answer["results"]
    while answer["next"]:
        answer = api("GET", f"{path}&cursor={answer['next']}").json()
        seen += answer["results"]
    wanted = [run for run in runs if run.agent == "desk"]
    assert [run["id"] for run in seen] == by_hand(wanted, "-tokens")
