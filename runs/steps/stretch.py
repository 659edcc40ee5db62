"""Effects of a run that lie close together: narrow rows, read at once and asked many things."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice, starmap
from typing import Any, NamedTuple

from django.db.models import QuerySet

from runs.models import Effect, EffectStatus, Run
from runs.prepared import prepared

FAILED = (EffectStatus.ERROR, EffectStatus.CANCELLED)


class Row(NamedTuple):
    """What the step list, the transport, the links and the tape need of an effect."""

    seq: int
    family: str
    key: str
    scope: str
    name: str
    summary: str
    status: str
    depth: int
    duration_ms: float | None
    segment_id: int
    offset: int
    length: int
    started_at: datetime | None = None
    """Only where it was asked for: reading the times takes longer than all the rest."""

    def has(self, like: dict[str, Sequence[str]]) -> bool:
        return all(getattr(self, column) in values for column, values in like.items())


@dataclass(frozen=True, slots=True)
class Stretch:
    """The effects from position `first` to `last` of a run.

    A question is `column=[values it may have]`. What the stretch cannot answer, because it may lie
    outside, is asked of the database.
    """

    run: Run
    first: int
    last: int
    rows: tuple[Row, ...]

    def before(self, seq: int, **like: Sequence[str]) -> Row | None:
        """The nearest such effect before position `seq`."""
        if seq <= self.last + 1:
            near = reversed(self.within(self.first, seq - 1))
            found = next((row for row in near if row.has(like)), None)
            if found or self.first <= 1:
                return found
            seq = min(seq, self.first)
        values, shape = _told(like)
        return next(starmap(Row, _before(self.run.pk, seq, *values, like=shape)), None)

    def after(self, seq: int, **like: Sequence[str]) -> Row | None:
        """The nearest such effect after position `seq`."""
        return next(iter(self.between(seq, None, 1, **like)), None)

    def between(
        self, after: int, until: int | None, limit: int, **like: Sequence[str]
    ) -> Sequence[Row]:
        """The first `limit` such effects after one position and before another (None: the end)."""
        until = self.run.last_seq + 1 if until is None else until
        near: list[Row] = []
        if after + 1 >= self.first:
            here = (row for row in self.within(after + 1, until - 1) if row.has(like))
            near = list(islice(here, limit))
            after = max(after, self.last)
        if after + 1 >= until or len(near) == limit:
            return near
        values, shape = _told(like)
        far = _between(self.run.pk, after, until, *values, like=shape, limit=limit)
        return near + [Row(*row) for row in far[: limit - len(near)]]

    def within(self, first: int, last: int) -> tuple[Row, ...]:
        """The rows of these positions, as far as the stretch has them."""
        return self.rows[bisect_left(self.rows, (first,)) : bisect_left(self.rows, (last + 1,))]


def read_stretch(run: Run, first: int, last: int, *, times: bool = False) -> Stretch:
    """The effects of `run` from position `first` to `last`, with `started_at` if `times`."""
    first, last = max(first, 1), min(last, run.last_seq)
    rows = tuple(starmap(Row, _around(run.pk, first, last, times=times))) if first <= last else ()
    return Stretch(run, first, last, rows)


@prepared
def _around(
    run_id: int, first: int, last: int, *, times: bool
) -> QuerySet[Effect, tuple[Any, ...]]:
    found = Effect.objects.filter(run_id=run_id, seq__range=(first, last)).order_by("seq")
    return found.values_list(*(Row._fields if times else Row._fields[:-1]))


Shape = tuple[tuple[str, int], ...]
"""Columns that are asked about, and how many values each may have."""


def _told(like: dict[str, Sequence[str]]) -> tuple[list[str], Shape]:
    """A question as the values in it and its shape."""
    values = [value for some in like.values() for value in some]
    return values, tuple((column, len(some)) for column, some in like.items())


def _like(run_id: int, values: Sequence[str], like: Shape) -> QuerySet[Effect]:
    left = iter(values)
    equal = {f"{column}__in": list(islice(left, count)) for column, count in like}
    return Effect.objects.filter(run_id=run_id, **equal)


@prepared
def _before(run_id: int, seq: int, *values: str, like: Shape) -> QuerySet[Effect, tuple[Any, ...]]:
    found = _like(run_id, values, like).filter(seq__lt=seq).order_by("-seq")
    return found.values_list(*Row._fields[:-1])[:1]


@prepared
def _between(
    run_id: int, after: int, until: int, *values: str, like: Shape, limit: int
) -> QuerySet[Effect, tuple[Any, ...]]:
    found = _like(run_id, values, like).filter(seq__gt=after, seq__lt=until).order_by("seq")
    return found.values_list(*Row._fields[:-1])[:limit]


def read_rows(run: Run, seqs: Sequence[int]) -> tuple[Row, ...]:
    """The effects of `run` at these positions, in order."""
    return tuple(_rows(Effect.objects.filter(run_id=run.pk, seq__in=list(seqs)).order_by("seq")))


def _rows(effects: QuerySet[Effect]) -> Iterator[Row]:
    return starmap(Row, effects.values_list(*Row._fields[:-1]))
