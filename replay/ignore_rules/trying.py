"""What a rule would silence of the answers that replays compared last, before it counts."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from replay.comparison.compare import Comparison
from replay.ignore_rules.keeping import rules_of
from replay.ignore_rules.rule import made_of
from replay.ignore_rules.stored import DIFFERS, again, answered_in, became, replays_of, with_both
from replay.models import ReplayEffect
from runs.accounts.models import Project

LAST = 1000
"""Compared answers that are looked at, the newest."""
LOOKED_AT = 1000
"""Replays among which they are looked for."""
AT_ONCE = 50
SHOWN = 10
SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Example:
    """A difference that would be ignored, or milder."""

    row: ReplayEffect
    became: str
    found: Comparison


@dataclass(slots=True)
class Tried:
    """What was looked at before time was up; `complete`: that was all there is to look at."""

    replays: int = 0
    compared: int = 0
    differ: int = 0
    silenced: int = 0
    milder: int = 0
    complete: bool = True
    examples: list[Example] = field(default_factory=list)


def preview(project: Project, given: Mapping[str, Any]) -> Tried:
    """Try a rule beside those there are (in place of the one of its name); raises BadRule."""
    made = made_of({"name": "preview", **given})
    others = tuple(rule for rule in rules_of(project.pk) if rule.name != made.name)
    until, tried = time.monotonic() + SECONDS, Tried()
    for row in _latest(project, tried):
        tried.differ += 1
        held = again(row, (*others, made))
        if held is not None and made.name in held.found.rules:
            _count(tried, row, held.found)
        if time.monotonic() > until:
            tried.complete = False
            break
    return tried


def _count(tried: Tried, row: ReplayEffect, found: Comparison) -> None:
    what = became(row, found)
    tried.silenced += what == "silenced"
    tried.milder += what == "milder"
    if what and len(tried.examples) < SHOWN:
        tried.examples.append(Example(row, what, found))


def _latest(project: Project, tried: Tried) -> Iterator[ReplayEffect]:
    """Those of the newest answers that differ; `tried` counts all up to the one that is given."""
    ids = list(replays_of(project).values_list("pk", flat=True)[:LOOKED_AT])
    for start in range(0, len(ids), AT_ONCE):
        room = LAST - tried.compared
        if room <= 0:
            return
        rows = answered_in(ids[start : start + AT_ONCE])
        newest = list(rows.values_list("pk", "replay_id")[:room])
        differing = with_both(rows.filter(DIFFERS).select_related("replay__run"))
        compared, replays, places = tried.compared, tried.replays, _places(newest)
        for row in differing.filter(pk__in=places):
            number, of_replays = places[row.pk]
            tried.compared, tried.replays = compared + number, replays + of_replays
            yield row
        tried.compared = compared + len(newest)
        tried.replays = replays + len({replay for _, replay in newest})


def _places(newest: Sequence[tuple[int, int]]) -> dict[int, tuple[int, int]]:
    """Row → how many rows and how many replays there are up to it."""
    places, seen = {}, set()
    for number, (pk, replay) in enumerate(newest, 1):
        seen.add(replay)
        places[pk] = (number, len(seen))
    return places
