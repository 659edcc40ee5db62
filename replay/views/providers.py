"""A project's providers: made, changed, tried and removed by its admins."""

from __future__ import annotations

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST

from replay.project_providers import keeping
from replay.project_providers.catalog import catalog_of
from replay.project_providers.forms import ProviderForm, TestForm
from replay.project_providers.keeping import BadProvider
from replay.project_providers.limits import blind_today
from replay.project_providers.models import ProjectProvider
from replay.project_providers.trying import try_out
from runs.access import get_project_or_404, signed_in
from runs.accounts.models import Project, Role
from runs.refusals import Refused


@sensitive_post_parameters("key")
@require_http_methods(["GET", "HEAD", "POST"])
def provider_list(request: HttpRequest, slug: str) -> HttpResponse:
    """All providers; POST makes one."""
    project = get_project_or_404(request, slug, Role.ADMIN)
    if request.method != "POST":
        return _listed(request, project, ProviderForm())
    form = ProviderForm(request.POST)
    if form.is_valid():
        try:
            row = keeping.add(project, keeping.read(form.sent()), signed_in(request))
        except (BadProvider, Refused) as wrong:
            _blame(form, wrong)
        else:
            messages.success(request, f"{row.name} can be asked from now on. Try it.")
            return redirect("replay:provider", slug, row.name)
    return _listed(request, project, form, status=400)


@sensitive_post_parameters("key")
@require_http_methods(["GET", "HEAD", "POST"])
def provider_page(request: HttpRequest, slug: str, name: str) -> HttpResponse:
    """One provider; POST changes it."""
    project = get_project_or_404(request, slug, Role.ADMIN)
    row = _row_or_404(project, name)
    if request.method != "POST":
        return _one(request, row, ProviderForm(row=row))
    form = ProviderForm(request.POST, row=row)
    if form.is_valid():
        try:
            keeping.change(row, keeping.read(form.sent(name)))
        except (BadProvider, Refused) as wrong:
            _blame(form, wrong)
        else:
            messages.success(request, "Changed; replays that are running follow within a second.")
            return redirect("replay:provider", slug, name)
    return _one(request, row, form, status=400)


@require_POST
def provider_test(request: HttpRequest, slug: str, name: str) -> HttpResponse:
    project = get_project_or_404(request, slug, Role.ADMIN)
    row = _row_or_404(project, name)
    form = TestForm(request.POST)
    if not form.is_valid():
        return _one(request, row, ProviderForm(row=row), test=form, status=400)
    try_out(row, form.cleaned_data["model"])
    return redirect("replay:provider", slug, name)


@require_POST
def provider_removal(request: HttpRequest, slug: str, name: str) -> HttpResponse:
    project = get_project_or_404(request, slug, Role.ADMIN)
    keeping.remove(_row_or_404(project, name))
    messages.success(request, f"{name} is removed, and its key with it.")
    return redirect("replay:providers", slug)


def _row_or_404(project: Project, name: str) -> ProjectProvider:
    row = ProjectProvider.objects.filter(project=project, name=name).first()
    if row is None:
        raise Http404
    return row


def _blame(form: ProviderForm, wrong: BadProvider | Refused) -> None:
    for one in wrong.refused().each:
        form.add_error(one.field if one.field in form.fields else None, one.message)


def _listed(
    request: HttpRequest, project: Project, form: ProviderForm, status: int = 200
) -> HttpResponse:
    catalog = catalog_of(project.pk)
    rows = list(ProjectProvider.objects.filter(project=project).order_by("name"))
    context = {
        "form": form,
        "rows": [(row, catalog.broken.get(row.name)) for row in rows],
        "of_environment": sorted(set(catalog.ready) - catalog.own),
    }
    return render(request, "project/providers.html", context, status=status)


def _one(
    request: HttpRequest,
    row: ProjectProvider,
    form: ProviderForm,
    test: TestForm | None = None,
    status: int = 200,
) -> HttpResponse:
    context = {
        "form": form,
        "row": row,
        "is_blind": row.pk in blind_today(row.project_id),
        "problem": catalog_of(row.project_id).broken.get(row.name),
        "test": test or TestForm(initial={"model": row.test_model}),
    }
    return render(request, "project/provider.html", context, status=status)
