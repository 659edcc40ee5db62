"""Which effects of a run its step list shows: all of them, or what a filter and folds leave.

A question about the list ("the next model call") is answered in its order: what is filtered out or
folded away is passed over.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b

from django.core.cache import cache
from django.db.models import QuerySet

from runs.models import Effect, Family, Run
from runs.prepared import prepared
from runs.steps import timeline
from runs.steps.stretch import FAILED, Row, Stretch, read_rows

GROUPS: dict[str, tuple[str, ...]] = {
    "model": (Family.COMPLETION,),
    "tool": (Family.TOOL,),
    "memory": (Family.MEMORY,),
    "search": (Family.RETRIEVE,),
    "other": (Family.EMBED, Family.RERANK, Family.CUSTOM, Family.UNKNOWN),
}
"""What the list can be narrowed to: the families a run is counted by, and the rest."""
ALL_ROWS = 1000
"""A list of up to this many rows comes whole, so that the browser's find works."""
PASSED_OVER = 1000
"""Effects read at once where many that are folded away lie on the way to the next one."""
KEPT_SECONDS = 600

Like = dict[str, Sequence[str]]


@dataclass(frozen=True, slots=True)
class Choice:
    """What somebody asked of the list; `folds` are positions whose nested effects are put away."""

    groups: tuple[str, ...] = ()
    errors: bool = False
    folds: tuple[int, ...] = ()

    @property
    def like(self) -> Like:
        like: Like = {}
        if self.groups:
            like["family"] = [family for group in self.groups for family in GROUPS[group]]
        if self.errors:
            like["status"] = FAILED
        return like


@dataclass(frozen=True, slots=True)
class Listing:
    """`seqs` are the positions shown, None for all; `folded` says how many each fold put away."""

    run: Run
    like: Like
    seqs: Sequence[int] | None = None
    hidden: frozenset[int] = frozenset()
    folded: dict[int, int] | None = None

    def windows(self, at: int) -> list[timeline.Window]:
        """The list in windows; those that come with the page are marked as loaded."""
        found = self._windows(min(at, self.run.last_seq))
        if sum(window.rows for window in found) > ALL_ROWS:
            return found
        return [window.opened() for window in found]

    def window(self, at: int) -> timeline.Window | None:
        """The window that position `at` lies in."""
        return next((window for window in self._windows(at) if window.loaded), None)

    def _windows(self, at: int) -> list[timeline.Window]:
        if self.seqs is None:
            return timeline.windows(self.run.last_seq, at)
        return timeline.windows_of(self.seqs, at)

    def newer(self, after: int) -> list[timeline.Window]:
        """Windows of what is listed after a position; the first of them is loaded."""
        shown = range(1, self.run.last_seq + 1) if self.seqs is None else self.seqs
        rest = shown[bisect_right(shown, after) :]
        return timeline.windows_of(rest, after + 1)

    def rows(self, window: timeline.Window) -> tuple[Row, ...]:
        """The rows of a window, where only some effects are shown."""
        assert self.seqs is not None
        first, end = bisect_left(self.seqs, window.first), bisect_right(self.seqs, window.last)
        return read_rows(self.run, self.seqs[first:end])

    def after(self, around: Stretch, at: int, **like: Sequence[str]) -> int | None:
        """The nearest effect of the list after position `at` that is also like that."""
        wanted = _both(self.like, like)
        limit = 1
        while wanted is not None and (found := around.between(at, None, limit, **wanted)):
            for row in found:
                if row.seq not in self.hidden:
                    return row.seq
            at, limit = found[-1].seq, PASSED_OVER
        return None

    def before(self, around: Stretch, at: int) -> int | None:
        if self.seqs is None:
            row = around.before(at)
            return row.seq if row else None
        place = bisect_left(self.seqs, at)
        return self.seqs[place - 1] if place else None

    @property
    def ends(self) -> tuple[int, int] | None:
        """The first and the last position shown; None if there is none."""
        if self.seqs is None:
            return (1, self.run.last_seq) if self.run.last_seq else None
        return (self.seqs[0], self.seqs[-1]) if self.seqs else None

    def parents(self, rows: Sequence[Row]) -> set[int]:
        """Positions of those `rows` that have nested effects."""
        is_whole = len(rows) == self.run.effect_count
        if not rows or (is_whole and not any(row.depth for row in rows)):
            return set()
        return set(_parents(self.run.pk, rows[0].seq, rows[-1].seq))


def listing_of(run: Run, choice: Choice) -> Listing:
    """The list of `run` as it was asked for; kept while one steps through it."""
    if not choice.like and not choice.folds:
        return Listing(run, {})
    asked = blake2b(repr(choice).encode(), digest_size=16).hexdigest()
    key = f"listing:{run.pk}:{run.effect_count}:{run.updated_at.timestamp()}:{asked}"
    kept: tuple[Sequence[int], frozenset[int], dict[int, int]] | None = cache.get(key)
    if kept is None:
        folded, hidden = _folded(run, choice.folds) if choice.folds else ({}, frozenset[int]())
        equal = {f"{column}__in": values for column, values in choice.like.items()}
        found = Effect.objects.filter(run_id=run.pk, **equal).order_by("seq")
        seqs = found.values_list("seq", flat=True).iterator(chunk_size=5000)
        kept = array("I", (seq for seq in seqs if seq not in hidden)), hidden, folded
        cache.set(key, kept, KEPT_SECONDS)
    seqs_shown, hidden, folded = kept
    return Listing(run, choice.like, seqs_shown, hidden, folded)


def _folded(run: Run, folds: Sequence[int]) -> tuple[dict[int, int], frozenset[int]]:
    """How many effects each fold puts away, and all of them."""
    nested: dict[str, list[tuple[int, str]]] = defaultdict(list)
    found = _nested(run.pk).values_list("parent_id", "seq", "effect_id").iterator(chunk_size=5000)
    for parent, seq, name in found:
        nested[parent].append((seq, name))
    roots = Effect.objects.filter(run_id=run.pk, seq__in=folds).values_list("seq", "effect_id")
    under = {seq: _under(nested, seq, name) for seq, name in roots}
    folded = {seq: len(all_of_it) for seq, all_of_it in under.items() if all_of_it}
    return folded, frozenset().union(*under.values())


def _under(nested: dict[str, list[tuple[int, str]]], seq: int, name: str) -> set[int]:
    """Positions of all that is nested under an effect; a circle in a bad log comes to an end."""
    found: set[int] = set()
    waiting = [name]
    while waiting:
        for child, child_name in nested.get(waiting.pop(), ()):
            if child not in found and child != seq:
                found.add(child)
                waiting.append(child_name)
    return found


def _nested(run_id: int) -> QuerySet[Effect]:
    return Effect.objects.filter(run_id=run_id).exclude(parent_id="")


@prepared
def _parents(run_id: int, first: int, last: int) -> QuerySet[Effect, int]:
    near = Effect.objects.filter(run_id=run_id, seq__range=(first, last))
    nested = _nested(run_id).values("parent_id")
    return near.filter(effect_id__in=nested).values_list("seq", flat=True)


def _both(one: Like, other: Like) -> Like | None:
    """What both ask for; None where nothing can be like that."""
    merged = dict(one)
    for column, values in other.items():
        merged[column] = [v for v in values if v in merged.get(column, values)]
        if not merged[column]:
            return None
    return merged
