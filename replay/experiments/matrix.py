"""The matrix, a window of rows at a time, by place or the worst first, and narrowed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from django.db.models import Exists, OuterRef, Q, QuerySet

from replay.comparison.differences import Difference
from replay.experiments.models import Cell, ExperimentCandidate, ExperimentRun
from replay.experiments.summary import ENDS
from replay.models import Experiment
from runs.refusals import Refused

SORTS = ("place", "worst")
CHANGED = "changed"
"""Instead of one class: any beyond `equivalent`."""
CLASS_CHOICES = (CHANGED, *(each.value for each in Difference))
OPEN = "open"
STATUS_CHOICES = (OPEN, *ENDS)
_CURSOR = re.compile(r"(?:(-?\d{1,2})\.)?(\d{1,9})")


@dataclass(frozen=True, slots=True)
class Picked:
    """Which rows, and in which order; `candidate` is the place of the column that has to match."""

    sort: str = SORTS[0]
    difference: str = ""
    status: str = ""
    candidate: int | None = None

    @property
    def narrows(self) -> bool:
        return bool(self.difference or self.status)


@dataclass(frozen=True, slots=True)
class Line:
    """A row and its cells in the order of the candidates."""

    row: ExperimentRun
    cells: list[Cell | None]


@dataclass(frozen=True, slots=True)
class Window:
    """`next` is the cursor of what follows, None at the end."""

    lines: list[Line]
    next: str | None


def window(
    experiment: Experiment,
    candidates: Sequence[ExperimentCandidate],
    picked: Picked,
    cursor: str = "",
    limit: int = 50,
) -> Window:
    """The rows behind the cursor. Raises Refused for a cursor that is none of ours."""
    rows = _rows(experiment, picked)
    rows = _behind(rows, picked, cursor) if cursor else rows
    found = list(rows.select_related("run")[: limit + 1])
    more = _cursor(found[limit - 1], picked) if len(found) > limit else None
    return Window(list(_lines(found[:limit], candidates)), more)


def _rows(experiment: Experiment, picked: Picked) -> QuerySet[ExperimentRun]:
    rows = experiment.rows.filter(run__deleted_at=None)
    if picked.narrows:
        rows = rows.filter(Exists(_matching(picked)))
    return rows.order_by("-severity", "place") if picked.sort == "worst" else rows.order_by("place")


def _matching(picked: Picked) -> QuerySet[Cell]:
    """The cells of a row that are of the class and the status asked for: one and the same cell."""
    cells = Cell.objects.filter(row=OuterRef("pk"))
    if picked.difference == CHANGED:
        cells = cells.filter(severity__gt=Difference.EQUIVALENT.severity)
    elif picked.difference:
        cells = cells.filter(severity=Difference(picked.difference).severity)
    if picked.status:
        cells = cells.filter(ended="" if picked.status == OPEN else picked.status)
    if picked.candidate is not None:
        cells = cells.filter(candidate__place=picked.candidate)
    return cells


def _behind(rows: QuerySet[ExperimentRun], picked: Picked, cursor: str) -> QuerySet[ExperimentRun]:
    match = _CURSOR.fullmatch(cursor)
    if match is None or (match[1] is None) == (picked.sort == "worst"):
        raise Refused("invalid", "This place in the matrix is not one of ours.", "cursor")
    place = int(match[2])
    if match[1] is None:
        return rows.filter(place__gt=place)
    severity = int(match[1])
    return rows.filter(Q(severity__lt=severity) | Q(severity=severity, place__gt=place))


def _cursor(row: ExperimentRun, picked: Picked) -> str:
    return f"{row.severity}.{row.place}" if picked.sort == "worst" else str(row.place)


def _lines(
    rows: Sequence[ExperimentRun], candidates: Sequence[ExperimentCandidate]
) -> Iterator[Line]:
    cells = Cell.objects.filter(row__in=rows).select_related("replay").only(
        *(field.name for field in Cell._meta.concrete_fields if field.name != "latencies"),
        "replay__public_id", "replay__status", "replay__done", "replay__error_text",
    )  # fmt: skip
    by_place = {(cell.row_id, cell.candidate_id): cell for cell in cells}
    for row in rows:
        yield Line(row, [by_place.get((row.pk, one.pk)) for one in candidates])
