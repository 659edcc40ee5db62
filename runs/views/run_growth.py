"""What came to a run since its page was made: new rows at the end of the list, and the figures."""

from __future__ import annotations

from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from runs.access import get_run_or_404
from runs.lists.filters import EffectSelectionForm, understood
from runs.models import Run
from runs.steps.listing import Listing, listing_of
from runs.views import run_page
from runs.views.run_tape import tape_of
from runs.views.step_list import ListState, chips, found_in, grow_context, seen_of


class GrowthForm(forms.Form):
    """What a page has: rows up to `after`, `count` effects in all, as of `seen`; `missing` says
    that the effect it is at was not there yet."""

    after = forms.IntegerField(min_value=0, max_value=2**31 - 1)
    count = forms.IntegerField(min_value=0, max_value=2**31 - 1)
    seen = forms.CharField(max_length=40)
    missing = forms.BooleanField(required=False)


@require_safe
def growth(request: HttpRequest, slug: str, run_id: str) -> HttpResponse:
    """204 while nothing is new; else what is, to be put into the page where the reader is."""
    run = get_run_or_404(request, slug, run_id)
    has = GrowthForm(request.GET)
    if has.is_valid() and has.cleaned_data["seen"] == seen_of(run):
        return HttpResponse(status=204)
    chosen = understood(EffectSelectionForm, request.GET)
    at, state = chosen.get("at", 1), ListState.of(chosen)
    listing = listing_of(run, state.choice)
    around = run_page.around_of(run, at, [])
    context = run_page.where(run, at, state, listing, around)
    context |= {"oob": True, "grown": True}
    if has.is_valid() and has.cleaned_data["missing"]:
        context |= run_page.on_show(run, context["effect"], chosen, around) | {"pane": True}
    else:
        tape = tape_of(run, around)
        context |= {"tape": tape, "head": run_page.head_of(tape, context["effect"], at)}
    context |= _rows(listing, state, at, has) | {"chips": chips(run, state)} | grow_context(run)
    return render(request, "runs/run_detail.html#growth", context)


def _rows(listing: Listing, state: ListState, at: int, has: GrowthForm) -> dict[str, Any]:
    """The windows to add; the whole list anew where something came in between."""
    after = has.cleaned_data["after"] if has.is_valid() else 0
    late = _came_late(listing.run, has)
    newer = listing.newer(after)
    if late or (newer and newer[0].first == (listing.ends or (0, 0))[0]):
        windows = listing.windows(at)
        around = run_page.around_of(listing.run, at, windows)
        anew = {"anew": True, "find": found_in(listing.run, state, at)}
        return run_page.list_context(listing, windows, around) | anew
    return run_page.list_context(listing, newer, None)


def _came_late(run: Run, has: GrowthForm) -> bool:
    """Whether effects came that belong before the last one the page has."""
    if not has.is_valid():
        return True
    newer = run.effects.filter(seq__gt=has.cleaned_data["after"]).count()
    return bool(has.cleaned_data["count"] + newer != run.effect_count)
