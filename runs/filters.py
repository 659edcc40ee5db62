"""The state of the run pages in their address: parsed by a form, written back as a query string.

Pages and API filter by this one form, so that an address of one means the same to the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from functools import lru_cache
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.core.handlers.wsgi import get_bytes_from_wsgi
from django.db.models import Exists, FilteredRelation, OuterRef, Q
from django.db.models.functions import Coalesce
from django.http import HttpRequest, QueryDict
from django.utils import timezone

from runs.accounts.models import Project
from runs.models import NAME, LabelKind, Run, RunLabel, RunStatus
from runs.paging import Cursor, Page, page
from runs.querysets import RunQuerySet

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
    "review": Q(to_review__gt=0),
    "kind": Q(is_replay=True),
    "has_errors": Q(error_count__gt=0),
}
"""Parameter → what `yes` (`replay`) means, as its index says it; the usually rarest first."""
DRIVER = "listed_by__"
UNSORTED = {
    "its_cost": Coalesce("cost", "cost"),
    "its_duration": Coalesce("duration_ms", "duration_ms"),
}
"""What no index holds: SQLite would take the index of a bound, and sort all that are within."""
FEW = 500
"""So many runs are sorted in a millisecond or two, wherever in time they lie."""


class CursorField(forms.CharField):
    def clean(self, value: Any) -> Cursor | None:
        text = super().clean(value)
        try:
            return Cursor.parse(text) if text else None
        except ValueError as error:
            raise ValidationError("This place in the list is not one of ours.") from error


def _text(label: str) -> forms.CharField:
    return forms.CharField(label=label, required=False, max_length=NAME, strip=True)


def _dollars(label: str) -> forms.DecimalField:
    return forms.DecimalField(label=label, required=False, min_value=0, max_value=Decimal(10) ** 8)


def _seconds(label: str) -> forms.FloatField:
    return forms.FloatField(label=label, required=False, min_value=0, max_value=1e9)


def _instant(label: str) -> forms.DateTimeField:
    widget = forms.DateTimeInput(attrs={"type": "datetime-local"}, format="%Y-%m-%dT%H:%M")
    return forms.DateTimeField(label=label, required=False, widget=widget)


class RunFilterForm(forms.Form):
    """Every control of the run list. Unbound names, bad values: an error, never a 500."""

    agent = _text("Agent")
    version = _text("Version")
    status = forms.MultipleChoiceField(
        label="Status",
        required=False,
        choices=RunStatus.choices,
        widget=forms.CheckboxSelectMultiple,
    )
    environment = _text("Environment")
    model = _text("Model")
    tool = _text("Tool")
    tag = _text("Tag")
    user = _text("User")
    session = _text("Session")
    cost_min = _dollars("Cost from, $")
    cost_max = _dollars("Cost to, $")
    duration_min = _seconds("Duration from, s")
    duration_max = _seconds("Duration to, s")
    last = forms.ChoiceField(
        label="Started in the last",
        required=False,
        choices=[("", "any time"), ("1h", "hour"), ("24h", "24 hours"), ("7d", "7 days"),
                 ("30d", "30 days")],
    )  # fmt: skip
    since = _instant("Started from (UTC)")
    until = _instant("Started before (UTC)")
    has_errors = forms.ChoiceField(
        label="Failed effects",
        required=False,
        choices=[("", "any"), ("yes", "some"), ("no", "none")],
    )
    review = forms.ChoiceField(
        label="To review",
        required=False,
        choices=[("", "any"), ("yes", "has divergences"), ("no", "has none")],
    )
    kind = forms.ChoiceField(
        label="Kind",
        required=False,
        choices=[("", "any"), ("original", "original"), ("replay", "replay")],
    )
    sort = forms.ChoiceField(
        label="Order",
        required=False,
        choices=[("", "newest first"), ("started", "oldest first")],
    )
    after = CursorField(required=False)
    before = CursorField(required=False)

    @property
    def values(self) -> dict[str, Any]:
        """What was asked and understood; parameters with errors are left out."""
        self.errors  # noqa: B018 (cleans once)
        return {k: v for k, v in self.cleaned_data.items() if v not in (None, "", [])}

    def matching(self, project: Project) -> tuple[RunQuerySet, str]:
        """Runs of `project` that match, and the prefix of the table to read them along."""
        asked = self.values
        wanted = _wanted(asked)
        runs = Run.objects.alias(**UNSORTED).filter(*wanted.exact, *wanted.rest)
        few = _few(project, wanted)
        if few is not None:  # all of this project; naming it would have SQLite read its whole list
            return _labelled(runs.filter(pk__in=few), wanted.labels), ""
        runs = runs.of(project)
        if not wanted.labels:
            return runs, ""
        (kind, value), *others = wanted.labels
        along = Q(labels__project=project, labels__kind=kind, labels__value=value)
        runs = runs.annotate(listed_by=FilteredRelation("labels", condition=along))
        return _labelled(runs.filter(**{f"{DRIVER}id__isnull": False}), others), DRIVER

    def page(self, project: Project, limit: int = 50) -> Page[Run]:
        """The page of matching runs that the cursor asks for."""
        runs, by = self.matching(project)
        asked = self.values
        return page(
            runs.for_list(),
            after=asked.get("after"),
            before=asked.get("before"),
            limit=limit,
            oldest_first=asked.get("sort") == "started",
            by=by,
        )

    def query(self, **changes: Any) -> str:
        """The query string of this state with `changes` made (None takes a parameter out).
        A change of filter starts the list anew, so cursors go unless they are what changes."""
        params = QueryDict(mutable=True)
        for name in self.fields:
            if name not in ("after", "before") and name not in changes:
                params.setlist(name, [one for one in self.sent(name) if one])
        for name, value in changes.items():
            if value is not None:
                params[name] = str(value)
        return params.urlencode()

    @property
    def is_filtered(self) -> bool:
        return any(name not in ("after", "before", "sort") for name in self.values)

    def groups(self) -> Iterator[Group]:
        """The filter chips in order, each with its controls and what is set."""
        asked = self.values
        for label, names in GROUPS:
            fields = [self[name] for name in names]
            said = ", ".join(filter(None, (_say(self, name, asked) for name in names)))
            yield Group(label, fields, said, self.query(**dict.fromkeys(names)))

    def sent(self, name: str) -> list[str]:
        """What the address says of one parameter, word for word."""
        return list(self.data.getlist(name)) if isinstance(self.data, QueryDict) else []


_KEPT_BYTES = 300


def read_filters(request: HttpRequest) -> RunFilterForm:
    """The form of a request's address, cleaned. The same one again for the same: only read it."""
    query = get_bytes_from_wsgi(request.META, "QUERY_STRING", "")
    return _read(query) if len(query) < _KEPT_BYTES else _read.__wrapped__(query)


