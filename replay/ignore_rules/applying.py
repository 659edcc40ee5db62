"""The rules there are, applied to answers that were compared under others: some at a time.

Rows keep their class until somebody asks for this. What a verdict was given on stays as it is;
everything of a row, its divergence and the sums of its replay changes in one transaction.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from django.db.models import Q

from replay.experiments import cells
from replay.ignore_rules.keeping import rules_of
from replay.ignore_rules.rule import Rule
from replay.ignore_rules.stored import (
    DIFFERS,
    Held,
    again,
    answered_in,
    became,
    replays_of,
    with_both,
)
from replay.models import Replay, ReplayEffect, ReplaySample
from replay.modes import verdict
from replay.review.models import VERDICTS, Divergence
from replay.review.noting import Ruled, note
from replay.review.people import Decider
from replay.review.turns import turn_of
from replay.states import FINAL
from runs import bulk
from runs.accounts.models import Project

AT_ONCE = 100
"""Replays looked at, and rows compared, in one step."""
SECONDS = 2.0
"""After which the rest is left for another request."""
_CURSOR = re.compile(r"(\d{1,18})\.(\d{1,9})")
_FROM_THE_NEWEST = (2**63 - 1, 0)


COUNTS = ("compared", "silenced", "milder", "restored", "judged")


class BadCursor(ValueError):
    """A place to go on from that is none."""


@dataclass(slots=True)
class Applied:
    """What one request did; `next` is where another goes on, empty when all is done."""

    compared: int = 0
    silenced: int = 0
    milder: int = 0
    restored: int = 0
    judged: int = 0
    """Left as they are, because somebody gave a verdict."""
    next: str = ""

    @property
    def counts(self) -> dict[str, int]:
        return {name: getattr(self, name) for name in COUNTS}


def apply(
    project: Project, by: Decider, cursor: str = "", so_far: Mapping[str, int] | None = None
) -> Applied:
    """Hold stored answers against their recordings again, newest replay first, for two seconds.

    `so_far` are the counts of the requests before this one. Raises BadCursor.
    """
    done = Applied()
    for name, count in (so_far or {}).items():
        setattr(done, name, count)
    rules, until = rules_of(project.pk), time.monotonic() + SECONDS
    place = _step(project, rules, by, done, _read(cursor) if cursor else _FROM_THE_NEWEST)
    while place is not None and time.monotonic() < until:
        place = _step(project, rules, by, done, place)
    done.next = f"{place[0]}.{place[1]}" if place else ""
    return done


def _read(cursor: str) -> tuple[int, int]:
    found = _CURSOR.fullmatch(cursor)
    if found is None:
        raise BadCursor
    return int(found[1]), int(found[2])


def _step(
    project: Project, rules: Sequence[Rule], by: Decider, done: Applied, place: tuple[int, int]
) -> tuple[int, int] | None:
    """Some rows behind a place; the place behind them, None at the end."""
    replay_id, seq = place
    replays = {one.pk: one for one in _replays(project).filter(pk__lte=replay_id)[:AT_ONCE]}
    if not replays:
        return None
    behind = Q(replay__lt=replay_id) | Q(replay=replay_id, seq__gt=seq)
    concerned = DIFFERS | ~Q(ignored_difference="")
    rows = list(with_both(answered_in(list(replays)).filter(behind, concerned))[:AT_ONCE])
    for pk, of_one in groupby(rows, key=lambda row: row.replay_id):
        _apply_to(replays[pk], list(of_one), rules, by, done)
    if len(rows) == AT_ONCE:
        return rows[-1].replay_id, rows[-1].seq
    return (min(replays) - 1, 0) if len(replays) == AT_ONCE else None


def _replays(project: Project) -> Any:
    rows = replays_of(project).select_related("run", "project")
    return rows.defer("plan", "proof", "mismatches")


def _apply_to(
    replay: Replay, rows: Sequence[ReplayEffect], rules: Sequence[Rule], by: Decider, done: Applied
) -> None:
    done.compared += len(rows)
    changes = []
    for row in rows:
        held = again(row, rules)
        what = became(row, held.found) if held else ""
        if held and what:
            changes.append((row, what, held))
    if changes:
        _write(replay, changes, by, done)


def _write(
    replay: Replay,
    changes: Sequence[tuple[ReplayEffect, str, Held]],
    by: Decider,
    done: Applied,
) -> None:
    counts: Counter[str] = Counter()
    names: dict[int, Sequence[str]] = {}
    with bulk.turn():
        turn_of(replay.project_id)
        mine = Replay.objects.filter(pk=replay.pk, attempt=replay.attempt, status__in=FINAL)
        if not mine.exists():
            return  # it is being asked again
        judged = Divergence.objects.filter(replay=replay, is_current=True, state__in=VERDICTS)
        kept = set(judged.values_list("seq", flat=True))
        for row, what, held in changes:
            if row.seq in kept:
                counts["judged"] += 1
            elif _change(row, held):
                counts[what] += 1
                names[row.seq] = held.columns["ignored_by"] or row.ignored_by
        if names:
            note(replay, Ruled(names, by))
            mine.update(**verdict.anew(replay))
            cells.settle([replay.pk])
    for name, count in counts.items():
        setattr(done, name, getattr(done, name) + count)


def _change(row: ReplayEffect, held: Held) -> bool:
    """Whether the row was still as it was read, and is as the rules make it now."""
    was = {
        name: getattr(row, name)
        for name in ("pk", "attempt", "state", "difference", "ignored_difference")
    }
    if not ReplayEffect.objects.filter(**was).update(**held.columns):
        return False
    for pk, columns in held.samples.items():
        ReplaySample.objects.filter(pk=pk).update(**columns)
    return True
