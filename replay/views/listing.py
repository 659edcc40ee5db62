"""The list of replays, and the few of one run that its page shows."""

from __future__ import annotations

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from replay.models import Replay, ReplayMode, ReplayStatus
from runs.access import get_project_or_404, get_run_or_404
from runs.models import NAME
from runs.strangers import told

ROWS = 50
ON_A_RUN = 5


class ReplayListForm(forms.Form):
    """The state of the list in its address; what cannot be is left out."""

    status = forms.ChoiceField(choices=ReplayStatus.choices, required=False)
    mode = forms.ChoiceField(choices=ReplayMode.choices, required=False)
    run = forms.CharField(max_length=NAME, required=False)
    experiment = forms.SlugField(max_length=40, required=False)
    before = forms.IntegerField(min_value=1, max_value=2**63 - 1, required=False)

    def filters(self) -> dict[str, object]:
        self.full_clean()
        columns = {
            "status": "status",
            "mode": "mode",
            "run": "run__external_id",
            "experiment": "experiment__public_id",
            "before": "pk__lt",
        }
        given = self.cleaned_data
        return {column: given[name] for name, column in columns.items() if given.get(name)}


@require_safe
def replay_list(request: HttpRequest, slug: str) -> HttpResponse:
    project = get_project_or_404(request, slug)
    form = ReplayListForm(request.GET)
    filters = form.filters()
    found = Replay.objects.of(project).filter(**filters).for_list()
    replays = list(found.select_related("experiment")[: ROWS + 1])
    older = request.GET.copy()
    older["before"] = str(replays[ROWS - 1].pk) if len(replays) > ROWS else ""
    context = {
        "replays": replays[:ROWS],
        "older": older.urlencode() if len(replays) > ROWS else None,
        "filtered": bool(filters),
        **told(request.GET, form.fields),
        "chosen": form.cleaned_data,
        "statuses": ReplayStatus.choices[1:],
        "modes": ReplayMode.choices[:2],
    }
    return render(request, "replay/replay_list.html", context)


@require_safe
def panel(request: HttpRequest, slug: str, run_id: str) -> HttpResponse:
    """The latest replays of a run, as a fragment of its page; empty where there are none."""
    run = get_run_or_404(request, slug, run_id)
    replays = list(Replay.objects.filter(run=run).for_list()[: ON_A_RUN + 1])
    context = {"run": run, "replays": replays[:ON_A_RUN], "more": len(replays) > ON_A_RUN}
    return render(request, "replay/_panel.html", context)