@lru_cache(512)
def _read(query: bytes) -> RunFilterForm:
    form = RunFilterForm(QueryDict(query))
    form.full_clean()
    return form


@dataclass(frozen=True, slots=True)
class Group:
    """One chip: `said` is what it is set to (empty: any), `without` the query that clears it."""

    label: str
    fields: list[forms.BoundField]
    said: str
    without: str


GROUPS: list[tuple[str, tuple[str, ...]]] = [
    ("agent", ("agent", "version")),
    ("status", ("status",)),
    ("environment", ("environment",)),
    ("model", ("model",)),
    ("tool", ("tool",)),
    ("tag", ("tag",)),
    ("person", ("user", "session")),
    ("cost", ("cost_min", "cost_max")),
    ("duration", ("duration_min", "duration_max")),
    ("time", ("last", "since", "until")),
    ("more", ("has_errors", "review", "kind")),
]
_SAY: dict[str, Callable[[Any], str]] = {
    "version": lambda v: f"v {v}",
    "status": ", ".join,
    "user": lambda v: f"user {v}",
    "session": lambda v: f"session {v}",
    "cost_min": lambda v: f"from ${v}",
    "cost_max": lambda v: f"to ${v}",
    "duration_min": lambda v: f"from {v:g} s",
    "duration_max": lambda v: f"to {v:g} s",
    "last": lambda v: f"last {v}",
    "since": lambda v: f"from {v:%Y-%m-%d %H:%M}",
    "until": lambda v: f"before {v:%Y-%m-%d %H:%M}",
    "has_errors": lambda v: "failed effects" if v == "yes" else "no failed effects",
    "review": lambda v: "to review" if v == "yes" else "nothing to review",
}


