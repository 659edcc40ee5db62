"""Keyset pages of runs, both ways, stable while runs come and go. No OFFSET, no COUNT."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Generic, TypeVar

from django.db.models import Q, QuerySet

from runs.models import Run

Row = TypeVar("Row")
"""A run, or a named tuple of columns of one (`id` and `sort_at` among them)."""

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Cursor:
    """A place in the list: between this run and its neighbour. Text: `<microseconds>.<id>`."""

    at: datetime
    pk: int

    @classmethod
    def of(cls, run: Any) -> Cursor:
        return cls(run.sort_at, run.id)

    @classmethod
    def parse(cls, text: str) -> Cursor:
        """Raises ValueError for anything that `str(cursor)` does not give."""
        micros, _, pk = text.partition(".")
        if not (pk.isascii() and pk.isdigit() and len(pk) < 19):
            raise ValueError(f"no cursor: {text[:60]}")
        try:
            return cls(EPOCH + timedelta(microseconds=int(micros)), int(pk))
        except OverflowError:
            raise ValueError(f"no cursor: {text[:60]}") from None

    def __str__(self) -> str:
        return f"{(self.at - EPOCH) // timedelta(microseconds=1)}.{self.pk}"


@dataclass(frozen=True, slots=True)
class Page(Generic[Row]):
    """Rows in the order of the list; a cursor where there is more on that side."""

    runs: list[Row]
    previous: Cursor | None
    next: Cursor | None


def page(
    runs: QuerySet[Run, Row],
    *,
    after: Cursor | None = None,
    before: Cursor | None = None,
    limit: int = 50,
    oldest_first: bool = False,
    by: str = "",
) -> Page[Row]:
    """The `limit` runs behind `after`, or in front of `before`, or from the start.

    `by` is the prefix of the joined table the list is read along (`RunQuerySet.labelled`).
    """
    backwards = after is None and before is not None
    ascending = oldest_first != backwards
    start = before if backwards else after
    if start is not None:
        runs = runs.filter(_beyond(start, by, ascending))
    sign = "" if ascending else "-"
    keys = (f"{sign}{by}sort_at", f"{sign}{by}run_id" if by else f"{sign}id")
    rows = list(runs.order_by(*keys)[: limit + 1])
    more, rows = len(rows) > limit, rows[:limit]
    if backwards:
        rows.reverse()
    return _with_ends(rows, more, after, before, backwards)


def _beyond(start: Cursor, by: str, ascending: bool) -> Q:
    """Rows strictly behind `start`. Written so that one index range serves it."""
    at, pk = f"{by}sort_at", f"{by}run_id" if by else "id"
    side = "gt" if ascending else "lt"
    reach = Q(**{f"{at}__{side}e": start.at})
    return reach & (Q(**{f"{at}__{side}": start.at}) | Q(**{f"{pk}__{side}": start.pk}))


def _with_ends(
    rows: list[Row], more: bool, after: Cursor | None, before: Cursor | None, backwards: bool
) -> Page[Row]:
    if not rows:
        return Page(rows, previous=None, next=before if backwards else None)
    first, last = Cursor.of(rows[0]), Cursor.of(rows[-1])
    has_previous = more if backwards else after is not None
    has_next = True if backwards else more
    return Page(rows, first if has_previous else None, last if has_next else None)
