"""How an experiment comes out: sums per candidate, in three queries over narrow rows.

Unknown is not zero: a sum of nothing is None, and one with an unknown part is not complete.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from typing import Any

from django.db.models import Count, F, Q, QuerySet, Sum

from replay.experiments.gate import Check, Gate, Measured, checks, read_gate
from replay.experiments.latency import percentile
from replay.experiments.models import CLASSES, Cell, ExperimentCandidate
from replay.models import Experiment
from replay.review.models import Divergence, State
from runs.models import Run

ENDS = ("succeeded", "partial", "failed", "cancelled")
_SUMS = (
    "total",
    "changed",
    "ignored",
    "cost",
    "original_cost",
    "input_tokens",
    "output_tokens",
    "original_input_tokens",
    "original_output_tokens",
    "recovered",
    *CLASSES,
)
_COMPLETE = ("cost", "original_cost", "tokens", "original_tokens")
_ANSWERED = Q(same__gt=0) | Q(equivalent__gt=0) | Q(changed__gt=F("error") - F("recovered"))


@dataclass(frozen=True, slots=True)
class Percentiles:
    """In ms, of those `calls` that have a latency."""

    p50: float | None = None
    p95: float | None = None
    calls: int = 0


@dataclass(slots=True)
class Column:
    """A candidate with the sums of its cells."""

    candidate: ExperimentCandidate
    cells: int = 0
    ended: dict[str, int] = field(default_factory=lambda: dict.fromkeys(ENDS, 0))
    classes: dict[str, int] = field(default_factory=lambda: dict.fromkeys(CLASSES, 0))
    sums: dict[str, Any] = field(default_factory=dict)
    """`total` and `changed` calls, costs and tokens; None is unknown."""
    complete: dict[str, bool] = field(default_factory=dict)
    latency: Percentiles = field(default_factory=Percentiles)
    original_latency: Percentiles = field(default_factory=Percentiles)
    to_review: int = 0
    regressions: int = 0

    @property
    def done(self) -> int:
        return sum(self.ended.values())

    @property
    def is_finished(self) -> bool:
        return self.done == self.cells

    @property
    def calls(self) -> int:
        return self.sums.get("total") or 0

    @property
    def compared(self) -> int:
        """Calls that have a class."""
        return sum(self.classes.values())

    @property
    def same(self) -> float | None:
        """The share of planned calls that are same or equivalent; None where none is planned."""
        alike = self.classes["same"] + self.classes["equivalent"]
        return alike / self.calls if self.calls else None

    @property
    def errors(self) -> int:
        """Calls that failed or were never answered, once the candidate is through. Those answered
        where the recording failed are none."""
        unanswered = self.calls - self.compared if self.is_finished else 0
        return self.classes["error"] - (self.sums.get("recovered") or 0) + unanswered

    @property
    def answered(self) -> int:
        """Calls that have an answer."""
        return self.compared - self.classes["error"] + (self.sums.get("recovered") or 0)

    @property
    def cost_ratio(self) -> float | None:
        before, after = self.sums.get("original_cost"), self.sums.get("cost")
        known = self.complete.get("cost") and self.complete.get("original_cost")
        if not known or before is None or after is None:
            return None
        if not before:  # nothing is no more than any multiple of nothing
            return None if after else 0.0
        return float(Decimal(after) / Decimal(before))


@dataclass(frozen=True)
class Summary:
    experiment: Experiment
    columns: list[Column]

    @property
    def cells(self) -> int:
        return sum(column.cells for column in self.columns)

    @property
    def done(self) -> int:
        return sum(column.done for column in self.columns)

    @property
    def is_finished(self) -> bool:
        return self.experiment.finished_at is not None

    @property
    def status(self) -> str:
        """`running`; once it is over what its replays come to."""
        if not self.is_finished:
            return "running"
        ends = Counter[str]()
        for column in self.columns:
            ends.update(column.ended)
        if ends["cancelled"]:
            return "cancelled"
        if ends["succeeded"] == self.cells:
            return "succeeded"
        return "partial" if ends["succeeded"] + ends["partial"] else "failed"

    @property
    def unanswered(self) -> int:
        """Replays that ended without every answer: what a retry asks again."""
        return sum(column.done - column.ended["succeeded"] for column in self.columns)

    @property
    def to_review(self) -> int:
        return sum(column.to_review for column in self.columns)

    @cached_property
    def deleted_runs(self) -> int:
        """Runs that it was asked over and that somebody has deleted, as far as it is known."""
        asked = self.experiment.asked_runs or 0
        if max((column.cells for column in self.columns), default=0) >= asked:
            return 0
        # A run can be there without a cell: its recorded model could not be asked.
        return max(asked - self.experiment.rows.filter(run__deleted_at=None).count(), 0)

    @property
    def without_cell(self) -> bool:
        """Whether a candidate is not asked about all runs that are there."""
        there = (self.experiment.asked_runs or 0) - self.deleted_runs
        return any(column.cells < there for column in self.columns)

    @property
    def passed(self) -> bool | None:
        """Whether it passes its gate; None where it has none."""
        gate = read_gate(self.experiment.gate)
        return all(one.passed for one in self.checks(gate)) if gate.as_json() else None

    def checks(self, gate: Gate) -> list[Check]:
        return [one for column in self.columns for one in checks(gate, self._measured(column))]

    def _measured(self, column: Column) -> Measured:
        return Measured(
            name=column.candidate.label,
            place=column.candidate.place,
            same=column.same,
            cost_ratio=column.cost_ratio,
            errors=column.errors,
            finished=column.is_finished and self.is_finished and not column.ended["cancelled"],
            answered=column.answered,
            runs=column.cells,
            asked_runs=max(self.experiment.asked_runs or 0, 1),
        )


def summary(experiment: Experiment) -> Summary:
    """The sums as the cells have them now."""
    found = summaries([experiment])[experiment.pk]
    columns = {column.candidate.pk: column for column in found.columns}
    _take_latencies(columns, cells_of([experiment]))
    _take_divergences(columns, experiment)
    return found


def summaries(experiments: Sequence[Experiment]) -> dict[int, Summary]:
    """How experiments stand and whether they pass their gates, by key, by two queries for all of
    them: without latencies and what is to be decided."""
    every = ExperimentCandidate.objects.filter(experiment__in=experiments).order_by("place")
    columns = {one.pk: Column(one) for one in every}
    for sums in _sums(cells_of(experiments)):
        _take(columns[sums["candidate"]], sums)
    found: dict[int, list[Column]] = {one.pk: [] for one in experiments}
    for column in columns.values():
        found[column.candidate.experiment_id].append(column)
    return {one.pk: Summary(one, found[one.pk]) for one in experiments}


def cells_of(experiments: Sequence[Experiment]) -> QuerySet[Cell]:
    """Their cells, without those of runs that somebody deleted a moment ago."""
    projects = {one.project_id for one in experiments}
    hidden = Run.everything.filter(project__in=projects, deleted_at__isnull=False)
    cells = Cell.objects.filter(experiment__in=experiments)
    return cells.exclude(row__run__in=hidden.values("pk"))


def _sums(cells: QuerySet[Cell]) -> Any:
    counts = {f"n_{end}": Count("pk", filter=Q(ended=end)) for end in ENDS}
    holes = {
        f"no_{name}": Count("pk", filter=_ANSWERED & Q(**{f"{name}_complete": False}))
        for name in _COMPLETE
    }
    sums = {f"sum_{name}": Sum(name) for name in _SUMS}
    answered = Count("pk", filter=_ANSWERED)
    grouped = cells.order_by().values("candidate")
    return grouped.annotate(cells=Count("pk"), answered=answered, **counts, **holes, **sums)


def _take(column: Column, sums: dict[str, Any]) -> None:
    column.cells = sums["cells"]
    column.ended = {end: sums[f"n_{end}"] for end in ENDS}
    column.classes = {name: sums[f"sum_{name}"] for name in CLASSES}
    column.sums = {name: sums[f"sum_{name}"] for name in _SUMS if name not in CLASSES}
    some = sums["answered"] > 0
    column.complete = {name: some and not sums[f"no_{name}"] for name in _COMPLETE}


def _take_latencies(columns: dict[int, Column], cells: QuerySet[Cell]) -> None:
    found: dict[tuple[int, str], Counter[str]] = {}
    for pk, latencies in cells.exclude(latencies={}).values_list("candidate", "latencies"):
        for side in ("replayed", "recorded"):
            found.setdefault((pk, side), Counter()).update(latencies[side])
    for (pk, side), bins in found.items():
        told = Percentiles(percentile(bins, 0.5), percentile(bins, 0.95), bins.total())
        if side == "replayed":
            columns[pk].latency = told
        else:
            columns[pk].original_latency = told


def _take_divergences(columns: dict[int, Column], experiment: Experiment) -> None:
    """What people have to decide, and what they called a regression."""
    mine = Divergence.objects.filter(
        replay__cell__experiment=experiment,
        is_current=True,
        run__deleted_at=None,
        state__in=(State.OPEN, State.REGRESSION),
    )
    counts = mine.order_by().values_list("replay__cell__candidate", "state").annotate(Count("pk"))
    for pk, state, count in counts:
        if state == State.OPEN:
            columns[pk].to_review = count
        else:
            columns[pk].regressions = count
