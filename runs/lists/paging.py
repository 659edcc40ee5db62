"""Keyset pages of runs, both ways, stable while runs come and go. No COUNT.

A list goes along one column, and by id where its values are equal. Runs whose value is unknown
come last, whichever way the list goes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal, InvalidOperation
from math import isfinite
from typing import Any, Generic, TypeVar

from django.db.models import Q, QuerySet

from runs.models import Run

Row = TypeVar("Row")
"""A run, or a named tuple of columns of one (`id` and the column of the order among them)."""

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
LOOKED_AT = 20_000
"""Runs a page looks at, at most, along an order for which the filters have no index."""


def _instant(text: str) -> datetime:
    return EPOCH + timedelta(microseconds=int(text))


def _number(text: str) -> float:
    number = float(text)
    if not isfinite(number):
        raise ValueError(text)
    return number


def _dollars(text: str) -> Decimal:
    dollars = Decimal(text)
    if not (dollars.is_finite() and abs(dollars) < 10**8):
        raise ValueError(text)
    return round(dollars, 12)


def _whole(text: str) -> int:
    if len(text) > 18:
        raise ValueError(text)
    return int(text)


@dataclass(frozen=True, slots=True)
class Column:
    """What a list can go along. Each has an index (project, column, id)."""

    name: str
    read: Callable[[str], Any]
    """A cursor's text → a value of the column; raises ValueError and its like."""
    least: Any = None
    """Less than any value; None where no value is unknown."""


TIME = Column("sort_at", _instant)
DURATION = Column("duration_ms", _number, least=-1e300)
# SQLite keeps 15 digits of a decimal: places below a thousand dollars are exact.
COST = Column("cost", _dollars, least=Decimal(-(10**8) + 1))
TOKENS = Column("total_tokens", _whole, least=-(2**62))
EFFECTS = Column("effect_count", _whole)


@dataclass(frozen=True, slots=True)
class Order:
    column: Column
    ascending: bool = False


NEWEST = Order(TIME)


@dataclass(frozen=True, slots=True)
class Cursor:
    """A place in the list: between this run and its neighbour. Text: `<value>.<id>`, a time in
    microseconds, nothing for an unknown value."""

    value: Any
    pk: int

    @classmethod
    def of(cls, run: Any, column: Column = TIME) -> Cursor:
        return cls(getattr(run, column.name), run.id)

    @classmethod
    def parse(cls, text: str, column: Column = TIME) -> Cursor:
        """Raises ValueError for anything that `str(cursor)` does not give."""
        value, _, pk = text.rpartition(".")
        unknown = not value and column.least is not None
        if not (pk.isascii() and pk.isdigit() and len(pk) < 19 and len(value) < 40):
            raise ValueError(f"no cursor: {text[:60]}")
        try:
            return cls(None if unknown else column.read(value), int(pk))
        except (OverflowError, InvalidOperation):
            raise ValueError(f"no cursor: {text[:60]}") from None

    def __str__(self) -> str:
        value = self.value
        if isinstance(value, datetime):
            value = (value - EPOCH) // timedelta(microseconds=1)
        return f"{'' if value is None else value}.{self.pk}"


@dataclass(frozen=True, slots=True)
class Page(Generic[Row]):
    """Rows in the order of the list; a cursor where there is, or may be, more on that side."""

    runs: list[Row]
    previous: Cursor | None
    next: Cursor | None
    stopped: bool = False
    """It ends where it had looked at `LOOKED_AT` runs, not where it was full."""


Ask = Callable[["Walk", "Stretch", int], tuple[list[Row], "Cursor | None"]]
"""Gives up to so many rows of a stretch, and where it stopped looking, if it did."""


