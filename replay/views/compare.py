"""Two runs side by side: how they differ in all, their effects in rows, and one pair of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django import forms
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers

from replay.comparison.differences import Difference
from replay.comparison.sides import SHOWS, Show
from replay.two_runs.kept import MOST, Compared, Row, compared
from replay.two_runs.lines import Line, lines
from replay.two_runs.marks import parts_of
from replay.two_runs.sides import beside
from runs import bulk
from runs.access import get_project_or_404
from runs.accounts.models import Project
from runs.models import NAME, Effect, Run
from runs.storage import segments
from runs.strangers import told

ROWS = 100
PLACE = r"^[ab][0-9]{1,9}$"
UNCLASSED = "unclassed"
"""What the address calls rows whose answers are too large to be classed."""
IGNORED = "ignored"
"""And those that ignore rules say something of."""


class CompareForm(forms.Form):
    """The state of the page in its address; what cannot be is left out."""

    a = forms.CharField(max_length=NAME, required=False)
    b = forms.CharField(max_length=NAME, required=False)
    at = forms.RegexField(PLACE, required=False)
    after = forms.RegexField(PLACE, required=False)
    show = forms.ChoiceField(choices=[(show, show) for show in SHOWS], required=False)
    changed = forms.BooleanField(required=False)
    of = forms.ChoiceField(
        choices=[(name, name) for name in (*Difference, UNCLASSED, IGNORED)], required=False
    )


@dataclass(frozen=True, slots=True)
class Place:
    """`of` is the one class that is shown, or empty; `at` and `after` name rows."""

    a: str
    b: str
    at: str
    after: str
    show: Show
    changed: bool
    of: str

    @classmethod
    def read(cls, request: HttpRequest) -> Place:
        form = CompareForm(request.GET)
        form.full_clean()
        given = form.cleaned_data
        show = next((show for show in SHOWS if show == given.get("show")), SHOWS[0])
        return cls(
            given.get("a") or "",
            given.get("b") or "",
            given.get("at") or "",
            given.get("after") or "",
            show,
            bool(given.get("changed")),
            given.get("of") or "",
        )

    def query(self, **changes: str | None) -> str:
        """The address of this state with some of it changed; None leaves out."""
        kept = {
            "a": self.a,
            "b": self.b,
            "at": self.at,
            "show": self.show if self.show != SHOWS[0] else None,
            "changed": "on" if self.changed else None,
            "of": self.of,
            **changes,
        }
        query = QueryDict(mutable=True)
        query.update({name: value for name, value in kept.items() if value})
        return query.urlencode(safe=":")

    def picks(self, row: Row) -> bool:
        if self.of == IGNORED:
            return bool(row.ignored)
        if self.of:
            return row.difference == ("" if self.of == UNCLASSED else self.of)
        return row.is_change or not self.changed


@require_safe
@vary_on_headers("HX-Request", "HX-Target")
def compare(request: HttpRequest, slug: str) -> HttpResponse:
    project = get_project_or_404(request, slug)
    if "run" in request.GET:  # two that were selected in the list
        named = [*request.GET.getlist("run"), "", ""]
        return redirect(f"{request.path}?{_selected(named[0], named[1])}")
    place, unknown = Place.read(request), told(request.GET, CompareForm.base_fields)
    if not (place.a and place.b):
        return render(request, "replay/compare.html", {"place": place, **unknown})
    both = compared(_run(project, place.a), _run(project, place.b))
    if request.headers.get("HX-Request") and request.headers.get("HX-Target") == "pair":
        return render(request, "replay/compare.html#selection", _pair(both, place))
    context = {**_rows(both, place), **_pair(both, place), "most": MOST, **unknown}
    return render(request, "replay/compare.html", context)


def _selected(a: str, b: str) -> str:
    query = QueryDict(mutable=True)
    query.update({"a": a, "b": b})
    return query.urlencode(safe=":")


def _run(project: Project, name: str) -> Run:
    run = Run.objects.of(project).filter(external_id=name).first()
    if run is None:
        raise Http404
    run.project = project
    return run


def _rows(both: Compared, place: Place) -> dict[str, Any]:
    """A window of rows that holds the one on show."""
    shown = [row for row in both.rows if place.picks(row)]
    start = _start(both, shown, place)
    window = shown[start : start + ROWS]
    later = window[-1].place if start + ROWS < len(shown) else None
    return {
        "lines": lines(both, window),
        "top": place.query(after=None) if start else None,
        "later": place.query(after=later, at=None) if later else None,
        "later_place": later,
        "classes": [
            (count, name, place.query(of=name or UNCLASSED, changed=None, at=None))
            for name, count in both.counts.items()
        ],
        "only_ignored": place.query(of=IGNORED, changed=None, at=None),
        "all": place.query(of=None, changed=None),
        "only_changed": place.query(of=None, changed="on"),
        "swapped": place.query(a=place.b, b=place.a, at=_mirrored(both, place.at)),
    }


def _start(both: Compared, shown: list[Row], place: Place) -> int:
    """Where the window begins: behind `after`, else at the row on show if that is far below."""
    if place.after and (index := both.at(place.after)) is not None:
        before = {row.place for row in both.rows[: index + 1]}
        return sum(row.place in before for row in shown)
    at = next((i for i, row in enumerate(shown) if row.place == place.at), 0)
    return at if at >= ROWS else 0


def _mirrored(both: Compared, at: str) -> str | None:
    index = both.at(at) if at else None
    if index is None:
        return None
    row = both.rows[index]
    return f"a{row.b}" if row.b is not None else f"b{row.a}"


def _pair(both: Compared, place: Place) -> dict[str, Any]:
    """The row on show with both sides, and the differences before and behind it."""
    context = {"both": both, "place": place, "a": both.a, "b": both.b, "row": None}
    index = _index(both, place)
    if index is None:
        return context
    row = both.rows[index]
    a = bulk.get(Effect, run_id=both.a.pk, seq=row.a) if row.a is not None else None
    b = bulk.get(Effect, run_id=both.b.pk, seq=row.b) if row.b is not None else None
    parts = [parts_of(segments.read(one)) if one else None for one in (a, b)]
    family = next(one.family for one in (a, b) if one)
    return {
        **context,
        "row": row,
        "line": Line(row, a, b),
        "beside": beside(family, parts[0], parts[1], place.show),
        "shows": [
            (show, show.upper() if show == "json" else show.title(), _here(place, row, show=show))
            for show in SHOWS
        ],
        "following": _address(place, next(filter(_differs, both.rows[index + 1 :]), None)),
        "previous": _address(place, next(filter(_differs, reversed(both.rows[:index])), None)),
    }


def _differs(row: Row) -> bool:
    return row.is_change


def _here(place: Place, row: Row, **changes: str | None) -> str:
    return place.query(at=row.place, **changes)


def _address(place: Place, row: Row | None) -> str | None:
    return None if row is None else _here(place, row)


def _index(both: Compared, place: Place) -> int | None:
    """The row of the address; without one the first that differs, else the first."""
    if place.at:
        return both.at(place.at)
    picked = (i for i, row in enumerate(both.rows) if row.is_change)
    return next(picked, 0 if both.rows else None)
