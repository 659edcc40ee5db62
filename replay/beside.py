"""The two answers of a row beside each other: what it was held against, and what came."""

from __future__ import annotations

from replay import answers, recording
from replay.compare import Side
from replay.models import ReplayEffect
from replay.sides import Show, Sides, side_by_side


def both_sides(row: ReplayEffect, show: Show) -> Sides:
    """The recorded answer, or the accepted one that the new answer was held against."""
    return side_by_side(_held_against(row), answers.replayed_side(row), show)


def _held_against(row: ReplayEffect) -> Side:
    if row.baseline is not None:
        return answers.unpack(bytes(row.baseline.answer))
    record = recording.record(row.effect).value if row.effect else None
    return answers.recorded_side(record) if record else None
