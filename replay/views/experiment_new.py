"""The form for an experiment, and for more candidates: controls left, the plan right."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods
from django.views.decorators.vary import vary_on_headers

from replay.experiments import datasets, planning
from replay.experiments.asked import read_run_ids
from replay.experiments.form import ExperimentForm
from replay.experiments.models import Dataset
from replay.experiments.opening import add, start
from replay.experiments.reading import dataset_named, dataset_of, not_there, runs_in, runs_there
from replay.forms import beside, offered_in, recorded
from replay.jobs import Asker
from replay.project_providers.catalog import catalog_of
from replay.start import hold_to
from replay.views.experiments import get_experiment_or_404
from replay.views.form import said, suggested
from runs.access import get_project_or_404, signed_in
from runs.accounts.models import Project, Role
from runs.models import Effect, Family, Run
from runs.refusals import Refused, SeveralRefused

OF_CANDIDATES = ("models", "temperature", "top_p", "max_tokens", "samples", "system", "message",
                 "tools_off")  # fmt: skip
OF_EXPERIMENT = ("name", "min_same", "max_cost")
"""Controls beside each of which the form has room for what is wrong with it."""
TITLES, NAMES = 8, 50
LOOKED_AT = 50
TOOLS_OF = 20
"""So many runs are looked at for the tools that they offer."""
TEMPLATE = "replay/experiment_new.html"


@require_http_methods(["GET", "HEAD", "POST"])
@vary_on_headers("HX-Request", "HX-Target")
def new_experiment(request: HttpRequest, slug: str) -> HttpResponse:
    project = get_project_or_404(request, slug, Role.MEMBER)
    given = request.POST if request.method == "POST" else request.GET
    dataset, runs, missing = _chosen(project, given.get("dataset", ""), given.getlist("run"))
    form = _form(given, runs)
    if missing:
        messages.warning(request, f"{not_there(missing)} What is not there is left out.")
    elif request.method == "POST":
        try:
            plan = planning.make(project, runs, _candidates(form))
            hold_to(form.max_calls, plan.shown["calls"]["total"])
            started, _ = start(
                project, plan, Asker(user=signed_in(request)),
                name=form.name, gate=form.gate, dataset=dataset,
            )  # fmt: skip
            return redirect("replay:experiment", slug, started.public_id)
        except Refused as refusal:
            messages.error(request, said(refusal))
    keep = request.GET.get("keep", "")
    not_kept = "keep" in request.GET and _not_kept(project, keep, runs)
    said_of_it = {"dataset": dataset, "keep": keep, "not_kept": not_kept}
    return _shown(request, project, form, runs, said_of_it)


def _form(given: QueryDict, runs: Sequence[Run]) -> ExperimentForm:
    """The form of runs; a message to reword is shown as the first that has a model call says it."""
    first = next((run for run in runs if run.model_count), None)
    return ExperimentForm(given, first, recorded(first) if first else None)


def _not_kept(project: Project, name: str, runs: Sequence[Run]) -> str:
    """Why the runs could not be kept as a dataset of this name."""
    return datasets.problem_of(dataset_named(project, name), name, runs)


@require_http_methods(["GET", "HEAD", "POST"])
@vary_on_headers("HX-Request", "HX-Target")
def more_candidates(request: HttpRequest, slug: str, experiment_id: str) -> HttpResponse:
    experiment = get_experiment_or_404(request, slug, experiment_id, Role.MEMBER)
    rows = experiment.rows.filter(run__deleted_at=None).select_related("run").order_by("place")
    runs = [row.run for row in rows]
    form = _form(request.POST if request.method == "POST" else request.GET, runs)
    if request.method == "POST":
        try:
            plan = planning.make(experiment.project, runs, _candidates(form))
            hold_to(form.max_calls, plan.shown["calls"]["total"])
            if not add(experiment, plan, Asker(user=signed_in(request))):
                messages.info(request, "These candidates are in it already.")
            return redirect("replay:experiment", slug, experiment_id)
        except Refused as refusal:
            messages.error(request, said(refusal))
    return _shown(request, experiment.project, form, runs, {"experiment": experiment})


def _chosen(
    project: Project, dataset_id: str, ids: list[str]
) -> tuple[Dataset | None, list[Run], list[str]]:
    """The runs of a dataset, or those named that are there, and the others; 404 where none is."""
    try:
        if dataset_id:
            dataset = dataset_of(project, dataset_id)
            return dataset, runs_in(dataset), []
        runs, missing = runs_there(project, read_run_ids(ids))
    except Refused as refusal:
        raise Http404(refusal.message) from None
    if not runs:
        raise Http404(not_there(missing))
    return None, runs, missing


def _recorded_models(runs: list[Run]) -> list[str]:
    """The models that the first of these runs used, as one asks for them."""
    calls = Effect.objects.filter(run__in=[run.pk for run in runs[:LOOKED_AT]])
    used = calls.filter(family=Family.COMPLETION).values_list("provider", "name").distinct()
    named = (f"{provider}:{name}" if provider else name for provider, name in used.order_by("name"))
    return [model for model in named if model]


def _candidates(form: ExperimentForm) -> Any:
    if form.errors:
        raise SeveralRefused(form.errors)
    if not form.candidates:
        raise Refused("invalid", "Name a model to ask, or choose the recorded one.", "models")
    return form.candidates


def _shown(
    request: HttpRequest,
    project: Project,
    form: ExperimentForm,
    runs: list[Run],
    more: dict[str, Any],
) -> HttpResponse:
    """The form with the plan of what it says now; a POST that comes here was refused."""
    plan, refusals = None, form.errors
    if form.candidates and runs:
        try:
            plan = planning.make(project, runs, form.candidates)
        except Refused as error:
            refusals = [error]
    wrong = [(one.field, one.message) for one in refusals]
    wrong += [(error["field"], error["message"]) for error in plan.errors] if plan else []
    context = {
        "form": form,
        "runs": runs,
        "titles": runs[:TITLES],
        "untold": len(runs) - TITLES,
        "plan": plan.shown if plan else None,
        "refusals": refusals,
        "wrong": beside(wrong),
        "controls": OF_CANDIDATES + (() if "experiment" in more else OF_EXPERIMENT),
        "swaps_message": form.chooses_message,
        "can_start": plan is not None and not plan.errors and not refusals,
        **more,
    }
    status = 422 if request.method == "POST" else 200
    if request.headers.get("HX-Request") and request.headers.get("HX-Target") == "plan":
        return render(request, f"{TEMPLATE}#answer", context, status=status)
    used = _recorded_models(runs)
    context |= {
        "recorded": used,
        "tool_choices": list(dict.fromkeys((*offered_in(runs[:TOOLS_OF]), *form.tools_off))),
        "tools_of": min(len(runs), TOOLS_OF),
        "suggested": suggested(project, catalog_of(project.pk), used),
        "datasets": project.datasets.order_by("-pk").values_list("name", flat=True)[:NAMES],
    }
    return render(request, TEMPLATE, context, status=status)
