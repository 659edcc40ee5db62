"""Statements made once do what the same ones of the ORM do, on both databases."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.db.models import F
from django.db.models.functions import Coalesce
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from runs import statements
from runs.accounts.models import Project
from runs.models import Run, RunStatus

THEN = datetime(2026, 11, 30, 12, 0, 0, 123456, tzinfo=UTC)
COLUMNS = ("external_id", "status", "sort_at", "cost", "metadata", "is_replay", "started_at")


@pytest.fixture
def runs(project) -> list[Run]:
    other = Project.objects.create(slug="other", name="Other")
    for number in range(4):
        Run.objects.create(
            project=other if number == 3 else project,
            external_id=f"r{number}",
            source="rig",
            status=("failed", "running", "succeeded", "failed")[number],
            sort_at=THEN + timedelta(minutes=number),
            started_at=THEN if number == 1 else None,
            cost=Decimal(number) / 8 if number else None,
            metadata={"a": ["%s", "?", "é"]},
        )
    return list(Run.objects.order_by("pk"))


def told(**equal: Any) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in statements.rows(Run, COLUMNS, order="external_id", **equal)]


def as_the_orm(**equal: Any) -> list[tuple[Any, ...]]:
    found = Run.objects.filter(**equal).order_by("external_id")
    return list(found.values_list(*COLUMNS))


def test_rows_are_those_of_the_orm(runs, project) -> None:
    assert told(project_id=project.pk) == as_the_orm(project_id=project.pk) != []
    assert told(status=RunStatus.FAILED) == as_the_orm(status="failed") != []
    assert told(status=("failed", "running")) == as_the_orm(status__in=("failed", "running"))
    assert told(started_at=None) == as_the_orm(started_at=None) != []
    assert told(sort_at=THEN) == as_the_orm(sort_at=THEN) != []
    assert told(status="a'%s?") == told(status=()) == told(started_at=()) == []


def test_rows_of_another_table_are_asked_about_too(runs) -> None:
    assert told(project__slug="other") == as_the_orm(project__slug="other")
    assert [row[0] for row in told(project__slug="other", status="failed")] == ["r3"]


def test_objects_are_those_of_the_orm_and_lack_what_was_left_out(
    runs, django_assert_num_queries
) -> None:
    assert statements.objects(Run, order="id", status=("failed", "running", "succeeded")) == runs
    [few] = statements.objects(Run, ("status", "id"), external_id="r1")
    assert few == runs[1]
    with django_assert_num_queries(0):
        assert few.status == "running"
    with django_assert_num_queries(1):
        assert few.sort_at == runs[1].sort_at


def test_a_change_is_that_of_the_orm(runs, project) -> None:
    where = {"project_id": project.pk, "status": ("failed", "running")}
    values = {"name": "it's %s", "cost": Decimal("0.5"), "metadata": {"b": [1]}}
    changed = statements.change(
        Run, where, values, add={"effect_count": 2}, unless_set={"started_at": THEN}
    )
    mine = [tuple(row) for row in Run.objects.order_by("pk").values_list(*COLUMNS, "name")]
    same = Run.objects.filter(project=project, status__in=where["status"])
    assert changed == same.count() == 2
    same.update(**values, effect_count=F("effect_count"), started_at=Coalesce("started_at", THEN))
    assert mine == list(Run.objects.order_by("pk").values_list(*COLUMNS, "name"))
    counts = Run.objects.order_by("pk").values_list("effect_count", flat=True)
    assert list(counts) == [2, 2, 0, 0]


@pytest.mark.parametrize(("more", "changed"), [(3, 1), (4, 0)])
def test_a_change_stays_within_another_column(runs, more: int, changed: int) -> None:
    Run.objects.filter(external_id="r0").update(model_count=1, tool_count=4)
    within = ("model_count", more, "tool_count")
    mine = {"external_id": "r0"}
    assert statements.change(Run, mine, add={"model_count": more}, within=within) == changed
    assert Run.objects.get(external_id="r0").model_count == 1 + more * changed


def test_a_change_of_nothing_that_is_there_changes_nothing(runs) -> None:
    assert statements.change(Run, {"external_id": "nobody"}, {"name": "x"}) == 0
    assert not Run.objects.filter(name="x").exists()


def test_new_rows_are_those_of_the_orm(project) -> None:
    like = Run(project=project, source="rig", status="failed", sort_at=THEN, metadata={"k": "v"})
    statements.create_like(like, ("external_id", "effect_count"), [("a", 1), ("b", 2)])
    statements.create_like(like, ("external_id", "effect_count"), [("b", 9), ("c", 3)])
    found = Run.objects.order_by("external_id").values_list(
        "external_id", "effect_count", "metadata"
    )
    assert list(found) == [("a", 1, {"k": "v"}), ("b", 2, {"k": "v"}), ("c", 3, {"k": "v"})]


class AnyText(TestCase):
    @given(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=30))
    def test_is_stored_and_found_as_it_is(self, text: str) -> None:
        project, _ = Project.objects.get_or_create(slug="any", defaults={"name": "Any"})
        row = Run(project=project, external_id="any", source="rig", status="failed",
                  sort_at=THEN, name=text)  # fmt: skip
        statements.create([row])
        [found] = statements.objects(Run, project_id=project.pk, name=text)
        assert found.name == text
