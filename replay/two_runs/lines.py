"""Rows of a comparison with what both runs know of their effects."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from replay.two_runs.kept import Compared, Row
from runs.models import Effect, Run

_COLUMNS = ("seq", "family", "name", "key", "summary", "cost", "duration_ms", "status",
            "input_tokens", "output_tokens")  # fmt: skip


@dataclass(frozen=True, slots=True)
class Line:
    """A row with its effects, as far as there are any."""

    row: Row
    a: Effect | None
    b: Effect | None


def lines(both: Compared, rows: Sequence[Row]) -> list[Line]:
    """Rows with their effects, by one query a run."""
    mine = _effects(both.a, (row.a for row in rows))
    theirs = _effects(both.b, (row.b for row in rows))
    return [Line(row, mine.get(row.a), theirs.get(row.b)) for row in rows]


def _effects(run: Run, seqs: Iterable[int | None]) -> dict[int | None, Effect]:
    asked = [seq for seq in seqs if seq is not None]
    found = Effect.objects.filter(run_id=run.pk, seq__in=asked).only(*_COLUMNS)
    return {effect.seq: effect for effect in found}
