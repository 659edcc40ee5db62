"""The two answers of a row beside each other: what it was held against, and what came."""

from __future__ import annotations

from typing import Any

from replay import recording
from replay.comparison import answers
from replay.comparison.compare import Side
from replay.comparison.recorded import recorded_side
from replay.comparison.sides import Show, Sides, requests, side_by_side
from replay.dialects.loose import read_value
from replay.models import Answered, ReplayEffect, ReplaySample
from replay.wire import wire_of
from rewyn_sdk.facts import as_object
from runs.storage import segments


def both_sides(row: ReplayEffect, show: Show, came: Answered | None = None) -> Sides:
    """The recorded answer, or the accepted one that the new answer was held against; `came` is one
    of several samples."""
    came = came or row
    return side_by_side(_held_against(row, came), _came(row, came), show)


def both_requests(row: ReplayEffect) -> Sides:
    """The body that was recorded and the one that was sent, member by member. Where the recording
    has no body, the log's own form of the request stands there, and nothing is marked."""
    wire = wire_of(row.effect) if row.effect else None
    body = wire.get("request") if wire else None
    told = body if body is not None else _logged(row)
    sent = segments.decompress(bytes(row.sent)) if row.sent else None
    return requests(told, _decoded(sent), marks=body is not None)


def _logged(row: ReplayEffect) -> Any:
    record = recording.record(row.effect).value if row.effect else None
    return as_object(as_object(record).get("kind")).get("request")


def _decoded(sent: bytes | None) -> Any:
    try:
        return read_value(sent) if sent else None
    except (ValueError, RecursionError):
        return (sent or b"").decode("utf-8", "replace")


def _held_against(row: ReplayEffect, came: Answered) -> Side:
    if came.baseline is not None:
        return answers.unpack(bytes(came.baseline.answer))
    record = recording.record(row.effect).value if row.effect else None
    return recorded_side(record) if record else None


def _came(row: ReplayEffect, came: Answered) -> Side:
    if isinstance(came, ReplaySample):
        return answers.unpack(bytes(came.answer or b""))
    return answers.replayed_side(row)
