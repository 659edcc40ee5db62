"""Which runs pass what was asked for, and how a page of them is found by reading few."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from django.db.models import Exists, FilteredRelation, OuterRef, Q
from django.db.models.functions import Coalesce
from django.utils import timezone

from runs.accounts.models import Project
from runs.models import LabelKind, Run, RunLabel
from runs.paging import TIME, Column
from runs.prepared import read
from runs.querysets import RunQuerySet
from runs.search import find

LAST = {"1h": timedelta(hours=1), "24h": timedelta(days=1), "7d": timedelta(days=7),
        "30d": timedelta(days=30)}  # fmt: skip
LABELS = (LabelKind.TAG, LabelKind.TOOL, LabelKind.MODEL)
"""Kinds of label one can filter by, the usually rarest first: its index is read along."""
COLUMNS = {
    "session": "session_id",
    "user": "end_user",
    "version": "agent_version",
    "environment": "environment",
    "agent": "agent",
}
"""Parameter → column for filters by one exact value, the usually rarest first."""
OFTEN_EMPTY = {"session", "user", "version"}
"""Their indexes leave out empty values; SQLite uses them only where the query says so too."""
FLAGS = {
    "comments": Q(comment_count__gt=0),
    "review": Q(to_review__gt=0),
    "kind": Q(is_replay=True),
    "has_errors": Q(error_count__gt=0),
}
"""Parameter → what `yes` (`replay`) means, as its index says it; the usually rarest first."""
DRIVER = "listed_by__"
ITS = "its_"
"""In front of a column's name: its value, which no index holds. SQLite would take the index of
any condition it can, and sort all that fulfil it."""
SPREAD = ("cost", "duration_ms")
FILTERED = (*COLUMNS.values(), *SPREAD, "status", "sort_at", "to_review", "is_replay",
            "error_count", "comment_count")  # fmt: skip
FEW = 500
"""So many runs are sorted in a millisecond or two, wherever in time they lie."""
FEW_SORTED = 2000
"""The same for other orders: there the way without keys is to look at every run of them."""


@dataclass(frozen=True, slots=True)
class Matching:
    """Runs that match, with how a page of them is read (`runs.paging.page`)."""

    runs: RunQuerySet
    by: str = ""
    among: RunQuerySet | None = None


def matching(project: Project, asked: dict[str, Any], column: Column = TIME) -> Matching:
    """Runs of `project` that match what was asked for, to be listed along `column`."""
    if "q" in asked:
        return _with_text(project, asked, column)
    wanted = _wanted(asked)
    keys = _few(project, wanted) if column is TIME else _few_of_any(project, wanted)
    if keys is not None:  # all of this project; naming it would have SQLite read its whole list
        return Matching(_labelled(_found(wanted).filter(pk__in=keys), wanted.labels))
    if column is TIME:
        return _in_time(project, wanted)
    if wanted.is_empty:
        return Matching(Run.objects.of(project))
    runs = _labelled(_looked_at(wanted).of(project), wanted.labels)
    return Matching(runs, among=Run.everything.of(project))  # by its index alone


def _with_text(project: Project, asked: dict[str, Any], column: Column) -> Matching:
    others = {name: value for name, value in asked.items() if name != "q"}
    found = find.runs_with(project, asked["q"])
    if found.is_few:
        wanted = _wanted(others)
        return Matching(_labelled(_found(wanted).filter(found.condition), wanted.labels))
    rest = matching(project, others, column)
    return replace(rest, runs=rest.runs.filter(found.condition))


def arrived_since(
    project: Project, asked: dict[str, Any], newest: int, look_at: int
) -> RunQuerySet:
    """Matching runs among the `look_at` that came in behind the one with the key `newest`."""
    wanted = _wanted(asked)
    runs = _looked_at(wanted).alias(its_project=_hidden("project_id"))
    if "q" in asked:
        runs = runs.filter(find.runs_with(project, asked["q"]).condition)
    came = runs.filter(its_project=project.pk, pk__gt=newest, pk__lte=newest + look_at)
    return _labelled(came, wanted.labels)


def _in_time(project: Project, wanted: Wanted) -> Matching:
    """Along the index of the filter that has one in the order of time."""
    if not wanted.labels:
        return Matching(_found(wanted).of(project))
    (kind, value), *others = wanted.labels
    along = Q(labels__project=project, labels__kind=kind, labels__value=value)
    # The label says whose run it is: SQLite without statistics would read the project's list.
    runs = _looked_at(wanted).annotate(listed_by=FilteredRelation("labels", condition=along))
    return Matching(_labelled(runs.filter(**{f"{DRIVER}id__isnull": False}), others), DRIVER)


def _found(wanted: Wanted) -> RunQuerySet:
    hidden = {f"{ITS}{name}": _hidden(name) for name in SPREAD}
    found: RunQuerySet = Run.objects.alias(**hidden).filter(*wanted.exact, *wanted.rest)
    return found


def _looked_at(wanted: Wanted) -> RunQuerySet:
    """By conditions that no index serves, so that the list's own is taken."""
    hidden = {f"{ITS}{name}": _hidden(name) for name in FILTERED}
    conditions = [_hide(one) for one in (*wanted.exact, *wanted.rest)]
    found: RunQuerySet = Run.objects.alias(**hidden).filter(*conditions)
    return found


