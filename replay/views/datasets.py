"""Sets of runs: kept from a selection or added to one, looked at, renamed, deleted."""

from __future__ import annotations

from urllib.parse import urlencode

from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST

from replay.experiments import datasets
from replay.experiments.asked import read_run_ids
from replay.experiments.form import ExperimentForm
from replay.experiments.models import Dataset
from replay.experiments.reading import dataset_named, dataset_of, runs_of
from runs.access import get_project_or_404, signed_in
from runs.accounts.models import Project, Role
from runs.messages.loose import plural
from runs.refusals import Refused
from runs.strangers import told

ROWS = 50


class PageForm(forms.Form):
    before = forms.IntegerField(min_value=1, max_value=2**63 - 1, required=False)
    after = forms.IntegerField(min_value=0, max_value=2**31 - 1, required=False)

    def number(self, name: str) -> int | None:
        self.full_clean()
        found: int | None = self.cleaned_data.get(name)
        return found


@require_http_methods(["GET", "HEAD", "POST"])
def dataset_list(request: HttpRequest, slug: str) -> HttpResponse:
    """The sets of a project; by POST the runs named are kept as one."""
    posts = request.method == "POST"
    project = get_project_or_404(request, slug, Role.MEMBER if posts else Role.VIEWER)
    if posts:
        return _keep(request, project)
    found, before = datasets.listed(project), PageForm(request.GET).number("before")
    rows = list((found.filter(pk__lt=before) if before else found)[: ROWS + 1])
    older = rows[ROWS - 1].pk if len(rows) > ROWS else None
    context = {"datasets": rows[:ROWS], "older": older, **told(request.GET, ("before",))}
    return render(request, "replay/dataset_list.html", context)


def _keep(request: HttpRequest, project: Project) -> HttpResponseRedirect:
    """Back to the form for an experiment, as it was; it then names the set instead of its runs, or
    says why they cannot be kept. To a set that is there under this name the runs are added."""
    ids, name = request.POST.getlist("run"), request.POST.get("name", "")
    controls = ExperimentForm(QueryDict(request.POST.get("controls", ""))).inputs()
    try:
        runs = runs_of(project, read_run_ids(ids))
    except Refused as refusal:
        messages.error(request, refusal.message)
        return redirect("replay:datasets", project.slug)
    there = dataset_named(project, name)
    try:
        kept = there or datasets.keep(project, name, runs, signed_in(request))
        added = datasets.add(there, runs) if there else 0
    except Refused:
        listed = [("run", one.external_id) for one in runs]
        return _new(project, [*listed, *controls, ("keep", name)])
    told = f"Added {plural(added, 'run')} to “{kept.name}”." if there else f"Kept as “{kept.name}”."
    messages.success(request, told)
    return _new(project, [("dataset", kept.public_id), *controls])


def _new(project: Project, query: list[tuple[str, str]]) -> HttpResponseRedirect:
    new = reverse("replay:experiment-new", args=[project.slug])
    return redirect(f"{new}?{urlencode(query)}")


@require_http_methods(["GET", "HEAD", "POST"])
def dataset_detail(request: HttpRequest, slug: str, dataset_id: str) -> HttpResponse:
    """The runs of a set; by POST it gets another name, a run more or one less."""
    posts = request.method == "POST"
    dataset = _get(request, slug, dataset_id, Role.MEMBER if posts else Role.VIEWER)
    if posts:
        try:
            _change(request, dataset)
        except Refused as refusal:
            messages.error(request, refusal.message)
        return redirect("replay:dataset", slug, dataset_id)
    places = dataset.places.filter(run__deleted_at=None).select_related("run").order_by("place")
    after = PageForm(request.GET).number("after")
    rows = list((places if after is None else places.filter(place__gt=after))[: ROWS + 1])
    context = {
        "dataset": dataset,
        "places": rows[:ROWS],
        "size": places.count(),
        "later": rows[ROWS - 1].place if len(rows) > ROWS else None,
        "experiments": dataset.experiments.order_by("-pk")[:10],
        **told(request.GET, ("after",)),
    }
    return render(request, "replay/dataset.html", context)


def _change(request: HttpRequest, dataset: Dataset) -> None:
    given = request.POST
    if "add" in given:
        runs = runs_of(dataset.project, read_run_ids(given["add"].split(), "add"), "add")
        added = datasets.add(dataset, runs)
        messages.success(request, f"Added {plural(added, 'run')}.")
    elif "remove" in given:
        datasets.take_out(dataset, read_run_ids([given["remove"]], "remove"))
    else:
        datasets.rename(dataset, given.get("name", ""))


@require_POST
def removal(request: HttpRequest, slug: str, dataset_id: str) -> HttpResponseRedirect:
    dataset = _get(request, slug, dataset_id, Role.MEMBER)
    datasets.remove(dataset)
    messages.success(request, f"“{dataset.name}” is deleted; its runs stay.")
    return redirect("replay:datasets", slug)


def _get(request: HttpRequest, slug: str, dataset_id: str, needs: Role) -> Dataset:
    try:
        return dataset_of(get_project_or_404(request, slug, needs), dataset_id)
    except Refused:
        raise Http404 from None
