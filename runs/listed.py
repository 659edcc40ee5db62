"""A page of runs that match: by a query made once, where what was asked for is common."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db.models import QuerySet

from runs.accounts.models import Project
from runs.matching import COLUMNS, FLAGS, LABELS, matching
from runs.models import Run
from runs.paging import NEWEST, TIME, Cursor, Order, Page, Stretch, Walk, page, page_by
from runs.prepared import prepared

TEXTS = frozenset((*COLUMNS, *LABELS))
"""Filters by a text. One of them, or one of few values, asks nothing of the database first."""
_SIZES = (51, 101, 201)
"""Rows such a query asks for: one kept query for each length of a page would be too many."""


def page_of(
    project: Project,
    asked: Mapping[str, Any],
    columns: tuple[str, ...],
    *,
    order: Order = NEWEST,
    after: Cursor | None = None,
    before: Cursor | None = None,
    limit: int = 50,
) -> Page[Any]:
    """The page of the runs of `project` that match the filters `asked`, with these columns of
    each, by name."""
    where: dict[str, Any] = {"after": after, "before": before, "limit": limit, "order": order}
    if order.column is TIME and limit < _SIZES[-1] and _is_common(asked):
        return page_by(_asking(project, asked, columns), **where)
    found = matching(project, dict(asked), order.column)
    rows = found.runs.values_list(*columns, named=True)
    return page(rows, by=found.by, among=found.among, **where)


def _is_common(asked: Mapping[str, Any]) -> bool:
    one = len(asked["status"]) == 1 if "status" in asked else True
    return len(asked) < 2 and one and asked.keys() <= {*TEXTS, *FLAGS, "status"}


def _asking(project: Project, asked: Mapping[str, Any], columns: tuple[str, ...]) -> Any:
    texts = {name: text for name, text in asked.items() if name in TEXTS}
    fixed = tuple((name, tuple(asked[name])) for name in asked if name == "status")
    fixed += tuple((name, asked[name]) for name in asked if name in FLAGS)

    def ask(walk: Walk, stretch: Stretch, count: int) -> list[Any]:
        start = (stretch.start.value, stretch.start.pk) if stretch.start else ()
        rows = _in_time(
            project.pk,
            *texts.values(),
            *start,
            names=tuple(texts),
            fixed=fixed,
            columns=columns,
            ascending=walk.ascending,
            limit=next(size for size in _SIZES if size >= count),
        )
        return rows[:count]

    return ask


@prepared
def _in_time(
    project_id: int,
    *values: Any,
    names: tuple[str, ...],
    fixed: tuple[tuple[str, Any], ...],
    columns: tuple[str, ...],
    ascending: bool,
    limit: int,
) -> QuerySet[Run, Any]:
    texts, place = values[: len(names)], values[len(names) :]
    found = matching(Project(pk=project_id), dict(zip(names, texts, strict=True)) | dict(fixed))
    walk = Walk(TIME, ascending, found.by, None)
    stretch = Stretch(True, Cursor(*place) if place else None)
    return walk.query(found.runs.values_list(*columns, named=True), stretch, limit)