def page_by(
    ask: Ask[Row],
    *,
    after: Cursor | None = None,
    before: Cursor | None = None,
    limit: int = 50,
    order: Order = NEWEST,
) -> Page[Row]:
    """The `limit` runs behind `after`, or in front of `before`, or from the start."""
    backwards = after is None and before is not None
    walk = Walk(order.column, order.ascending != backwards)
    start = before if backwards else after
    rows: list[Row] = []
    edge: Cursor | None = None
    for stretch in _stretches(order.column, start, backwards):
        found, edge = ask(walk, stretch, limit + 1 - len(rows))
        rows += found
        if len(rows) > limit or edge:
            break
    more, rows = len(rows) > limit, rows[:limit]
    far = Cursor.of(rows[-1], order.column) if more else edge
    near = walk.way_back(start, rows[0] if rows else None)
    stopped = far is not None and not more
    if backwards:
        rows.reverse()
        return Page(rows, previous=far, next=near, stopped=stopped)
    return Page(rows, previous=near, next=far, stopped=stopped)


@dataclass(frozen=True, slots=True)
class Stretch:
    """A part of the list, from a place in it or from its start: the known, or the unknown."""

    known: bool
    start: Cursor | None


def _stretches(column: Column, start: Cursor | None, backwards: bool) -> Iterator[Stretch]:
    parts = [True, False] if column.least is not None else [True]
    if backwards:
        parts.reverse()
    here = None if start is None else start.value is not None
    for known in parts[0 if here is None else parts.index(here) :]:
        yield Stretch(known, start if known == here else None)


@dataclass(frozen=True, slots=True)
class Walk:
    """Reads stretches one way. `by` is the prefix of the joined table the list is read along."""

    column: Column
    ascending: bool
    by: str = ""

    def query(
        self, runs: QuerySet[Run, Row], stretch: Stretch, limit: int, edge: Cursor | None = None
    ) -> QuerySet[Run, Row]:
        """The next rows of a stretch, as far as the run at its edge."""
        found = runs.filter(self._within(stretch))
        if edge is not None:
            found = found.filter(self._up_to(edge))
        return self._ordered(found)[:limit]

    def edge(
        self, among: QuerySet[Run, Run], stretch: Stretch, look_at: int
    ) -> QuerySet[Run, tuple[Any, int]]:
        """The place of the last run to look at; none if the stretch has no more than that."""
        places = self._ordered(among.filter(self._within(stretch)))
        return places.values_list(self.column.name, "id")[look_at : look_at + 1]

    def way_back(self, start: Cursor | None, first: Any) -> Cursor | None:
        """In front of the first row found; where there is none, in front of which it would be."""
        if start is None:
            return None
        if first is not None:
            return Cursor.of(first, self.column)
        return Cursor(start.value, start.pk + (1 if self.ascending else -1))

    def _ordered(self, runs: QuerySet[Run, Row]) -> QuerySet[Run, Row]:
        sign, keys = "" if self.ascending else "-", self._keys()
        return runs.order_by(*(f"{sign}{key}" for key in keys))

    def _keys(self) -> tuple[str, str]:
        return f"{self.by}{self.column.name}", f"{self.by}run_id" if self.by else "id"

    def _within(self, stretch: Stretch) -> Q:
        """Rows of a stretch behind its start. Written so that one index range serves it."""
        key, pk = self._keys()
        side, start = "gt" if self.ascending else "lt", stretch.start
        if not stretch.known:
            unknown = Q(**{f"{key}__isnull": True})
            return unknown & Q(**{f"{pk}__{side}": start.pk}) if start else unknown
        if start is None:
            least = self.column.least
            return Q() if least is None else Q(**{f"{key}__gt": least})
        reach = Q(**{f"{key}__{side}e": start.value})
        if self.column.least is not None and not self.ascending:
            reach &= Q(**{f"{key}__gt": self.column.least})
        return reach & (Q(**{f"{key}__{side}": start.value}) | Q(**{f"{pk}__{side}": start.pk}))

    def _up_to(self, edge: Cursor) -> Q:
        key, pk = self._keys()
        side = "lt" if self.ascending else "gt"
        if edge.value is None:
            return Q(**{f"{pk}__{side}e": edge.pk})
        reach = Q(**{f"{key}__{side}e": edge.value})
        return reach & (Q(**{f"{key}__{side}": edge.value}) | Q(**{f"{pk}__{side}e": edge.pk}))