def _say(form: RunFilterForm, name: str, asked: dict[str, Any]) -> str:
    return _SAY.get(name, str)(asked[name]) if name in asked else ""


Label = tuple[LabelKind, str]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What was asked for, by how it is found; each list has the usually rarest first."""

    exact: list[Q]
    """Each has an index that gives its runs in the order of the list."""
    spread: list[Q]
    """Each has an index, but one in another order. `rest` has them without that index."""
    rest: list[Q]
    """Time, which every index is ordered by, and what most runs fulfil."""
    labels: list[Label]


def _wanted(asked: dict[str, Any]) -> Wanted:
    exact, rest = _flags(asked)
    for name, column in COLUMNS.items():
        if name in asked:
            exact.append(_equals(column, asked[name], filled=name in OFTEN_EMPTY))
    cost = asked.get("cost_min"), asked.get("cost_max")
    duration = _ms(asked.get("duration_min")), _ms(asked.get("duration_max"))
    spread = _bounds("cost", *cost) + _bounds("duration_ms", *duration)
    rest += _bounds("its_cost", *cost) + _bounds("its_duration", *duration) + _times(asked)
    status = asked.get("status", [])
    if len(status) == 1:
        exact.append(Q(status=status[0]))
    elif status:
        spread.append(Q(status__in=status))
        rest.append(Q(status__in=status))
    labels = [(kind, asked[kind]) for kind in LABELS if kind in asked]
    return Wanted(exact, spread, rest, labels)


def _few(project: Project, wanted: Wanted) -> list[int] | None:
    """Keys of the runs that pass a filter which only a few pass.

    None where each passes many, so that a page is soon full read along in time, and where one
    index gives the runs in order. Else few or no runs at all would be found by reading all.
    """
    if not wanted.spread and len(wanted.exact) + len(wanted.labels) < 2:
        return None
    runs = Run.objects.of(project)
    for kind, value in wanted.labels:
        labels = RunLabel.objects.filter(project=project, kind=kind, value=value)
        keys = list(labels.values_list("run_id", flat=True)[: FEW + 1])
        if len(keys) <= FEW:
            return keys
    for condition in (*wanted.exact, *wanted.spread):
        keys = list(runs.filter(condition).values_list("pk", flat=True)[: FEW + 1])
        if len(keys) <= FEW:
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


REQUEST_TABS = ("messages", "changes", "tools", "json", "wire")
ANSWER_TABS = ("message", "stream", "json", "wire")


class EffectSelectionForm(forms.Form):
    """Which effect of a run is on show, and which tab of each side."""

    at = forms.IntegerField(required=False, min_value=1, max_value=2**31 - 1)
    req = forms.ChoiceField(required=False, choices=[(tab, tab) for tab in REQUEST_TABS])
    tab = forms.ChoiceField(required=False, choices=[(tab, tab) for tab in ANSWER_TABS])
    all = forms.BooleanField(required=False)

    @property
    def values(self) -> dict[str, Any]:
        self.errors  # noqa: B018 (cleans once)
        return {k: v for k, v in self.cleaned_data.items() if v}
