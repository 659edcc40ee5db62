"""The matrix, a window of rows at a time, by place or by what came out worst, and narrowed."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from django.db.models import Exists, OuterRef, Q, QuerySet

from replay.comparison.differences import Difference
from replay.experiments.models import NOTHING_YET, Cell, ExperimentCandidate, ExperimentRun
from replay.experiments.summary import ENDS
from replay.models import Experiment
from runs.refusals import Refused

SORTS = ("place", "worst", "changed", "cost", "latency")
"""Behind the first the highest come first: the class, how many answers changed, and by how much
cost and latency rose. Of several candidates the one it is highest for counts."""
CHANGED = "changed"
"""Instead of one class: any beyond `equivalent`."""
CLASS_CHOICES = (CHANGED, *(each.value for each in Difference))
OPEN = "open"
STATUS_CHOICES = (OPEN, *ENDS)
_CURSOR = re.compile(r"(?:(-?\d{1,2})\.)?(\d{1,9})")


@dataclass(frozen=True, slots=True)
class Picked:
    """Which rows, and in which order; `candidate` is the place of the column that has to match,
    and by which they are sorted."""

    sort: str = SORTS[0]
    difference: str = ""
    status: str = ""
    candidate: int | None = None

    @property
    def narrows(self) -> bool:
        return bool(self.difference or self.status)

    @property
    def is_ranked(self) -> bool:
        """Whether the cells say in which order; a row keeps its place and its worst class."""
        return self.sort not in SORTS[:2] or (self.sort == "worst" and self.candidate is not None)


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
    *,
    latencies: bool = False,
) -> Window:
    """The rows behind the cursor, each cell with its `latencies` where they are asked for. Raises
    Refused for a cursor that is none of ours."""
    if picked.is_ranked:
        return _ranked(experiment, candidates, picked, cursor, limit, latencies)
    rows = _rows(experiment, picked)
    rows = _behind(rows, picked, cursor) if cursor else rows
    found = list(rows.select_related("run")[: limit + 1])
    more = _cursor(found[limit - 1], picked) if len(found) > limit else None
    return Window(list(_lines(found[:limit], candidates, latencies)), more)


def _ranked(
    experiment: Experiment,
    candidates: Sequence[ExperimentCandidate],
    picked: Picked,
    cursor: str,
    limit: int,
    latencies: bool,
) -> Window:
    """The rows by what their cells come to, unknown last; the cursor is how many stand before."""
    match = _CURSOR.fullmatch(cursor or "0")
    if match is None or match[1] is not None:
        raise _not_ours()
    places = dict(_rows(experiment, picked).values_list("pk", "place"))
    heights = _heights(experiment, picked)
    order = sorted(places, key=lambda pk: (-heights.get(pk, -math.inf), places[pk]))
    start, end = int(match[2]), int(match[2]) + limit
    found = ExperimentRun.objects.select_related("run").in_bulk(order[start:end])
    rows = [found[pk] for pk in order[start:end] if pk in found]
    return Window(list(_lines(rows, candidates, latencies)), str(end) if len(order) > end else None)


def _heights(experiment: Experiment, picked: Picked) -> dict[int, float]:
    """Row → the highest that the sort finds in its cells; of what is unknown nothing."""
    cells = Cell.objects.filter(experiment=experiment).exclude(severity=NOTHING_YET)
    if picked.candidate is not None:
        cells = cells.filter(candidate__place=picked.candidate)
    found: dict[int, float] = {}
    for cell in cells.only("row_id", "severity", *_SORTED_BY):
        height = _height(cell, picked.sort)
        if height is not None:
            found[cell.row_id] = max(height, found.get(cell.row_id, -math.inf))
    return found


_SORTED_BY = ("changed", "cost", "cost_complete", "original_cost", "original_cost_complete",
              "latency_ms", "original_latency_ms")  # fmt: skip


def _height(cell: Cell, sort: str) -> float | None:
    if sort == "cost":
        delta = cell.cost_delta
        return None if delta is None else float(delta)
    if sort == "latency":
        times = cell.latency_ms, cell.original_latency_ms
        return None if times[0] is None or times[1] is None else times[0] - times[1]
    return cell.changed if sort == "changed" else cell.severity


def _not_ours() -> Refused:
    return Refused("invalid", "This place in the matrix is not one of ours.", "cursor")


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
        raise _not_ours()
    place = int(match[2])
    if match[1] is None:
        return rows.filter(place__gt=place)
    severity = int(match[1])
    return rows.filter(Q(severity__lt=severity) | Q(severity=severity, place__gt=place))


def _cursor(row: ExperimentRun, picked: Picked) -> str:
    return f"{row.severity}.{row.place}" if picked.sort == "worst" else str(row.place)


def _lines(
    rows: Sequence[ExperimentRun], candidates: Sequence[ExperimentCandidate], latencies: bool
) -> Iterator[Line]:
    left = () if latencies else ("latencies",)
    cells = Cell.objects.filter(row__in=rows).select_related("replay").only(
        *(field.name for field in Cell._meta.concrete_fields if field.name not in left),
        "replay__public_id", "replay__status", "replay__done", "replay__error_text",
        "replay__provider", "replay__model",
    )  # fmt: skip
    by_place = {(cell.row_id, cell.candidate_id): cell for cell in cells}
    for row in rows:
        yield Line(row, [by_place.get((row.pk, one.pk)) for one in candidates])
