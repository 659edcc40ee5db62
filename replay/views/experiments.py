"""The list of experiments, and one of them: its candidates in sum, and run by run."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import messages
from django.db.models import Count, OuterRef, Subquery
from django.db.models.functions import Coalesce
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe
from django.views.decorators.vary import vary_on_headers

from replay import jobs
from replay.api.experiments import exported
from replay.comparison.differences import Difference
from replay.experiments.again import left_to_ask
from replay.experiments.gate import read_gate
from replay.experiments.matrix import CLASS_CHOICES, SORTS, STATUS_CHOICES, Picked, window
from replay.experiments.models import ExperimentRun
from replay.experiments.reading import experiment_of
from replay.experiments.summary import Summary, summaries, summary
from replay.models import Experiment
from replay.views.page import STOP_POLLING
from runs.access import get_project_or_404
from runs.accounts.models import Role
from runs.refusals import Refused
from runs.strangers import told

ROWS = 50
SORT_LABELS = {
    "worst": "worst first",
    "changed": "most changes first",
    "cost": "most added cost first",
    "latency": "most added time first",
}


def get_experiment_or_404(
    request: HttpRequest, slug: str, experiment_id: str, needs: Role = Role.VIEWER
) -> Experiment:
    """The experiment of this id in a project the person belongs to."""
    project = get_project_or_404(request, slug, needs)
    experiment = experiment_of(project.pk, experiment_id)
    if experiment is None:
        raise Http404
    experiment.project = project
    return experiment


class ListForm(forms.Form):
    before = forms.IntegerField(min_value=1, max_value=2**63 - 1, required=False)


@require_safe
def experiment_list(request: HttpRequest, slug: str) -> HttpResponse:
    project = get_project_or_404(request, slug)
    form = ListForm(request.GET)
    form.full_clean()
    found = Experiment.objects.filter(project=project).order_by("-pk")
    if before := form.cleaned_data.get("before"):
        found = found.filter(pk__lt=before)
    places = ExperimentRun.objects.filter(experiment=OuterRef("pk"), run__deleted_at=None)
    counted = places.order_by().values("experiment").annotate(n=Count("pk")).values("n")
    found = found.annotate(size=Coalesce(Subquery(counted), 0)).select_related("created_by")
    rows = list(found[: ROWS + 1])
    stand = summaries(rows[:ROWS])
    context = {
        "experiments": [(one, stand[one.pk]) for one in rows[:ROWS]],
        "older": rows[ROWS - 1].pk if len(rows) > ROWS else None,
        "before": before,
        **told(request.GET, form.fields),
    }
    return render(request, "replay/experiment_list.html", context)


class MatrixForm(forms.Form):
    """The state of the matrix in its address; what cannot be is left out."""

    sort = forms.ChoiceField(choices=[(name, name) for name in SORTS], required=False)
    of = forms.ChoiceField(choices=[(name, name) for name in CLASS_CHOICES], required=False)
    status = forms.ChoiceField(choices=[(name, name) for name in STATUS_CHOICES], required=False)
    candidate = forms.IntegerField(min_value=1, max_value=1000, required=False)
    after = forms.RegexField(r"^-?[0-9.]{1,12}$", required=False)

    def picked(self) -> Picked:
        self.full_clean()
        given = self.cleaned_data
        return Picked(
            given.get("sort") or SORTS[0],
            given.get("of") or "",
            given.get("status") or "",
            given.get("candidate"),
        )

    def query(self, **changes: str | None) -> str:
        """The address of this state with some of it changed; None leaves out."""
        kept = {name: self.cleaned_data.get(name) for name in self.fields}
        query = QueryDict(mutable=True)
        query.update({name: str(v) for name, v in {**kept, **changes}.items() if v})
        return query.urlencode()


@require_safe
@vary_on_headers("HX-Request", "HX-Target")
def experiment_detail(request: HttpRequest, slug: str, experiment_id: str) -> HttpResponse:
    experiment = get_experiment_or_404(request, slug, experiment_id)
    found = summary(experiment)
    if not found.columns:  # made before experiments had rows and columns
        return redirect(f"/p/{slug}/replays?experiment={experiment.public_id}")
    context = {"experiment": experiment, "found": found, **_matrix(request, found), **_gate(found)}
    if found.is_finished and found.unanswered:
        context["left"] = left_to_ask(found)
    if request.headers.get("HX-Request") and request.headers.get("HX-Target") == "live":
        status = STOP_POLLING if found.is_finished else 200
        return render(request, "replay/experiment.html#news", context, status=status)
    return render(request, "replay/experiment.html", context)


def _matrix(request: HttpRequest, found: Summary) -> dict[str, Any]:
    form = MatrixForm(request.GET)
    picked = form.picked()
    candidates = [column.candidate for column in found.columns]
    after = form.cleaned_data.get("after") or ""
    try:
        rows = window(found.experiment, candidates, picked, after, ROWS)
    except Refused:
        after = ""
        rows = window(found.experiment, candidates, picked, "", ROWS)
    return {
        "rows": rows,
        "picked": picked,
        "here": form.query(after=after or None),
        "later": form.query(after=rows.next) if rows.next else None,
        "top": form.query(after=None) if after else None,
        "classes": [("changed", "any change"), *((d.value, d.label) for d in Difference)],
        "statuses": STATUS_CHOICES,
        "sorts": SORT_LABELS.items(),
        **told(request.GET, form.fields),
    }


def _gate(found: Summary) -> dict[str, Any]:
    """The checks of each candidate, where the experiment is held to anything."""
    gate = read_gate(found.experiment.gate)
    if not gate.as_json():
        return {"gate": None}
    checks = found.checks(gate)
    return {
        "gate": gate,
        "passed": all(one.passed for one in checks),
        "checks": {
            column.candidate.pk: [one for one in checks if one.place == column.candidate.place]
            for column in found.columns
        },
    }


@require_POST
def cancellation(request: HttpRequest, slug: str, experiment_id: str) -> HttpResponseRedirect:
    experiment = get_experiment_or_404(request, slug, experiment_id, Role.MEMBER)
    if not jobs.cancel_all(experiment):
        messages.info(request, "It was over already.")
    return redirect("replay:experiment", slug, experiment_id)


@require_POST
def another_try(request: HttpRequest, slug: str, experiment_id: str) -> HttpResponseRedirect:
    experiment = get_experiment_or_404(request, slug, experiment_id, Role.MEMBER)
    if not jobs.retry_all(experiment):
        messages.error(request, "There is nothing to ask again, or it is being asked already.")
    return redirect("replay:experiment", slug, experiment_id)


@require_safe
def export(request: HttpRequest, slug: str, experiment_id: str) -> HttpResponseBase:
    experiment = get_experiment_or_404(request, slug, experiment_id)
    return exported(experiment, "csv" if request.GET.get("format") == "csv" else "json")
