"""How a replay of prompts ends: its status, the verdict line, the mismatches, the totals."""

from __future__ import annotations

from typing import Any

from django.db.models import Count

from replay.lease import Lease
from replay.models import CallState, Replay, ReplayEffect, ReplaySample
from replay.outcome import Outcome
from replay.questions import Controls
from replay.results import KEPT_MISMATCHES
from replay.totals import totals


def verdict(lease: Lease) -> Outcome:
    """The outcome of the rows as they are now; a cancelled replay keeps what it has."""
    replay = lease.replay
    states = _states(replay)
    answered, failed = states[CallState.ANSWERED], states[CallState.FAILED]
    open_calls = sum(states.values()) - answered - failed
    columns = {**totals(replay), "done": answered + failed}
    columns |= _judged(replay, columns["changed"], whole=not failed and not open_calls)
    if not failed and not open_calls:
        return Outcome("succeed", columns)
    if open_calls:
        stopped = Controls.of_json(replay.controls).strict and columns["changed"]
        code = "stopped_at_difference" if stopped else "not_all_asked"
        text = f"{open_calls} of {sum(states.values())} calls were not asked."
        return Outcome("part", columns, code, text)
    if answered or ReplaySample.objects.filter(row__replay=replay).exists():
        text = f"{failed} of {answered + failed} calls have no answer."
        return Outcome("part", columns, "calls_failed", text)
    return Outcome("fail", columns, *_first_error(replay))


def anew(replay: Replay) -> dict[str, Any]:
    """The columns that sum up a replay that is over, when its rows were compared anew."""
    states, columns = _states(replay), totals(replay)
    whole = states[CallState.ANSWERED] == sum(states.values())
    return columns | _judged(replay, columns["changed"], whole=whole)


def _states(replay: Replay) -> dict[str, int]:
    rows = ReplayEffect.objects.filter(replay=replay).values_list("state")
    return {**dict.fromkeys(CallState.values, 0), **dict(rows.annotate(Count("pk")))}


def _judged(replay: Replay, changed: int, *, whole: bool) -> dict[str, Any]:
    """`identical` is unknown while answers are missing, unless one that came differs."""
    rows = ReplayEffect.objects.filter(replay=replay, state=CallState.ANSWERED)
    identical = False if rows.changed().exists() else True if whole else None
    return {
        "identical": identical,
        "faithful": identical,
        "mismatches": _mismatches(replay),
        "mismatch_count": changed,
    }


def _mismatches(replay: Replay) -> list[dict[str, Any]]:
    rows = ReplayEffect.objects.filter(replay=replay).changed().for_list()[:KEPT_MISMATCHES]
    return [_mismatch(row) for row in rows]


def _mismatch(row: ReplayEffect) -> dict[str, Any]:
    first = row.changes[0] if row.changes else {}
    failed = row.state == CallState.FAILED
    return {
        "kind": "error" if failed else "content_changed",
        "class": row.difference,
        "text": f"#{row.seq}: {row.summary or row.error_text}"[:400],
        "seq": row.seq,
        "effect_id": row.effect.effect_id if row.effect else "",
        "path": first.get("path", ""),
        "expected": first.get("recorded"),
        "found": first.get("replayed"),
        "explained": False,
    }


def _first_error(replay: Replay) -> tuple[str, str]:
    rows = ReplayEffect.objects.filter(replay=replay, state=CallState.FAILED)
    row = rows.order_by("seq").first()
    return (row.error_code, row.error_text) if row else ("no_calls", "There was nothing to ask.")
