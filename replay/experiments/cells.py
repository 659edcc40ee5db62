"""Cells are written when a replay of theirs ends or is asked again; `replay.jobs` says when.

Settling the same replay twice writes the same, so a lost moment is made up for by the next.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from django.db.models import Exists, Max, OuterRef, QuerySet
from django.utils import timezone

from replay.comparison.differences import Difference
from replay.experiments.latency import bins
from replay.experiments.models import CLASSES, FIGURES, NOTHING_YET, Cell, ExperimentRun
from replay.models import CallState, Experiment, Replay, ReplayEffect
from replay.notifications import events
from replay.states import ACTIVE, FINAL
from runs import bulk, statements
from runs.prepared import prepared

AT_ONCE = 100
LOOKED_AT = 20
"""Experiments one sweep looks at."""


def _over(experiment_id: int) -> QuerySet[Experiment]:
    """The experiment, if all of it has ended and nobody has said so yet."""
    going = Replay.objects.filter(experiment=OuterRef("pk"), status__in=ACTIVE)
    unsettled = Cell.objects.filter(experiment=OuterRef("pk"), ended="")
    return Experiment.objects.filter(
        ~Exists(going), ~Exists(unsettled), pk=experiment_id, finished_at=None
    )


@prepared
def _worst_of(row_id: int) -> QuerySet[Cell, Any]:
    cells = Cell.objects.filter(row_id=row_id).order_by().values("row")
    return cells.annotate(worst=Max("severity")).values_list("worst", flat=True)


@prepared
def _over_yet(experiment_id: int) -> QuerySet[Any, int]:
    return _over(experiment_id).values_list("pk", flat=True)


@prepared
def _told(replay_id: int) -> QuerySet[ReplayEffect, tuple[Any, ...]]:
    rows = ReplayEffect.objects.filter(replay_id=replay_id).order_by()
    return rows.values_list("difference", "state", "latency_ms", "effect__duration_ms")


_PLACE = ("id", "row_id", "experiment_id", "replay_id")


def settle(replays: Iterable[int]) -> None:
    """Write down what came of replays (their keys) that have ended; of others nothing."""
    keys = list(replays)
    found: list[Cell] = []
    for start in range(0, len(keys), AT_ONCE):
        found += statements.objects(Cell, _PLACE, replay_id=tuple(keys[start : start + AT_ONCE]))
    for cell in found:
        _settle(cell)
    for experiment_id in {cell.experiment_id for cell in found}:
        finish(experiment_id)


def _settle(cell: Cell) -> None:
    [replay] = statements.objects(Replay, ("id", "status", *FIGURES), id=cell.replay_id)
    if replay.is_final:
        columns = _columns(replay)
        # Somebody may have asked again a moment ago: then its next end is what counts.
        mine = {"id": cell.pk, "replay__status": replay.status}
        with bulk.turn():
            if statements.change(Cell, mine, {"ended": replay.status, **columns}):
                _mark_row(cell.row_id)


def _columns(replay: Replay) -> dict[str, Any]:
    """A cell's figures: those of the replay, its classes and its latencies."""
    told = _told(replay.pk)
    counts = Counter(difference for difference, *_ in told if difference)
    severities = [Difference(difference).severity for difference in counts]
    answered = [each for each in told if each[1] == CallState.ANSWERED]
    # One side failed, and it was not this one.
    recovered = sum(difference == Difference.ERROR for difference, *_ in answered)
    return {
        **{name: getattr(replay, name) for name in FIGURES},
        **{name: counts.get(name, 0) for name in CLASSES},
        "recovered": recovered,
        "severity": max(severities, default=_of_nothing(replay)),
        "latencies": {
            "replayed": bins(each[2] for each in answered),
            "recorded": bins(each[3] for each in answered),
        },
    }


def _of_nothing(replay: Replay) -> int:
    """A replay that failed before its first call is an error, one stopped before is nothing."""
    return Difference.ERROR.severity if replay.status == "failed" else NOTHING_YET


def _mark_row(row_id: int) -> None:
    """Keep the worst class of a row's cells; in the turn in which one of them was written."""
    mine = {"id": row_id}
    # An UPDATE locks the row: who comes second reads what the first one's cell says.
    statements.change(ExperimentRun, mine, add={"severity": 0})
    worst = next(iter(_worst_of(row_id)), NOTHING_YET)
    statements.change(ExperimentRun, mine, {"severity": worst})


def reopen(replays: Sequence[int]) -> None:
    """Replays (their keys) were queued again: they wait, and so does their experiment."""
    for start in range(0, len(replays), AT_ONCE):
        cells = Cell.objects.filter(replay__in=replays[start : start + AT_ONCE])
        cells.update(ended="")
        Experiment.objects.filter(cells__in=cells).update(finished_at=None)


def finish(experiment_id: int) -> bool:
    """Say when the last replay of an experiment has ended and is written down; True the first
    time."""
    if not _over_yet(experiment_id):
        return False
    with bulk.turn():  # who is told of its end is written down with it
        over = _over(experiment_id)
        ended = bool(over.update(finished_at=timezone.now(), fingerprint=""))
        if ended:
            events.experiment_ended(experiment_id)
    return ended


def catch_up() -> int:
    """Settle what ended while nobody could write it down; how many experiments were looked at."""
    going = Replay.objects.filter(experiment=OuterRef("pk"), status__in=ACTIVE)
    over = Experiment.objects.filter(~Exists(going), finished_at=None).order_by("pk")
    ids = list(over.values_list("pk", flat=True)[:LOOKED_AT])
    for pk in ids:
        missed = Cell.objects.filter(experiment=pk, ended="", replay__status__in=FINAL)
        settle(list(missed.values_list("replay_id", flat=True)[:AT_ONCE]))
        finish(pk)
    return len(ids)


def stopped(experiment: Experiment) -> None:
    """All that waited was withdrawn: of what was never asked there is nothing to add up."""
    unasked = Cell.objects.filter(
        experiment=experiment, ended="", replay__status="cancelled", replay__attempt=0
    )
    unasked.update(ended="cancelled")
    finish(experiment.pk)
    catch_up()
