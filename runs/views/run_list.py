"""The list of runs: filters and place in the address, a page at a time."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_safe

from runs.access import get_project_or_404
from runs.accounts.models import Project
from runs.filters import read_filters
from runs.matching import COLUMNS
from runs.models import LabelKind, Run, RunLabel

ROWS = 50
VALUES_OFFERED = 100


@require_safe
def run_list(request: HttpRequest, slug: str) -> HttpResponse:
    project = get_project_or_404(request, slug)
    form = read_filters(request)
    if any(not value for values in request.GET.lists() for value in values[1]):
        return redirect(f"{request.path}?{form.query()}".rstrip("?"))
    page = form.page(project, ROWS)
    context = {
        "form": form,
        "page": page,
        "newer": form.query(before=page.previous) if page.previous else None,
        "older": form.query(after=page.next) if page.next else None,
        "oldest_first": form.query(sort="started"),
        "newest_first": form.query(sort=None),
        "nothing_yet": not page.runs and not Run.objects.of(project).exists(),
    }
    return render(request, "runs/run_list.html", context)


@require_safe
def filter_values(request: HttpRequest, slug: str, field: str) -> HttpResponse:
    """Values that runs of this project have in a filter's column, as options to choose from."""
    project = get_project_or_404(request, slug)
    values = _values(project, field)
    return render(request, "runs/_options.html", {"values": values[:VALUES_OFFERED]})


def _values(project: Project, field: str) -> list[str]:
    if field in COLUMNS:
        column = COLUMNS[field]
        runs = Run.objects.of(project).exclude(**{column: ""})
        found = runs.order_by(column).values_list(column, flat=True).distinct()
        return list(found[:VALUES_OFFERED])
    if field not in LabelKind.values:
        raise Http404
    labels = RunLabel.objects.filter(project=project, kind=field).order_by("value")
    return list(labels.values_list("value", flat=True).distinct()[:VALUES_OFFERED])
