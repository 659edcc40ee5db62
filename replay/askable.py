"""Which recorded model calls can be asked again at all, known before anything is planned."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from replay import recording
from replay.providers import why_not
from replay.wire import wire_of
from runs.models import SHORT_REQUEST, Effect, Family, Run

LOOKED_AT, SEGMENTS = 1000, 300
"""So many short ones are read, of so many segments: to unpack one takes longer than to read a
hundred records in it. Of those behind it shows when they are asked."""
CODE = "cannot_ask"
_COLUMNS = ("run_id", "seq", "segment_id", "offset", "length", "content_hash")
_WIRE = ("wire_segment_id", "wire_offset", "wire_length")


def reasons(effects: Iterable[Effect]) -> dict[int, str]:
    """Key of an effect → why it cannot be asked. Only short requests are read."""
    found = {}
    for one in _looked_at(one for one in effects if one.request_size <= SHORT_REQUEST):
        if why := why_not(recording.record(one).value or {}, wire_of(one)):
            found[one.pk] = why
    return found


def _looked_at(short: Iterable[Effect]) -> Iterator[Effect]:
    opened: set[int] = set()
    for one in islice(short, LOOKED_AT):
        opened.add(one.segment_id)
        if len(opened) > SEGMENTS:
            return
        yield one


@dataclass(frozen=True, slots=True)
class Unasked:
    """The model calls of some runs that cannot be asked: key of the run → position → why."""

    by_run: Mapping[int, Mapping[int, str]] = field(default_factory=dict)
    keys: Collection[int] = ()
    """Those of their effects."""

    def calls(self, run: Run) -> int:
        """How many model calls of a run can be asked."""
        return run.model_count - len(self.by_run.get(run.pk, ()))

    def of(self, run: Run) -> list[dict[str, Any]]:
        """What the plan of one run says of them."""
        return told(self.by_run.get(run.pk, {}))

    def told(self, runs: Sequence[Run]) -> list[dict[str, Any]]:
        """The same of all runs, each reason with how many calls of which runs."""
        found: dict[str, list[str]] = {}
        for run in runs:
            for why in self.by_run.get(run.pk, {}).values():
                found.setdefault(why, []).append(run.external_id)
        return [
            {"code": CODE, "message": why, "calls": len(ids), "run_ids": list(dict.fromkeys(ids))}
            for why, ids in found.items()
        ]


NONE = Unasked()


def unasked(runs: Sequence[Run]) -> Unasked:
    """Of many runs, by one query beside the reading."""
    calls = Effect.objects.filter(run__in=[run.pk for run in runs], family=Family.COMPLETION)
    short = calls.filter(request_size__lte=SHORT_REQUEST).order_by("run", "seq")
    effects = list(short.only("request_size", *_COLUMNS, *_WIRE)[:LOOKED_AT])
    why = reasons(effects)
    by_run: dict[int, dict[int, str]] = {}
    for one in effects:
        if one.pk in why:
            by_run.setdefault(one.run_id, {})[one.seq] = why[one.pk]
    return Unasked(by_run, frozenset(why))


def told(found: Mapping[int, str]) -> list[dict[str, Any]]:
    """What a plan says of calls that are not asked, given as position → why."""
    notes: dict[str, list[int]] = {}
    for seq, why in sorted(found.items()):
        notes.setdefault(why, []).append(seq)
    return [{"code": CODE, "message": why, "effects": seqs} for why, seqs in notes.items()]
