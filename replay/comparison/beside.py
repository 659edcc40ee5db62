"""The two answers of a row beside each other: what it was held against, and what came."""

from __future__ import annotations

from replay import recording
from replay.comparison import answers
from replay.comparison.compare import Side
from replay.comparison.recorded import recorded_side
from replay.comparison.sides import Show, Sides, side_by_side
from replay.models import Answered, ReplayEffect, ReplaySample


def both_sides(row: ReplayEffect, show: Show, came: Answered | None = None) -> Sides:
    """The recorded answer, or the accepted one that the new answer was held against; `came` is one
    of several samples."""
    came = came or row
    return side_by_side(_held_against(row, came), _came(row, came), show)


def _held_against(row: ReplayEffect, came: Answered) -> Side:
    if came.baseline is not None:
        return answers.unpack(bytes(came.baseline.answer))
    record = recording.record(row.effect).value if row.effect else None
    return recorded_side(record) if record else None


def _came(row: ReplayEffect, came: Answered) -> Side:
    if isinstance(came, ReplaySample):
        return answers.unpack(bytes(came.answer or b""))
    return answers.replayed_side(row)
