"""Which runs pass what was asked for, and how a page of them is found by reading few.

Querysets are made without looking at the values in what was asked for: `runs.lists.listed` has
their SQL made once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db.models import Exists, FilteredRelation, OuterRef, Q, QuerySet
from django.db.models.functions import Coalesce
from django.utils import timezone

from runs.accounts.models import Project
from runs.lists.paging import TIME, Column
from runs.models import LabelKind, Run, RunLabel
from runs.prepared import prepared
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
_YES = ("yes", "replay")
SPANS = (("cost_min", "cost_max"), ("duration_min", "duration_max"))
"""Parameters that bound a column together."""
TIMES = ("since", "until", "from")
"""`from` is when what was `last` asked for began."""
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


Asked = dict[str, Any]
"""What is asked for as the columns have it: parameter → value, a list for `status`."""
Form = tuple[tuple[str, Any], ...]
"""The same without its values: those that are texts, numbers or times. Few things alter a query:
which parameters there are, how many values of one, and which way a flag is asked for."""


def as_asked(given: Mapping[str, Any]) -> Asked:
    """What the filters gave, in the units of the columns."""
    asked = {name: value for name, value in sorted(given.items()) if name not in ("q", "last")}
    for name in SPANS[1]:
        if name in asked:
            asked[name] *= 1000
    if "status" in asked:
        asked["status"] = sorted(set(asked["status"]))
    if "last" in given:
        asked["from"] = timezone.now() - LAST[given["last"]]
    return asked


def in_two(asked: Asked) -> tuple[Form, list[Any]]:
    form: list[tuple[str, Any]] = []
    values: list[Any] = []
    for name, value in asked.items():
        is_list = isinstance(value, list)
        form.append((name, len(value) if is_list else value if name in FLAGS else None))
        if name not in FLAGS:
            values += value if is_list else [value]
    return tuple(form), values


def in_one(form: Form, values: Iterable[Any]) -> Asked:
    rest, asked = iter(values), Asked()
    for name, said in form:
        if name in FLAGS:
            asked[name] = said
        else:
            asked[name] = next(rest) if said is None else [next(rest) for _ in range(said)]
    return asked


@dataclass(frozen=True, slots=True)
class Matching:
    """Runs that match; `by` is the prefix of the joined table that a page of them is read along."""

    runs: RunQuerySet
    by: str = ""


def matching(
    project_id: int, asked: Asked, column: Column = TIME, keys: Sequence[int] | None = None
) -> Matching:
    """Runs of a project that match what is asked for, to be listed along `column`. `keys` are
    those that `few` gave."""
    wanted = _wanted(asked)
    if keys is not None:  # all of this project; naming it would have SQLite read its whole list
        return Matching(_labelled(_found(wanted).filter(pk__in=keys), wanted.labels))
    if column is TIME:
        return _in_time(project_id, wanted)
    if wanted.is_empty:
        return Matching(Run.objects.filter(project=project_id))
    runs = _looked_at(wanted).filter(project=project_id)
    return Matching(_labelled(runs, wanted.labels))


def is_sought(asked: Asked, column: Column, keys: Sequence[int] | None) -> bool:
    """Whether `matching` finds runs by looking at each in the order of `column`."""
    return keys is None and bool(asked) and column is not TIME


def matching_these(asked: Asked, these: Q) -> Matching:
    """Those of some few runs that match."""
    wanted = _wanted(asked)
    return Matching(_labelled(_found(wanted).filter(these), wanted.labels))


def arrived_since(
    project: Project, given: Mapping[str, Any], newest: int, look_at: int
) -> RunQuerySet:
    """Matching runs among the `look_at` that came in behind the one with the key `newest`."""
    wanted = _wanted(as_asked(given))
    runs = _looked_at(wanted).alias(its_project=_hidden("project_id"))
    if "q" in given:
        runs = runs.filter(find.runs_with(project, given["q"]).condition)
    came = runs.filter(its_project=project.pk, pk__gt=newest, pk__lte=newest + look_at)
    return _labelled(came, wanted.labels)


def _in_time(project_id: int, wanted: Wanted) -> Matching:
    """Along the index of the filter that has one in the order of time."""
    if not wanted.labels:
        return Matching(_found(wanted).filter(project=project_id))
    (kind, value), *others = wanted.labels
    along = Q(labels__project=project_id, labels__kind=kind, labels__value=value)
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
Way = tuple[str, ...]
"""Parameters by which one index finds runs."""


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


def _wanted(asked: Asked) -> Wanted:
    exact, rest = _flags(asked)
    for name, column in COLUMNS.items():
        if name in asked:
            exact.append(_equals(column, asked[name], filled=name in OFTEN_EMPTY))
    bounds = [(asked.get(low), asked.get(high)) for low, high in SPANS]
    spread: list[Q] = []
    times = _times(asked)
    for name, ends in zip(SPREAD, bounds, strict=True):
        spread += _bounds(name, *ends)
        rest += _bounds(f"{ITS}{name}", *ends)
    rest += times
    status = asked.get("status", [])
    if len(status) == 1:
        exact.append(Q(status=status[0]))
    elif status:
        spread.append(Q(status__in=status))
        rest.append(Q(status__in=status))
    labels = [(kind, asked[kind]) for kind in LABELS if kind in asked]
    return Wanted(exact, spread, rest, labels, times)


def few(project_id: int, asked: Asked, column: Column = TIME) -> list[int] | None:
    """Keys of the runs that pass a filter which only a few pass, to be sorted.

    None where each passes many, so that a page is soon full read along its order, and where one
    index gives the runs in order. Else few or no runs at all would be found by reading all.
    """
    at_most = FEW if column is TIME else FEW_SORTED
    ways = tuple(_ways(asked, column))
    if not ways:
        return None
    form, values = in_two({name: asked[name] for way in ways for name in way})
    for way in _narrow(project_id, *values, form=form, ways=ways, at_most=at_most):
        form, values = in_two({name: asked[name] for name in way})
        keys = _keys(project_id, *values, form=form, count=at_most + 1)
        if len(keys) <= at_most:
            return keys
    return None


def _narrow(
    project_id: int, *values: Any, form: Form, ways: tuple[Way, ...], at_most: int
) -> list[Way]:
    """The ways that only so many pass. To ask for one behind them costs a tenth of reading them
    all, and one question for all ways a third of a question each."""
    for more in _more(project_id, *values, form=form, ways=ways, at_most=at_most):
        return [way for way, is_wide in zip(ways, more, strict=True) if not is_wide]
    return []


def _ways(asked: Asked, column: Column) -> Iterator[Way]:
    """Parameters that an index finds runs by, each time those that go together."""
    ways: list[list[str]] = [[kind] for kind in LABELS if kind in asked]
    ways += [[name] for name in FLAGS if asked.get(name) in _YES]
    ways += [[name] for name in COLUMNS if name in asked]
    spread = [[name for name in span if name in asked] for span in SPANS]
    if "status" in asked:
        (ways if len(asked["status"]) == 1 else spread).append(["status"])
    if column is not TIME:  # no index of a filter gives its runs in this order
        ways.append([name for name in TIMES if name in asked])
    elif len(ways) < 2 and not any(spread):
        return
    yield from map(tuple, filter(None, ways + spread))


@prepared
def _more(
    project_id: int, *values: Any, form: Form, ways: tuple[Way, ...], at_most: int
) -> QuerySet[Project, Any]:
    """Whether more than so many pass, for each way."""
    asked = in_one(form, values)
    those = (_passing(project_id, {name: asked[name] for name in way}) for way in ways)
    behind = (Exists(keys[at_most : at_most + 1]) for keys in those)
    return Project.objects.filter(pk=project_id).values_list(*behind)


@prepared
def _keys(project_id: int, *values: Any, form: Form, count: int) -> QuerySet[Any, int]:
    return _passing(project_id, in_one(form, values))[:count]


def _passing(project_id: int, asked: Asked) -> QuerySet[Any, int]:
    """Keys of those that pass one way, in no order."""
    wanted = _wanted(asked)
    for kind, value in wanted.labels:
        labels = RunLabel.objects.filter(project=project_id, kind=kind, value=value)
        return labels.values_list("run_id", flat=True)
    conditions = (*wanted.exact, *wanted.times, *wanted.spread)
    runs = Run.everything.filter(*conditions, project=project_id)  # by an index alone
    return runs.values_list("pk", flat=True)


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


def _times(asked: Asked) -> list[Q]:
    sides = ("gte", "lt", "gte")
    return [
        Q(**{f"sort_at__{side}": asked[name]})
        for name, side in zip(TIMES, sides, strict=True)
        if name in asked
    ]


def _flags(asked: Asked) -> tuple[list[Q], list[Q]]:
    """Conditions of yes and of no. The indexes hold what is seldom: yes."""
    yes: list[Q] = []
    no: list[Q] = []
    for name, some in FLAGS.items():
        if name in asked:
            (yes if asked[name] in _YES else no).append(some)
    return yes, [~some for some in no]
