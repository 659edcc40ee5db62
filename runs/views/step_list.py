"""The head of the step list: what it is narrowed to, what was found in the run, and their links."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from django.utils.http import urlencode

from runs.models import Run, RunStatus
from runs.search import indexing
from runs.search.find import Hit, find_in_run
from runs.search.query import QueryProblem, parse
from runs.steps.listing import GROUPS, Choice

HITS = 100
"""Hits listed at once; the next ones are a click away."""
SECONDS, SECONDS_OF_LONG, LONG = 2, 10, 5000
"""How often a page asks for what is new; a long run's tape costs more to draw."""


@dataclass(frozen=True, slots=True)
class ListState:
    """All that the address says of the list, and the tabs that stay as they are."""

    choice: Choice
    asked: str = ""
    after: int = 0
    tabs: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, chosen: dict[str, Any]) -> ListState:
        """From the cleaned values of `EffectSelectionForm`."""
        folds = tuple(sorted({int(seq) for seq in chosen.get("fold", "").split(",") if seq}))
        choice = Choice(tuple(chosen.get("family", ())), bool(chosen.get("errors_only")), folds)
        tabs = tuple((name, chosen[name]) for name in ("req", "tab") if name in chosen)
        return cls(choice, chosen.get("q", ""), chosen.get("after") or 0, tabs)

    @property
    def fields(self) -> list[tuple[str, str]]:
        """The state but for the search, for links and for the form of the search."""
        choice = self.choice
        fields = [("family", group) for group in choice.groups]
        if choice.errors:
            fields.append(("errors_only", "on"))
        if choice.folds:
            fields.append(("fold", ",".join(map(str, choice.folds))))
        return [*fields, *self.tabs]

    @property
    def query(self) -> str:
        """What follows `?at=…`; empty for the whole list."""
        fields = self.fields + ([("q", self.asked)] if self.asked else [])
        return f"&{urlencode(fields)}" if fields else ""

    @property
    def without_search(self) -> str:
        return replace(self, asked="").query

    @property
    def of_windows(self) -> str:
        """The same for a part of the list, which knows nothing of tabs and search."""
        fields = replace(self, tabs=()).fields
        return f"&{urlencode(fields)}" if fields else ""

    def having(self, **changes: Any) -> ListState:
        return replace(self, choice=replace(self.choice, **changes), after=0)

    def turned(self, seq: int) -> ListState:
        """With what is nested under `seq` put away, or shown again."""
        return self.having(folds=tuple(sorted({*self.choice.folds} ^ {seq})))


@dataclass(frozen=True, slots=True)
class Chip:
    label: str
    lane: str
    count: int
    on: bool
    query: str


_LANES = {"search": "vector", "other": "custom"}


def chips(run: Run, state: ListState) -> list[Chip]:
    """What the list of `run` can be narrowed to, each with how many effects are like that."""
    return [*_group_chips(run, state), *_error_chip(run, state)]


def _group_chips(run: Run, state: ListState) -> Iterator[Chip]:
    counted = {name: getattr(run, f"{name}_count") for name in GROUPS if name != "other"}
    counted["other"] = run.effect_count - sum(counted.values())
    chosen = state.choice.groups
    for name, count in counted.items():
        if count or name in chosen:
            groups = tuple(group for group in GROUPS if (group in chosen) != (group == name))
            query = state.having(groups=groups).query
            yield Chip(name, _LANES.get(name, name), count, name in chosen, query)


def _error_chip(run: Run, state: ListState) -> Iterator[Chip]:
    if run.error_count or state.choice.errors:
        query = state.having(errors=not state.choice.errors).query
        label = "error" if run.error_count == 1 else "errors"
        yield Chip(label, "", run.error_count, state.choice.errors, query)


@dataclass(frozen=True, slots=True)
class InRun:
    """What was found in a run; `more` is the query for the hits behind these, if there are any."""

    hits: list[Hit]
    more: str = ""
    previous: int | None = None
    next: int | None = None
    is_behind: bool = False
    problem: str = ""


def found_in(run: Run, state: ListState, at: int) -> InRun | None:
    """The hits of what was looked for, None if nothing was; in all effects, whatever is shown."""
    if not state.asked.strip():
        return None
    try:
        query = parse(state.asked)
    except QueryProblem as problem:
        return InRun([], problem=str(problem))
    hits = find_in_run(run, query, after=state.after, limit=HITS + 1)
    shown = hits[:HITS]
    more = f"{state.query}&after={shown[-1].effect.seq}" if len(hits) > HITS else ""
    seqs = [hit.effect.seq for hit in shown]
    before = [seq for seq in seqs if seq < at] or seqs
    after = [seq for seq in seqs if seq > at] or seqs
    around = (before[-1], after[0]) if seqs else (None, None)
    return InRun(shown, more, around[0], around[1], indexing.is_behind(run))


def grow_context(run: Run) -> dict[str, Any]:
    """For the element that asks for what is new; it asks no more once the run is over."""
    live = run.status == RunStatus.RUNNING
    every = SECONDS_OF_LONG if run.last_seq > LONG else SECONDS
    return {"live": live, "every": every, "seen": seen_of(run)}


def seen_of(run: Run) -> str:
    """Which state of the run a page was made of."""
    return run.updated_at.isoformat()
