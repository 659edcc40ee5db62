"""A filter costs no more than its page: each is read along an index, whatever it finds."""

from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from django.db.models.sql.compiler import SQLCompiler
from django.http import QueryDict
from django.test.utils import CaptureQueriesContext
from query_plan import plan, shrink

from runs.accounts.models import Project
from runs.lists import matching
from runs.lists.filters import RunFilterForm
from runs.models import Run, RunLabel

START = datetime(2026, 11, 1, tzinfo=UTC)


@pytest.fixture
def thirty_runs(project) -> None:
    times = [START + timedelta(hours=n) for n in range(30)]
    runs = [
        Run(
            project=project, external_id=f"r{n:02}", source="rig", sort_at=times[n],
            status=("succeeded", "failed", "cancelled")[n % 3], agent="desk" if n % 2 else "",
            cost=n / 10 if n % 5 else None, duration_ms=n * 1000.0, error_count=n % 3 == 1,
            is_replay=n % 7 == 0, to_review=n % 14 == 0, session_id=f"s{n % 4}",
            comment_count=n % 9 == 0,
        )
        for n in range(30)
    ]  # fmt: skip
    Run.objects.bulk_create(runs)
    RunLabel.objects.bulk_create(
        RunLabel(run=run, project=project, kind=kind, value=f"{kind}{n % size}", sort_at=times[n])
        for n, run in enumerate(Run.objects.order_by("external_id"))
        for kind, size in (("tool", 2), ("tag", 5))
    )  # fmt: skip
    shrink("runs_run")


def statements(project, query: str) -> list[str]:
    with CaptureQueriesContext(connection) as seen:
        RunFilterForm(QueryDict(query)).page(project)
    return [asked["sql"] for asked in seen.captured_queries]


@pytest.mark.parametrize(
    ("query", "index"),
    [
        ("", "run_started"),
        ("agent=desk", "run_agent"),
        ("version=7", "run_version"),
        ("status=failed", "run_status"),
        ("environment=x", "run_environment"),
        ("session=s1", "run_session"),
        ("user=u1", "run_end_user"),
        ("has_errors=yes", "run_with_errors"),
        ("review=yes", "run_to_review"),
        ("comments=yes", "run_commented"),
        ("kind=replay", "run_replays"),
        ("tag=tag1", "label_value"),
        ("since=2026-11-01T05:00", "run_started"),
    ],
)
def test_one_filter_is_one_query_along_its_index(project, thirty_runs, query, index) -> None:
    (statement,) = statements(project, query)
    taken = plan(statement)
    assert index in taken
    assert "ORDER BY" not in taken and "Sort" not in taken


@pytest.mark.parametrize(
    ("query", "index"),
    [
        ("cost_min=2.8", "run_cost"),
        ("cost_max=0.1", "run_cost"),
        ("duration_min=28", "run_duration"),
        ("duration_min=28&sort=started", "run_duration"),
        ("environment=&cost_min=2.8", "run_cost"),
        ("tool=tool1&tag=tag1", "label_value"),
    ],
)
def test_what_few_runs_pass_is_found_first(project, thirty_runs, query, index) -> None:
    *asked_first, rows = statements(project, query)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE runs_run")  # PostgreSQL knows then which index has few of them
    assert index in plan(asked_first[-1])
    assert '"runs_run"."id" IN (' in rows


@pytest.mark.parametrize(
    "query", ["status=failed&status=cancelled", "agent=desk&session=s1", "kind=replay&agent=desk"]
)
def test_of_several_filters_one_that_few_pass_gives_the_keys(project, thirty_runs, query) -> None:
    assert '"runs_run"."id" IN (' in statements(project, query)[-1]


def test_what_many_runs_pass_is_read_in_time(project, thirty_runs, monkeypatch) -> None:
    monkeypatch.setattr(matching, "FEW", 3)
    assert "run_started" in plan(statements(project, "cost_min=0.1&duration_min=1")[-1])


@pytest.mark.parametrize("few", [0, 3, 500])
@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("cost_min=2.6", "29 28 27 26"),
        ("cost_min=2.6&agent=desk", "29 27"),
        ("cost_min=2.6&cost_max=2.8", "28 27 26"),
        ("duration_min=25&duration_max=27&sort=started", "25 26 27"),
        ("kind=replay&has_errors=yes", "28 07"),
        ("kind=replay&review=no", "21 07"),
        ("review=yes&session=s0", "28 00"),
        ("tool=tool1&tag=tag1&status=failed", "01"),
        ("tag=tag1&cost_min=2", "26 21"),
        ("status=failed&status=cancelled&since=2026-11-02T03:00", "29 28"),
        ("session=s1&agent=nobody", ""),
    ],
)
def test_the_same_runs_are_found_whichever_way(
    project, thirty_runs, monkeypatch, few, query, found
) -> None:
    monkeypatch.setattr(matching, "FEW", few)
    runs = RunFilterForm(QueryDict(query)).page(project).runs
    assert [run.external_id for run in runs] == [f"r{n}" for n in found.split()]
    assert not RunFilterForm(QueryDict(query)).page(Project.objects.create(slug="b", name="B")).runs


@pytest.mark.parametrize(("few", "count"), [(500, 3), (0, 2)])
def test_filters_asked_for_together_before_are_few_queries_and_no_sql_is_made(
    project, thirty_runs, monkeypatch, django_assert_num_queries, few, count
) -> None:
    monkeypatch.setattr(matching, "FEW", few)
    query = "agent=desk&status={}&tool={}&cost_min={}&has_errors=no"
    assert not RunFilterForm(QueryDict(query.format("failed", "tool1", "0.5"))).page(project).runs
    monkeypatch.setattr(SQLCompiler, "as_sql", None)
    with django_assert_num_queries(count):
        runs = RunFilterForm(QueryDict(query.format("cancelled", "tool1", "1"))).page(project).runs
    assert [run.external_id for run in runs] == ["r29", "r23", "r17", "r11"]
