"""The state of the run pages in their address: parsed by a form, written back as a query string.

Pages and API filter by this one form, so that an address of one means the same to the other.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from functools import cached_property, lru_cache
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.core.exceptions import ValidationError
from django.core.handlers.wsgi import get_bytes_from_wsgi
from django.http import HttpRequest, QueryDict
from django.utils import timezone
from django.utils.dateparse import parse_datetime

from runs.accounts.models import Project
from runs.lists.listed import page_of
from runs.lists.paging import (
    COST,
    DURATION,
    EFFECTS,
    NEWEST,
    TIME,
    TOKENS,
    Cursor,
    Order,
    Page,
)
from runs.models import NAME, RunStatus
from runs.querysets import OF_A_ROW
from runs.search.query import Query, QueryProblem, parse
from runs.steps import listing

SORTS = {
    "started": (Order(TIME, ascending=True), "oldest first"),
    "-duration": (Order(DURATION), "longest first"),
    "duration": (Order(DURATION, ascending=True), "shortest first"),
    "-cost": (Order(COST), "most expensive first"),
    "cost": (Order(COST, ascending=True), "cheapest first"),
    "-tokens": (Order(TOKENS), "most tokens first"),
    "tokens": (Order(TOKENS, ascending=True), "fewest tokens first"),
    "-effects": (Order(EFFECTS), "most effects first"),
    "effects": (Order(EFFECTS, ascending=True), "fewest effects first"),
}
"""Value of `sort` → the order, and what a person calls it. Left out: newest first."""
CURSORS = ("after", "before")


def _text(label: str) -> forms.CharField:
    return forms.CharField(label=label, required=False, max_length=NAME, strip=True)


def _dollars(label: str) -> forms.DecimalField:
    return forms.DecimalField(label=label, required=False, min_value=0, max_value=Decimal(10) ** 8)


def _seconds(label: str) -> forms.FloatField:
    return forms.FloatField(label=label, required=False, min_value=0, max_value=1e9)


class InstantField(forms.DateTimeField):
    def clean(self, value: Any) -> datetime | None:
        found: datetime | None = super().clean(value)
        try:
            return found.astimezone(UTC) if found else None
        except OverflowError as error:
            raise ValidationError("This time lies beyond the calendar.") from error


class InstantInput(forms.DateTimeInput):
    """A time in UTC, as its label says; a script shows it in the zone of the reader and sends it
    with the offset of that zone (times.js)."""

    def __init__(self) -> None:
        super().__init__(attrs={"type": "datetime-local", "data-instant": ""}, format=_MINUTE)

    def format_value(self, value: Any) -> str | None:
        try:
            known = parse_datetime(value) if isinstance(value, str) else value
            utc = known.astimezone(UTC) if known and timezone.is_aware(known) else known
        except (ValueError, OverflowError):
            utc = None
        return super().format_value(utc or value)


_MINUTE = "%Y-%m-%dT%H:%M"


def _instant(label: str) -> InstantField:
    return InstantField(label=label, required=False, widget=InstantInput())


class SearchField(forms.CharField):
    """Gives a `Query`."""

    def clean(self, value: Any) -> Query | None:
        text = super().clean(value)
        try:
            return parse(text) if text else None
        except QueryProblem as problem:
            raise ValidationError(
                problem.message,
                "max_length" if problem.code == "too_long" else problem.code,
                {"limit_value": problem.extra.get("limit")},
            ) from problem


class RunFilterForm(forms.Form):
    """Every control of the run list. Unbound names, bad values: an error, never a 500."""

    q = SearchField(label="In what was said", required=False)
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
    comments = forms.ChoiceField(
        label="Comments",
        required=False,
        choices=[("", "any"), ("yes", "has comments"), ("no", "has none")],
    )
    kind = forms.ChoiceField(
        label="Kind",
        required=False,
        choices=[("", "any"), ("original", "original"), ("replay", "replay")],
    )
    sort = forms.ChoiceField(
        label="Order",
        required=False,
        choices=[("", "newest first"), *((name, said) for name, (_, said) in SORTS.items())],
    )
    after = forms.CharField(required=False, max_length=80)
    before = forms.CharField(required=False, max_length=80)

    def clean(self) -> dict[str, Any]:
        """Cursors are read last: what one says depends on the order."""
        for name in CURSORS:
            if text := self.cleaned_data.get(name):
                try:
                    self.cleaned_data[name] = Cursor.parse(text, self.order.column)
                except ValueError:
                    self.add_error(name, "This place in the list is not one of ours.")
        return self.cleaned_data

    @property
    def values(self) -> dict[str, Any]:
        """What was asked and understood; parameters with errors are left out."""
        self.errors  # noqa: B018 (cleans once)
        return {k: v for k, v in self.cleaned_data.items() if v not in (None, "", [])}

    @property
    def order(self) -> Order:
        sort = self.cleaned_data.get("sort")
        return SORTS[sort][0] if sort else NEWEST

    @property
    def filters(self) -> dict[str, Any]:
        """What is filtered by."""
        return {name: value for name, value in self.values.items() if name in FILTERS}

    def page(self, project: Project, limit: int = 50) -> Page[Any]:
        """The page of matching runs that the cursor asks for, each with what its row shows."""
        asked = self.values
        return page_of(
            project,
            self.filters,
            OF_A_ROW,
            order=self.order,
            after=asked.get("after"),
            before=asked.get("before"),
            limit=limit,
        )

    def query(self, **changes: Any) -> str:
        """The query string of this state with `changes` made (None takes a parameter out).
        A change of filter starts the list anew, so cursors go unless they are what changes."""
        params = {name: sent for name, sent in self._state.items() if name not in changes}
        for name, value in changes.items():
            if value is not None:
                params[name] = value if isinstance(value, list) else [str(value)]
        return urlencode(params, doseq=True) if params else ""

    @cached_property
    def _state(self) -> dict[str, list[str]]:
        """What the address says word for word, but for the place in the list."""
        sent = {name: [one for one in self.sent(name) if one] for name in self.fields}
        return {name: said for name, said in sent.items() if said and name not in CURSORS}

    @property
    def is_filtered(self) -> bool:
        return any(name in self.values for name in FILTERS)

    def groups(self) -> Iterator[Group]:
        """The controls in order, by what they are about."""
        asked = self.values
        for label, names in GROUPS:
            fields = [self[name] for name in names]
            yield Group(label, fields, any(name in asked for name in names))

    def chips(self) -> Iterator[Chip]:
        """What is filtered by, one by one, each with the query that takes it off."""
        for name, value in self.values.items():
            if name in FILTERS:
                several = value if isinstance(value, list) else [value]
                for one in several:
                    rest = [other for other in several if other != one]
                    said, without = _SAY.get(name, str)(one), self.query(**{name: rest})
                    moment = one if isinstance(one, datetime) else None
                    yield Chip(_label(name), said, without, moment)

    def sent(self, name: str) -> list[str]:
        """What the address says of one parameter, word for word."""
        return list(self.data.getlist(name)) if isinstance(self.data, QueryDict) else []


SHOWN = {
    "agent": "Agent",
    "environment": "Environment",
    "model": "Model",
    "effects": "Effects",
    "duration": "Duration",
    "tokens": "Tokens",
    "cost": "Cost",
    "started": "Started",
}
"""Columns of the list beside status and what a run was about; those it has unless told others."""
MORE_SHOWN = {"comments": "Comments", "session": "Session", "user": "User", "tags": "Tags"}
PAGE_SIZES = (25, 50, 100, 200)
ROWS = 50


class RunListForm(RunFilterForm):
    """What the page of the list has beside: its columns, its length, the view it came from."""

    col = forms.MultipleChoiceField(
        label="Columns",
        required=False,
        choices=[*SHOWN.items(), *MORE_SHOWN.items()],
        widget=forms.CheckboxSelectMultiple,
    )
    rows = forms.ChoiceField(
        label="Runs a page",
        required=False,
        choices=[(str(size) if size != ROWS else "", str(size)) for size in PAGE_SIZES],
    )
    view = forms.CharField(required=False, max_length=20, widget=forms.HiddenInput)

    @property
    def columns(self) -> tuple[str, ...]:
        """The chosen columns in their order on the page."""
        chosen = self.values.get("col") or SHOWN
        return tuple(name for name in (*SHOWN, *MORE_SHOWN) if name in chosen)

    @property
    def size(self) -> int:
        return int(self.values.get("rows") or ROWS)

    @property
    def saved(self) -> str:
        """What a saved view keeps: everything but the place and the view's own name."""
        return self.query(view=None)


