"""A page of runs that match: by queries made once, whatever is asked for together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, NamedTuple

from django.db.models import QuerySet

from runs.accounts.models import Project
from runs.lists import paging
from runs.lists.matching import (
    Form,
    as_asked,
    few,
    in_one,
    in_two,
    is_sought,
    matching,
    matching_these,
)
from runs.lists.paging import NEWEST, Ask, Cursor, Order, Page, Stretch, Walk, page_by
from runs.models import Run
from runs.prepared import prepared, read
from runs.search import find

_SIZES = (51, 101, 201)
"""Rows a query asks for: one kept query for each length of a page would be too many."""
_KEYS = (1, 8, 64, 512)
"""Keys a query names; the last of fewer is said again."""


def page_of(
    project: Project,
    given: Mapping[str, Any],
    columns: tuple[str, ...],
    *,
    order: Order = NEWEST,
    after: Cursor | None = None,
    before: Cursor | None = None,
    limit: int = 50,
) -> Page[Any]:
    """The page of the runs of `project` that match the filters `given`, with these columns of
    each, by name."""
    asking = _with_text if "q" in given else _without_text
    ask = asking(project, given, columns, order)
    return page_by(ask, after=after, before=before, limit=limit, order=order)


def _without_text(
    project: Project, given: Mapping[str, Any], columns: tuple[str, ...], order: Order
) -> Ask[Any]:
    asked = as_asked(given)
    keys = few(project.pk, asked, order.column)
    form, values = in_two(asked)
    # Keys say whose runs they are.
    whose, named = ([], _padded(keys)) if keys else ([project.pk], [])

    def ask(walk: Walk, stretch: Stretch, count: int) -> tuple[list[Any], Cursor | None]:
        if keys == []:
            return [], None
        edge = _edge(project, walk, stretch) if is_sought(asked, walk.column, keys) else None
        start, end = _said(stretch.start), _said(edge)
        limit = next((size for size in _SIZES if size >= count), count)
        parts = whose, values, named, start, end
        counts = tuple(map(len, parts))
        shape = _Shape(form, counts, walk, stretch.known, columns, limit)
        return _rows(*chain(*parts), shape=shape)[:count], edge

    return ask


def _with_text(
    project: Project, given: Mapping[str, Any], columns: tuple[str, ...], order: Order
) -> Ask[Any]:
    asked = as_asked(given)
    said = find.runs_with(project, given["q"], newest=not asked and order == NEWEST)
    keys = None if said.is_few else few(project.pk, asked, order.column)
    sought = said.is_guessed or (not said.is_few and is_sought(asked, order.column, keys))
    if said.is_few:
        found = matching_these(asked, said.condition)
    else:
        found = matching(project.pk, asked, order.column, keys)
        found = replace(found, runs=found.runs.filter(said.condition))
    runs = found.runs.values_list(*columns, named=True)

    def ask(walk: Walk, stretch: Stretch, count: int) -> tuple[list[Any], Cursor | None]:
        edge = _edge(project, walk, stretch) if sought else None
        return read(replace(walk, by=found.by).query(runs, stretch, count, edge)), edge

    return ask


class _Shape(NamedTuple):
    """What of a query is not a value. It has so many values of each: project, filters, keys, the
    place it starts at, and its edge."""

    form: Form
    counts: tuple[int, ...]
    walk: Walk
    known: bool
    columns: tuple[str, ...]
    limit: int


@prepared
def _rows(*values: Any, shape: _Shape) -> QuerySet[Run, Any]:
    whose, filters, keys, start, edge = _parts(values, shape.counts)
    asked, walk = in_one(shape.form, filters), shape.walk
    found = matching(whose[0] if whose else 0, asked, walk.column, keys or None)
    rows = found.runs.values_list(*shape.columns, named=True)
    stretch = Stretch(shape.known, _place(start))
    return replace(walk, by=found.by).query(rows, stretch, shape.limit, _place(edge))


def _parts(values: Sequence[Any], counts: Sequence[int]) -> list[Sequence[Any]]:
    parts, start = [], 0
    for count in counts:
        parts.append(values[start : start + count])
        start += count
    return parts


def _padded(keys: list[int]) -> list[int]:
    size = next((size for size in _KEYS if size >= len(keys)), len(keys))
    return keys + keys[-1:] * (size - len(keys))


# --- Where to stop looking -----------------------------------------------------------------------


def _edge(project: Project, walk: Walk, stretch: Stretch) -> Cursor | None:
    start, look_at = _said(stretch.start), paging.LOOKED_AT
    places = _places(project.pk, *start, walk=walk, known=stretch.known, look_at=look_at)
    return next((Cursor(*place) for place in places), None)


@prepared
def _places(
    project_id: int, *start: Any, walk: Walk, known: bool, look_at: int
) -> QuerySet[Run, tuple[Any, int]]:
    among = Run.everything.filter(project=project_id)  # by its index alone
    return walk.edge(among, Stretch(known, _place(start)), look_at)


def _said(place: Cursor | None) -> tuple[Any, ...]:
    """A place in a list as the values of a query, which are never None."""
    if place is None:
        return ()
    return (place.pk,) if place.value is None else (place.value, place.pk)


def _place(said: Sequence[Any]) -> Cursor | None:
    return Cursor(said[0] if len(said) == 2 else None, said[-1]) if said else None
