"""The list of runs: filters and place in the address, a page at a time, and what keeps it fresh."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.views.decorators.http import require_safe

from runs.access import get_project_or_404
from runs.accounts.models import Project
from runs.lists.filters import RunListForm, read_list
from runs.lists.matching import COLUMNS, arrived_since
from runs.lists.paging import LOOKED_AT, NEWEST, Page
from runs.models import LabelKind, Run, RunLabel, RunStatus
from runs.prepared import prepared
from runs.strangers import told
from runs.views import saved_views
from runs.views.selection import chosen, read_deleted

VALUES_OFFERED = 100
NEW_COUNTED = 100


@require_safe
def run_list(request: HttpRequest, slug: str) -> HttpResponse:
    project = get_project_or_404(request, slug)
    form = read_list(request)
    if any(not value for values in request.GET.lists() for value in values[1]):
        return redirect(f"{request.path}?{form.query()}".rstrip("?"))
    if not request.META["QUERY_STRING"] and (view := saved_views.default(request, project)):
        return redirect(f"{request.path}?{saved_views.address(view)}")
    newest = _newest_key()
    page = form.page(project, form.size)
    context = {
        "form": form,
        "page": page,
        **_ways(form, page),
        **_fresh(form, page, newest),
        "view": saved_views.shown(request, project, form),
        "deleted": read_deleted(request.GET.get("deleted", "")),
        **_strangers(request, form),
        "nothing_yet": not page.runs and not Run.objects.of(project).exists(),
    }
    return render(request, "runs/run_list.html", context)


def _strangers(request: HttpRequest, form: RunListForm) -> dict[str, Any]:
    # Without any query the default view is shown, and places in this list are no more.
    found = told(request.GET, {*form.fields, "deleted"})
    return found and {**found, "known_query": form.query() or "view=all"}


def _ways(form: RunListForm, page: Page[Any]) -> dict[str, Any]:
    """The pages beside this one, and what the way there is called."""
    by_time = form.order.column is NEWEST.column
    words = ("Newer", "Older") if by_time else ("Back", "On")
    if form.order.ascending and by_time:
        words = ("Older", "Newer")
    return {
        "back": form.query(before=page.previous) if page.previous else None,
        "on": form.query(after=page.next) if page.next else None,
        "back_word": words[0],
        "on_word": words[1],
        "looked_at": LOOKED_AT,
        "by_time": form.query(sort=None) or "view=all",
    }


# --- What keeps an open page fresh ---------------------------------------------------------------


def _newest_key() -> int:
    """The key of the last run that came in, of any project; read before the page itself."""
    return next(iter(_newest()), 0)


@prepared
def _newest() -> QuerySet[Run, int]:
    return Run.everything.order_by("-pk").values_list("pk", flat=True)[:1]


def _fresh(form: RunListForm, page: Page[Run], newest: int) -> dict[str, Any]:
    """The addresses the page asks by itself: for new runs (from its first page), and for its rows
    of runs that still run."""
    asked = form.values
    first = "after" not in asked and "before" not in asked
    return {
        "news": f"{form.query(view=None)}&from={newest}" if first else None,
        "live": _live(form, page.runs),
    }


def _live(form: RunListForm, runs: list[Any]) -> str | None:
    query = QueryDict(mutable=True)
    query.setlist("run", [run.external_id for run in runs if run.status == RunStatus.RUNNING])
    query.setlist("col", form.sent("col"))
    return query.urlencode() if "run" in query and query.getlist("run") else None


@require_safe
def news(request: HttpRequest, slug: str) -> HttpResponse:
    """How many matching runs came in behind the one with the key `from`: a link to them."""
    project = get_project_or_404(request, slug)
    form, start = read_list(request), request.GET.get("from", "")
    if not (start.isascii() and start.isdigit() and len(start) < 19):
        raise Http404
    came = arrived_since(project, form.values, int(start), LOOKED_AT)
    count = len(came.values_list("pk", flat=True)[:NEW_COUNTED])
    more = count == NEW_COUNTED or Run.everything.filter(pk__gt=int(start) + LOOKED_AT).exists()
    context = {
        "news": f"{form.query(view=None)}&from={start}",
        "count": f"{NEW_COUNTED - 1 if count == NEW_COUNTED else count}{'+' if more else ''}",
        "some": bool(count),
        "first": form.query() or "view=all",
        "oob": True,
    }
    return render(request, "runs/_news.html", context)


@require_safe
def rows(request: HttpRequest, slug: str) -> HttpResponse:
    """The rows of some runs as they are now, for those still running on a page."""
    project = get_project_or_404(request, slug)
    form, runs = read_list(request), chosen(project, request.GET.getlist("run"))
    context = {"form": form, "runs": runs, "live": _live(form, runs), "oob": True}
    return render(request, "runs/_fresh_rows.html", context)


# --- What filters offer --------------------------------------------------------------------------


@require_safe
def filter_values(request: HttpRequest, slug: str, field: str) -> HttpResponse:
    """Values that runs of this project have in a filter's column, as options to choose from."""
    project = get_project_or_404(request, slug)
    values = _values(project, field)
    return render(request, "runs/_options.html", {"values": values[:VALUES_OFFERED]})


def _values(project: Project, field: str) -> list[str]:
    if field in COLUMNS:
        column = COLUMNS[field]
        runs = Run.everything.of(project).exclude(**{column: ""})
        found = runs.order_by(column).values_list(column, flat=True).distinct()
        return list(found[:VALUES_OFFERED])
    if field not in LabelKind.values:
        raise Http404
    labels = RunLabel.objects.filter(project=project, kind=field).order_by("value")
    return list(labels.values_list("value", flat=True).distinct()[:VALUES_OFFERED])
