"""The state of the run pages in their address: parsed by a form, written back as a query string.

Pages and API filter by this one form, so that an address of one means the same to the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.db.models import Exists, FilteredRelation, OuterRef, Q
from django.http import QueryDict
from django.utils import timezone

from runs.accounts.models import Project
from runs.models import NAME, LabelKind, Run, RunLabel, RunStatus
from runs.paging import Cursor, Page, page
from runs.querysets import RunQuerySet

LAST = {"1h": timedelta(hours=1), "24h": timedelta(days=1), "7d": timedelta(days=7),
        "30d": timedelta(days=30)}  # fmt: skip
LABELS = (LabelKind.TOOL, LabelKind.TAG, LabelKind.MODEL)
"""Kinds of label one can filter by, the usually rarest first: its index is read along."""
COLUMNS = {
    "agent": "agent",
    "version": "agent_version",
    "environment": "environment",
    "user": "end_user",
    "session": "session_id",
}
"""Parameter → column for filters by one exact value."""
DRIVER = "listed_by__"


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
        runs = Run.objects.of(project).filter(_conditions(asked))
        labels = [(kind, asked[kind]) for kind in LABELS if kind in asked]
        if not labels:
            return runs, ""
        kind, value = labels[0]
        along = Q(labels__project=project, labels__kind=kind, labels__value=value)
        runs = runs.annotate(listed_by=FilteredRelation("labels", condition=along))
        runs = runs.filter(**{f"{DRIVER}id__isnull": False})
        for kind, value in labels[1:]:
            has = RunLabel.objects.filter(run=OuterRef("pk"), kind=kind, value=value)
            runs = runs.filter(Exists(has))
        return runs, DRIVER

    def page(self, project: Project, limit: int = 50) -> Page:
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
                params.setlist(name, [one for one in self._sent(name) if one])
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

    def _sent(self, name: str) -> list[str]:
        return list(self.data.getlist(name)) if isinstance(self.data, QueryDict) else []


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


def _conditions(asked: dict[str, Any]) -> Q:
    found = Q()
    for name, column in COLUMNS.items():
        if name in asked:
            found &= Q(**{column: asked[name]})
    if "status" in asked:
        found &= Q(status__in=asked["status"])
    return found & _ranges(asked) & _flags(asked)


def _ranges(asked: dict[str, Any]) -> Q:
    bounds = {
        "cost__gte": asked.get("cost_min"),
        "cost__lte": asked.get("cost_max"),
        "duration_ms__gte": _ms(asked.get("duration_min")),
        "duration_ms__lte": _ms(asked.get("duration_max")),
        "sort_at__gte": asked.get("since"),
        "sort_at__lt": asked.get("until"),
    }
    found = Q(**{name: bound for name, bound in bounds.items() if bound is not None})
    if "last" in asked:
        found &= Q(sort_at__gte=timezone.now() - LAST[asked["last"]])
    return found


def _ms(seconds: float | None) -> float | None:
    return None if seconds is None else seconds * 1000


def _flags(asked: dict[str, Any]) -> Q:
    found = Q()
    for name, column in (("has_errors", "error_count"), ("review", "to_review")):
        if name in asked:
            some = Q(**{f"{column}__gt": 0})
            found &= some if asked[name] == "yes" else ~some
    if "kind" in asked:
        found &= Q(is_replay=asked["kind"] == "replay")
    return found


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
