"""A comparison of two runs: made once, kept, and made anew when one of them has changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import orjson
from django.utils import timezone

from replay.comparison.differences import Difference
from replay.ignore_rules.keeping import rules_of
from replay.ignore_rules.rule import Rule, mark_of, of_effect
from replay.models import RunComparison
from replay.two_runs.effects import Taken, Told, compare_effects
from replay.two_runs.marks import Asked, parts_of
from replay.two_runs.pairing import Marks, pair
from runs import bulk
from runs.messages.loose import clean, one_line
from runs.models import Effect, Run
from runs.storage import segments
from runs.unable import where_it_can

VERSION = 3
"""Of the rules below: what was kept under other rules is made anew."""
MOST = 20_000
"""Effects of each run that are compared; of a longer one the page says so."""
KEPT = 200
"""Comparisons kept in all, the newest."""
SHOWN = 300
_NO_CHANGE = frozenset(one.value for one in Difference if not one.is_change)


class Row(NamedTuple):
    """One effect beside another, by position in their runs. `difference` is empty where the
    answers are too large to be classed; `asked` where both were asked the same. `ignored` is the
    class it would be without the ignore rules that `rules` names."""

    a: int | None
    b: int | None
    difference: str
    summary: str
    asked: str
    ignored: str = ""
    rules: tuple[str, ...] = ()

    @property
    def place(self) -> str:
        """What the row is called in addresses: `a12`, or `b3` where only B has it."""
        return f"a{self.a}" if self.a is not None else f"b{self.b}"

    @property
    def is_change(self) -> bool:
        """What cannot be classed is not the same either."""
        return self.difference not in _NO_CHANGE


@dataclass(frozen=True)
class Compared:
    a: Run
    b: Run
    rows: list[Row]

    @cached_property
    def counts(self) -> dict[str, int]:
        """Rows of each class that occurs, from mild to severe; `` for those without one."""
        found = Counter(row.difference for row in self.rows)
        return {name: found[name] for name in (*Difference, "") if found[name]}

    @cached_property
    def changed(self) -> int:
        return sum(row.is_change for row in self.rows)

    @cached_property
    def ignored(self) -> int:
        """Rows whose difference ignore rules took away, or made milder."""
        return sum(bool(row.ignored) for row in self.rows)

    @cached_property
    def asked_otherwise(self) -> list[Row]:
        return [row for row in self.rows if row.asked]

    @property
    def is_cut(self) -> bool:
        """Whether one of them is too long to be compared to its end."""
        return max(self.a.last_seq, self.b.last_seq) > MOST

    def at(self, place: str) -> int | None:
        """The index of a place such as `a12` or `b3`, None where there is none."""
        side, seq = place[:1], int(place[1:])
        found = (i for i, row in enumerate(self.rows) if (row.a if side == "a" else row.b) == seq)
        return next(found, None)


def compared(a: Run, b: Run) -> Compared:
    """Two runs of one project, row by row, under the ignore rules there are now."""
    rules = rules_of(a.project_id)
    state = f"{VERSION}{mark_of(rules)} {_state(a)} {_state(b)}"
    kept = RunComparison.objects.filter(a=a, b=b, state=state).values_list("rows", flat=True)
    if data := kept.first():
        found = orjson.loads(segments.decompress(data))
        return Compared(a, b, [_row(one) for one in found])
    rows = list(_compare(_effects(a), _effects(b), rules))
    _keep(a, b, state, rows)
    return Compared(a, b, rows)


def _row(kept: list[Any]) -> Row:
    """A row as it was kept; JSON knows no tuples."""
    *told, rules = kept
    return Row._make((*told, tuple(rules)))


def _state(run: Run) -> str:
    return f"{run.effect_count}/{run.last_seq}/{run.updated_at.timestamp()}"


def _keep(a: Run, b: Run, state: str, rows: list[Row]) -> None:
    data = segments.compress(orjson.dumps([tuple(row) for row in rows]))
    kept = RunComparison(a=a, b=b, state=state, rows=data, created_at=timezone.now())
    with where_it_can(), bulk.turn():
        RunComparison.objects.bulk_create(
            [kept],
            update_conflicts=True,
            unique_fields=["a", "b"],
            update_fields=["state", "rows", "created_at"],
        )
        newest = RunComparison.objects.order_by("-pk").values_list("pk", flat=True)
        if oldest := newest[KEPT : KEPT + 1].first():
            RunComparison.objects.filter(pk__lte=oldest).delete()


def _effects(run: Run) -> list[Effect]:
    return list(Effect.objects.filter(run_id=run.pk).after(0, MOST))


def _compare(
    mine: Sequence[Effect], theirs: Sequence[Effect], rules: Sequence[Rule] = ()
) -> list[Row]:
    asked = Asked()
    rows = []
    for left, right in pair(_marks(mine, asked), _marks(theirs, asked)):
        a = None if left is None else mine[left]
        b = None if right is None else theirs[right]
        told = _told(a, b, asked, rules)
        summary, otherwise = (one_line(clean(text), SHOWN) for text in (told.summary, told.asked))
        difference = told.difference.value if told.difference else ""
        seqs = a.seq if a else None, b.seq if b else None
        ignored = told.ignored.value if told.ignored else ""
        rows.append(Row(*seqs, difference, summary, otherwise, ignored, told.rules))
    return rows


def _marks(effects: Sequence[Effect], asked: Asked) -> list[Marks]:
    return [
        asked.marks(parts_of(segments.read(effect)).kind, effect.family, effect.key, effect.name)
        for effect in effects
    ]


def _told(a: Effect | None, b: Effect | None, asked: Asked, rules: Sequence[Rule]) -> Told:
    if a is None:
        return Told(Difference.NOT_RECORDED)
    if b is None:
        return Told(Difference.NOT_ASKED)
    if a.content_hash == b.content_hash and a.length == b.length:
        return Told(Difference.SAME)
    return compare_effects(_taken(a), _taken(b), asked, of_effect(rules, a.key))


def _taken(effect: Effect) -> Taken:
    return Taken(effect.family, effect.key, effect.name, segments.read(effect))
