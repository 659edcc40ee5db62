"""Rows of a replay with what was recorded of them, read by statements that are made once."""

from __future__ import annotations

from collections.abc import Sequence

from replay.models import CallState, ReplayEffect, ReplaySample
from runs import bulk, statements
from runs.models import Effect

AT_ONCE = 200
_ASKED = ("id", "replay_id", "effect_id", "seq", "state", "attempt", "calls", "calls_allowed",
          "samples")  # fmt: skip
OPEN = (CallState.PENDING.value, CallState.IN_FLIGHT.value, CallState.INTERRUPTED.value)


def to_ask(replay_id: int) -> list[ReplayEffect]:
    """The rows of a replay that have no answer and may be asked, in order."""
    found = statements.objects(ReplayEffect, _ASKED, order="seq", replay_id=replay_id, state=OPEN)
    return with_effects(found)


def has_answers(replay_id: int) -> bool:
    """Whether anything of a replay was answered, by an answer or a sample of one."""
    answered = {"replay_id": replay_id, "state": CallState.ANSWERED.value}
    if bulk.find(ReplayEffect, ("id",), **answered) is not None:
        return True
    return ReplaySample.objects.filter(row__replay=replay_id).exists()


def with_effects(rows: list[ReplayEffect], columns: Sequence[str] = ()) -> list[ReplayEffect]:
    """The same rows, each with its recorded effect (whole, or only these columns of it)."""
    keys = [row.effect_id for row in rows if row.effect_id is not None]
    found: dict[int, Effect] = {}
    for start in range(0, len(keys), AT_ONCE):
        some = tuple(keys[start : start + AT_ONCE])
        found |= {one.pk: one for one in statements.objects(Effect, columns, id=some)}
    for row in rows:
        row.effect = found.get(row.effect_id) if row.effect_id is not None else None
    return rows