def _hidden(name: str) -> Coalesce:
    return Coalesce(name, name)


def _hide(condition: Q) -> Q:
    children = [_hidden_part(part) for part in condition.children]
    return Q(*children, _connector=condition.connector, _negated=condition.negated)


def _hidden_part(part: Any) -> Any:
    if isinstance(part, Q):
        return _hide(part)
    name, value = part
    return (f"{ITS}{name}" if name.partition("__")[0] in FILTERED else name, value)


Label = tuple[LabelKind, str]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What was asked for, by how it is found; each list has the usually rarest first."""

    exact: list[Q]
    """Each has an index that gives its runs in the order of time."""
    spread: list[Q]
    """Each has an index, but one in another order. `rest` has them without that index."""
    rest: list[Q]
    """Time, which every index is ordered by, and what most runs fulfil."""
    labels: list[Label]
    times: list[Q]
    """Those of `rest` that are about time: an index of its own where that is not the order."""

    @property
    def is_empty(self) -> bool:
        return not (self.exact or self.rest or self.labels)


def _wanted(asked: dict[str, Any]) -> Wanted:
    exact, rest = _flags(asked)
    for name, column in COLUMNS.items():
        if name in asked:
            exact.append(_equals(column, asked[name], filled=name in OFTEN_EMPTY))
    cost = asked.get("cost_min"), asked.get("cost_max")
    duration = _ms(asked.get("duration_min")), _ms(asked.get("duration_max"))
    spread = _bounds("cost", *cost) + _bounds("duration_ms", *duration)
    times = _times(asked)
    rest += _bounds(f"{ITS}cost", *cost) + _bounds(f"{ITS}duration_ms", *duration) + times
    status = asked.get("status", [])
    if len(status) == 1:
        exact.append(Q(status=status[0]))
    elif status:
        spread.append(Q(status__in=status))
        rest.append(Q(status__in=status))
    labels = [(kind, asked[kind]) for kind in LABELS if kind in asked]
    return Wanted(exact, spread, rest, labels, times)


def _few(project: Project, wanted: Wanted) -> list[int] | None:
    """Keys of the runs that pass a filter which only a few pass, to be sorted by time.

    None where each passes many, so that a page is soon full read along in time, and where one
    index gives the runs in order. Else few or no runs at all would be found by reading all.
    """
    if not wanted.spread and len(wanted.exact) + len(wanted.labels) < 2:
        return None
    return _keys(project, wanted, [*wanted.exact, *wanted.spread], FEW)


def _few_of_any(project: Project, wanted: Wanted) -> list[int] | None:
    """The same for another order, in which no filter's index gives its runs."""
    times = [Q(*wanted.times)] if wanted.times else []
    return _keys(project, wanted, [*wanted.exact, *times, *wanted.spread], FEW_SORTED)


def _keys(project: Project, wanted: Wanted, conditions: list[Q], at_most: int) -> list[int] | None:
    runs = Run.everything.of(project)  # by an index alone
    for kind, value in wanted.labels:
        labels = RunLabel.objects.filter(project=project, kind=kind, value=value)
        keys = read(labels.values_list("run_id", flat=True)[: at_most + 1])
        if len(keys) <= at_most:
            return keys
    for condition in conditions:
        keys = read(runs.filter(condition).values_list("pk", flat=True)[: at_most + 1])
        if len(keys) <= at_most:
            return keys
    return None


def _labelled(runs: RunQuerySet, labels: list[Label]) -> RunQuerySet:
    for kind, value in labels:
        has = RunLabel.objects.filter(run=OuterRef("pk"), kind=kind, value=value)
        runs = runs.filter(Exists(has))
    return runs


def _equals(column: str, value: str, *, filled: bool) -> Q:
    found = Q(**{column: value})
    return found & ~Q(**{column: ""}) if filled else found


def _bounds(column: str, low: Any, high: Any) -> list[Q]:
    """One condition at most: two halves may be wide where the whole is narrow."""
    bounds = {f"{column}__gte": low, f"{column}__lte": high}
    given = {name: bound for name, bound in bounds.items() if bound is not None}
    return [Q(**given)] if given else []


def _times(asked: dict[str, Any]) -> list[Q]:
    found = []
    if "since" in asked:
        found.append(Q(sort_at__gte=asked["since"]))
    if "until" in asked:
        found.append(Q(sort_at__lt=asked["until"]))
    if "last" in asked:
        found.append(Q(sort_at__gte=timezone.now() - LAST[asked["last"]]))
    return found


def _ms(seconds: float | None) -> float | None:
    return None if seconds is None else seconds * 1000


def _flags(asked: dict[str, Any]) -> tuple[list[Q], list[Q]]:
    """Conditions of yes and of no. The indexes hold what is seldom: yes."""
    yes: list[Q] = []
    no: list[Q] = []
    for name, some in FLAGS.items():
        if name in asked:
            (yes if asked[name] in ("yes", "replay") else no).append(some)
    return yes, [~some for some in no]
