"""Sessions and agents: small pages of their own, of runs that belong together."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from statistics import median
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_safe

from runs.access import get_project_or_404
from runs.lists.filters import RunFilterForm
from runs.lists.paging import Cursor
from runs.models import Run
from runs.querysets import RunQuerySet
from runs.strangers import told

LATEST = 5000
"""Runs the figures are of: the newest so many, whatever there was before."""
SHOWN = 200
_COLUMNS = ("status", "duration_ms", "total_tokens", "tokens_complete", "cost", "cost_complete",
            "sort_at", "started_at")  # fmt: skip


@dataclass(slots=True)
class Group:
    """Runs of one session, agent or version, newest first, and their figures. `first` and `last`
    are recorded starts; when runs came in (`is_received`) only where no log has a time."""

    name: str
    first: datetime
    last: datetime
    is_received: bool = True
    runs: int = 0
    failed: int = 0
    tokens: int | None = None
    tokens_complete: bool = True
    cost: Decimal | None = None
    cost_complete: bool = True
    took: list[float] = field(default_factory=list)

    def add(self, run: Any) -> None:
        self.runs += 1
        self.failed += run.status == "failed"
        self._place(run.sort_at, run.started_at != run.sort_at)
        if run.total_tokens is not None:
            self.tokens = (self.tokens or 0) + run.total_tokens
        if run.cost is not None:
            self.cost = (self.cost or Decimal(0)) + run.cost
        self.tokens_complete &= run.tokens_complete
        self.cost_complete &= run.cost_complete
        if run.duration_ms is not None:
            self.took.append(run.duration_ms)

    def _place(self, moment: datetime, is_received: bool) -> None:
        if self.is_received and not is_received:
            self.first = self.last = moment
            self.is_received = False
        elif self.is_received == is_received:
            self.first, self.last = min(self.first, moment), max(self.last, moment)

    @property
    def duration(self) -> float | None:
        return median(self.took) if self.took else None


def grouped(runs: RunQuerySet, column: str) -> list[Group]:
    """The newest `LATEST` of these runs by what they have in `column`, the group with
    the latest run first."""
    rows: Iterable[Any] = runs.order_by("-sort_at", "-id").values_list(
        column, *_COLUMNS, named=True
    )[:LATEST]
    groups: dict[str, Group] = {}
    for run in rows:
        name = getattr(run, column)
        group = groups.setdefault(name, Group(name, run.sort_at, run.sort_at))
        group.add(run)
    return sorted(groups.values(), key=lambda group: group.last, reverse=True)


@require_safe
def sessions(request: HttpRequest, slug: str) -> HttpResponse:
    """Sessions of the newest runs, each a link to its runs."""
    project = get_project_or_404(request, slug)
    found = [group for group in grouped(Run.objects.of(project), "session_id") if group.name]
    home = reverse("runs:session", args=[slug])
    links = [(group, _address(home, id=group.name)) for group in found]
    context = _listing("Sessions", "session", links) | told(request.GET, ())
    return render(request, "runs/groups.html", context)


@require_safe
def session(request: HttpRequest, slug: str) -> HttpResponse:
    """The runs of one session in order, the first of them first."""
    project = get_project_or_404(request, slug)
    name = request.GET.get("id", "")
    query = QueryDict(mutable=True)
    query.update({"session": name, "sort": "started"})
    for cursor in ("after", "before"):
        query[cursor] = request.GET.get(cursor, "")
    form = RunFilterForm(query)
    page = form.page(project, SHOWN) if form.values.get("session") else None
    if page is None or not (page.runs or page.previous):
        raise Http404
    context = {
        "name": name,
        "page": page,
        "in_list": form.query(sort=None),
        "back": page.previous and _query(name, before=page.previous),
        "on": page.next and _query(name, after=page.next),
        **told(request.GET, ("id", "after", "before")),
    }
    return render(request, "runs/session.html", context)


@require_safe
def agents(request: HttpRequest, slug: str) -> HttpResponse:
    """Agents of the newest runs with their figures, each a link to its versions."""
    project = get_project_or_404(request, slug)
    home = reverse("runs:agent", args=[slug])
    found = [group for group in grouped(Run.objects.of(project), "agent") if group.name]
    links = [(group, _address(home, name=group.name)) for group in found]
    context = _listing("Agents", "agent", links) | told(request.GET, ())
    return render(request, "runs/groups.html", context)


@require_safe
def agent(request: HttpRequest, slug: str) -> HttpResponse:
    """An agent's versions with the figures of each; a version leads to its runs."""
    project = get_project_or_404(request, slug)
    name = request.GET.get("name", "")
    runs = Run.objects.of(project).filter(agent=name)
    found = grouped(runs, "agent_version") if name and "\0" not in name else []
    if not found:
        raise Http404
    home = reverse("runs:list", args=[slug])
    links = [(g, _address(home, agent=name, version=g.name)) for g in found]
    context = _listing(name, "version", links) | {"of_agent": _address(home, agent=name)}
    context |= told(request.GET, ("name",))
    return render(request, "runs/groups.html", context)


def _query(name: str, **cursor: Cursor) -> str:
    return urlencode({"id": name, **{way: str(place) for way, place in cursor.items()}})


def _listing(title: str, noun: str, links: list[tuple[Group, str]]) -> dict[str, Any]:
    return {
        "title": title,
        "noun": noun,
        "links": links[:SHOWN],
        "untold": max(len(links) - SHOWN, 0),
        "latest": LATEST,
        "all_of_them": sum(group.runs for group, _ in links) < LATEST,
    }


def _address(home: str, **query: str) -> str:
    return f"{home}?{urlencode({name: value for name, value in query.items() if value})}"