_KEPT_BYTES = 300


def read_filters(request: HttpRequest) -> RunFilterForm:
    """The form of a request's address, cleaned. The same one again for the same: only read it."""
    return _kept(RunFilterForm, request)


def read_list(request: HttpRequest) -> RunListForm:
    """The same for the page of the list."""
    form = _kept(RunListForm, request)
    assert isinstance(form, RunListForm)
    return form


def _kept(kind: type[RunFilterForm], request: HttpRequest) -> RunFilterForm:
    query = get_bytes_from_wsgi(request.META, "QUERY_STRING", "")
    return _read(kind, query) if len(query) < _KEPT_BYTES else _read.__wrapped__(kind, query)


@lru_cache(512)
def _read(kind: type[RunFilterForm], query: bytes) -> RunFilterForm:
    form = kind(QueryDict(query))
    form.full_clean()
    return form


@dataclass(frozen=True, slots=True)
class Group:
    """Controls that belong together."""

    label: str
    fields: list[forms.BoundField]
    is_set: bool


@dataclass(frozen=True, slots=True)
class Chip:
    """One thing that is filtered by; `without` is the query that leaves it out. `moment` is the
    time that `said` goes on with, if it does."""

    label: str
    said: str
    without: str
    moment: datetime | None = None


GROUPS: list[tuple[str, tuple[str, ...]]] = [
    ("text", ("q",)),
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
    ("more", ("has_errors", "review", "comments", "kind")),
]
FILTERS = frozenset(name for _, names in GROUPS for name in names)
_LABELS = {
    "q": "text",
    "cost_min": "cost",
    "cost_max": "cost",
    "duration_min": "duration",
    "duration_max": "duration",
    "since": "started",
    "until": "started",
    "has_errors": "effects",
    "review": "divergences",
}
_SAY: dict[str, Callable[[Any], str]] = {
    "q": lambda query: str(query.text),
    "cost_min": lambda v: f"from ${v}",
    "cost_max": lambda v: f"to ${v}",
    "duration_min": lambda v: f"from {v:g} s",
    "duration_max": lambda v: f"to {v:g} s",
    "since": lambda _: "from",
    "until": lambda _: "before",
    "has_errors": lambda v: "some failed" if v == "yes" else "none failed",
    "comments": lambda v: "some" if v == "yes" else "none",
    "review": lambda v: "to review" if v == "yes" else "none to review",
}


