"""How a replay of prompts ends: its status, the verdict line, the mismatches, the totals."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet

from replay.lease import Lease
from replay.models import CallState, Replay, ReplayEffect, ReplaySample
from replay.outcome import Outcome
from replay.questions import Controls
from replay.results import KEPT_MISMATCHES
from replay.rows import OPEN
from replay.totals import columns_of, sums_of
from runs.prepared import prepared


def verdict(lease: Lease) -> Outcome:
    """The outcome of the rows as they are now; a cancelled replay keeps what it has."""
    replay = lease.replay
    sums = sums_of(replay)
    answered, failed = sums["answered"], sums["failed"]
    open_calls = sums["rows"] - answered - failed
    columns = {**columns_of(replay, sums), "done": answered + failed}
    columns |= _judged(replay, sums, whole=not failed and not open_calls)
    if not failed and not open_calls:
        return Outcome("succeed", columns)
    if open_calls:
        began = ReplaySample.objects.filter(row__replay=replay, row__state__in=OPEN).exists()
        to_the_end = " to the end" if began else ""
        text = f"{open_calls} of {sums['rows']} calls were not asked{to_the_end}."
        if Controls.of_json(replay.controls).strict and columns["changed"]:
            text = f"Stopped at the first answer that differs: {text}"
            return Outcome("part", columns, "stopped_at_difference", text)
        return Outcome("part", columns, "not_all_asked", text)
    if answered or ReplaySample.objects.filter(row__replay=replay).exists():
        text = f"{failed} of {answered + failed} calls have no answer."
        return Outcome("part", columns, "calls_failed", text)
    return Outcome("fail", columns, *_first_error(replay))


def anew(replay: Replay) -> dict[str, Any]:
    """The columns that sum up a replay that is over, when its rows were compared anew."""
    sums = sums_of(replay)
    whole = sums["answered"] == sums["rows"]
    return columns_of(replay, sums) | _judged(replay, sums, whole=whole)


def _judged(replay: Replay, sums: dict[str, Any], *, whole: bool) -> dict[str, Any]:
    """`identical` is unknown while answers are missing, unless one that came differs."""
    identical = False if sums["changed_answers"] else True if whole else None
    return {
        "identical": identical,
        "faithful": identical,
        "mismatches": _mismatches(replay) if sums["changed"] else [],
        "mismatch_count": sums["changed"],
    }


def _mismatches(replay: Replay) -> list[dict[str, Any]]:
    return [_mismatch(*row) for row in _changed(replay.pk)]


@prepared
def _changed(replay_id: int) -> QuerySet[ReplayEffect, tuple[Any, ...]]:
    rows = ReplayEffect.objects.filter(replay_id=replay_id).changed().order_by("seq")
    told = ("seq", "state", "difference", "summary", "error_text", "changes", "effect__effect_id")
    return rows.values_list(*told)[:KEPT_MISMATCHES]


def _mismatch(
    seq: int,
    state: str,
    difference: str,
    summary: str,
    error: str,
    changes: list[dict[str, Any]],
    effect_id: str | None,
) -> dict[str, Any]:
    first = changes[0] if changes else {}
    return {
        "kind": "error" if state == CallState.FAILED else "content_changed",
        "class": difference,
        "text": f"#{seq}: {summary or error}"[:400],
        "seq": seq,
        "effect_id": effect_id or "",
        "path": first.get("path", ""),
        "expected": first.get("recorded"),
        "found": first.get("replayed"),
        "explained": False,
    }


def _first_error(replay: Replay) -> tuple[str, str]:
    rows = ReplayEffect.objects.filter(replay=replay, state=CallState.FAILED)
    row = rows.order_by("seq").first()
    return (row.error_code, row.error_text) if row else ("no_calls", "There was nothing to ask.")
