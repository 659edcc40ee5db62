"""Queries made once find what the same queries of the ORM find, whatever the values."""

from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.db.models import QuerySet
from django.utils import timezone

from runs.accounts.models import Membership, User
from runs.models import Run
from runs.prepared import prepared


@pytest.fixture
def stored(project, make_member) -> None:
    make_member("member")
    for number in range(3):
        same = {"project": project, "status": "failed", "source": "rig", "sort_at": timezone.now()}
        Run.objects.create(agent=f"agent {number}", external_id=f"run-{number}", **same)


def both(make: Callable[..., QuerySet[Any, Any]], *values: Any) -> tuple[list[Any], list[Any]]:
    return prepared(make)(*values), list(make(*values))


def test_tuples_names_and_single_values_are_read_as_the_orm_reads_them(stored) -> None:
    mine = Run.objects.order_by("pk")
    for found in (
        both(lambda agent: mine.filter(agent=agent).values_list("sort_at", "cost"), "agent 1"),
        both(lambda pk: mine.filter(pk__gte=pk).values_list("pk", "is_replay", named=True), 1),
        both(lambda pk: mine.filter(pk__gte=pk).values_list("metadata", flat=True), 1),
    ):
        assert found[0] == found[1] != []


def test_joined_objects_come_with_it(stored, django_assert_num_queries) -> None:
    @prepared
    def mine(user_id: int) -> QuerySet[Membership]:
        return Membership.objects.filter(user_id=user_id).select_related("project", "user")

    user = User.objects.get()
    with django_assert_num_queries(1):
        [known] = mine(user.pk)
        assert (known.user, known.project.slug) == (user, "acme")


def test_each_call_has_its_own_values(stored) -> None:
    @prepared
    def of(agent: str, before: Any, least: int) -> QuerySet[Run, str]:
        found = Run.objects.filter(agent=agent, sort_at__lt=before, pk__gt=least)
        return found.values_list("external_id", flat=True)

    later = timezone.now() + timedelta(days=1)
    found = [of(f"agent {number}", later, 0) for number in range(3)]
    assert found == [["run-0"], ["run-1"], ["run-2"]]
    assert of("agent 1", later - timedelta(days=9999), 0) == of("a'%s?", later, 0) == []


def test_each_shape_is_a_query_of_its_own(stored) -> None:
    @prepared
    def names(*agents: str, column: str) -> QuerySet[Run, str]:
        found = Run.objects.filter(agent__in=agents).order_by("agent")
        return found.values_list(column, flat=True)

    assert names("agent 1", column="agent") == ["agent 1"]
    assert names("agent 2", "agent 0", column="agent") == ["agent 0", "agent 2"]
    assert names("agent 2", column="external_id") == ["run-2"]
    assert names(column="agent") == []


def test_dollars_and_fractions_are_values_too(stored) -> None:
    Run.objects.filter(agent="agent 1").update(cost=Decimal("0.020000000001"), duration_ms=1.5)
    mine = Run.objects.values_list("agent", flat=True)
    for cost, duration in (("0.02", 1.5), ("0.020000000001", 2.0), ("0.020000000002", 2.0)):
        found, wanted = both(
            lambda cost, most: mine.filter(cost__gte=cost, duration_ms__lte=most),
            *(Decimal(cost), duration),
        )
        assert found == wanted == (["agent 1"] if cost != "0.020000000002" else [])


def test_more_shapes_than_are_kept_find_the_same(stored, monkeypatch) -> None:
    monkeypatch.setattr("runs.prepared.MOST_KEPT", 1)
    first = prepared(lambda pk, *, limit: Run.objects.filter(pk__gte=pk).order_by("pk")[:limit])
    assert [len(first(1, limit=limit)) for limit in (1, 2, 3, 1, 2)] == [1, 2, 3, 1, 2]


def test_a_value_that_does_not_stand_in_the_query_is_an_error(db) -> None:
    with pytest.raises(AssertionError):
        prepared(lambda text: Run.objects.filter(agent__contains=text))("a")