def _label(name: str) -> str:
    return _LABELS.get(name, name)


REQUEST_TABS = ("messages", "changes", "tools", "json", "wire")
ANSWER_TABS = ("message", "stream", "json", "wire")


MOVED = re.compile(r"(\d{1,9})\.(.{0,400})", re.DOTALL)
MOST_MOVED = 20


class MovedField(forms.Field):
    """Lists that are not shown from their start, each `<where it begins>.<name>`: gives name →
    beginning. What is none is left out."""

    widget = forms.MultipleHiddenInput

    def clean(self, value: Any) -> dict[str, int]:
        found = map(MOVED.fullmatch, (value or [])[:MOST_MOVED])
        return {one[2]: int(one[1]) for one in found if one}


class EffectSelectionForm(forms.Form):
    """Which effect of a run is on show, which tab of each side, and what its list is narrowed to.

    Of the list: groups of families, failed effects only, positions whose nested effects are put
    away, and what was looked for in the run (its hits behind the position `after`). A part of
    the list goes no further than `until`, where the next part of the page begins. `more` says
    which long lists of the effect (parts, messages, tools) are shown from where.
    """

    at = forms.IntegerField(required=False, min_value=1, max_value=2**31 - 1)
    req = forms.ChoiceField(required=False, choices=[(tab, tab) for tab in REQUEST_TABS])
    tab = forms.ChoiceField(required=False, choices=[(tab, tab) for tab in ANSWER_TABS])
    all = forms.BooleanField(required=False)
    more = MovedField(required=False)
    family = forms.MultipleChoiceField(
        required=False, choices=[(name, name) for name in listing.GROUPS]
    )
    errors_only = forms.BooleanField(required=False)
    fold = forms.RegexField(r"^\d{1,9}(,\d{1,9})*$", required=False, max_length=1000)
    q = forms.CharField(required=False, max_length=1001)
    after = forms.IntegerField(required=False, min_value=1, max_value=2**31 - 1)
    until = forms.IntegerField(required=False, min_value=1, max_value=2**31 - 1)


def understood(form: type[forms.Form], data: QueryDict) -> dict[str, Any]:
    """What an address says that the fields of a form can read and that is not empty. Without
    the form itself, whose making costs more than all of its fields."""
    found = {}
    for name, field in form.base_fields.items():
        with suppress(ValidationError):
            found[name] = field.clean(field.widget.value_from_datadict(data, {}, name))
    return {name: value for name, value in found.items() if value not in (None, "", [], {}, False)}
