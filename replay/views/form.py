"""The replay form: what is changed on the left, what will happen on the right."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods
from django.views.decorators.vary import vary_on_headers

from replay.forms import Recorded, ReplayForm, beside, recorded
from replay.jobs import Asker
from replay.models import Replay
from replay.project_providers.catalog import Catalog, catalog_of
from replay.providers import BadModel
from replay.start import Planned, plans, start
from runs.access import get_run_or_404, signed_in
from runs.accounts.models import Project, Role
from runs.models import Run
from runs.refusals import Refused, SeveralRefused

CONTROLS = ("models", "temperature", "top_p", "max_tokens", "system", "message", "tools_off",
            "dangling", "effects", "samples")  # fmt: skip
"""Beside each of them the form has room for what is wrong with it."""
SUGGESTED = 20
FAKE_MODELS = (
    "fake:steady",
    "fake:terse",
    "fake:echo-1",
    "fake:tool-1",
    "fake:think-1",
    "fake:refuse-1",
)
"""Names the fake provider answers in ways of their own (`replay/fake_provider/defaults.py`)."""


@require_http_methods(["GET", "HEAD", "POST"])
@vary_on_headers("HX-Request", "HX-Target")
def new_replay(request: HttpRequest, slug: str, run_id: str) -> HttpResponse:
    run = get_run_or_404(request, slug, run_id, Role.MEMBER)
    known = recorded(run)
    if request.method == "POST":
        return _start(request, run, ReplayForm(run, request.POST, known))
    form = ReplayForm(run, request.GET, known)
    return render(request, _template(request), _context(run, form, known))


def _template(request: HttpRequest) -> str:
    live = request.headers.get("HX-Request") and request.headers.get("HX-Target") == "plan"
    return "replay/replay_form.html#answer" if live else "replay/replay_form.html"


def _start(request: HttpRequest, run: Run, form: ReplayForm) -> HttpResponse:
    """Start what was planned; a plan that cannot be carried out is shown again with the reason."""
    slug = run.project.slug
    try:
        if form.question is None:
            raise SeveralRefused(form.errors)
        started = start(run, form.question, Asker(user=signed_in(request)))
    except Refused as refusal:
        messages.error(request, said(refusal))
        return render(
            request, "replay/replay_form.html", _context(run, form, form.known), status=422
        )
    if started.experiment is not None:
        return redirect("replay:experiment", slug, started.experiment.public_id)
    return redirect("replay:detail", slug, started.replays[0].public_id)


def said(refusal: Refused) -> str:
    """In one line; each of several mistakes stands beside its control."""
    more = len(refusal.each) - 1
    return refusal.message + (f" And {more} more to mend." if more else "")


def _context(run: Run, form: ReplayForm, known: Recorded) -> dict[str, Any]:
    planned = plans(run, form.question) if form.question else []
    catalog = catalog_of(run.project_id)
    errors = [error for one in planned for error in one.plan["errors"]]
    wrong = [(one.field, one.message) for one in form.errors]
    wrong += [(error.get("field"), error["message"]) for error in errors]
    return {
        "run": run,
        "form": form,
        "known": known,
        "planned": planned,
        "wrong": beside(wrong),
        "controls": CONTROLS,
        "swaps_message": form.chooses_message,
        "swaps_dangling": form.chooses_dangling or not form.dangling,
        "dangling": bool(form.dangling) or any(map(_has_open_calls, planned)),
        "total": sum(one.plan["calls"]["total"] for one in planned),
        "cost": _together(planned),
        "can_start": bool(planned) and not errors,
        "suggested": suggested(run.project, catalog, known.models),
        "catalog": catalog,
    }


def _has_open_calls(one: Planned) -> bool:
    return any(warning["code"] == "dangling_call" for warning in one.plan["warnings"])


def _together(planned: list[Planned]) -> dict[str, Any]:
    """The estimate over all candidates: unknown where none is known, at least where some are."""
    costs = [one.plan["cost"] for one in planned]
    known = [cost["estimate"] for cost in costs if cost["estimate"] is not None]
    return {
        "estimate": sum(known) if known else None,
        "complete": all(cost["estimate"] is not None and cost["complete"] for cost in costs),
    }


def suggested(project: Project, catalog: Catalog, models: Iterable[str] = ()) -> list[str]:
    """Models that can be asked: those asked in this project lately, the recorded ones (`models`),
    those of the fake provider."""
    asked = Replay.objects.filter(project=project).exclude(model="").order_by("-pk")
    latest = asked.values_list("provider", "model")[:200]
    lately = list(dict.fromkeys(f"{provider}:{model}" for provider, model in latest))[:SUGGESTED]
    named = dict.fromkeys((*lately, *models, *FAKE_MODELS))
    return [model for model in named if _can_be_asked(model, catalog)]


def _can_be_asked(model: str, catalog: Catalog) -> bool:
    try:
        catalog.choose(model)
    except BadModel:
        return False
    return True
