"""One run, stepped through: the tape, the transport, the step list and one effect on show."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers

from runs import bulk
from runs.access import get_effect_or_404, get_run_or_404
from runs.lists.filters import EffectSelectionForm, understood
from runs.models import Effect, Family, Run
from runs.steps import timeline
from runs.steps.listing import Listing, listing_of
from runs.steps.stretch import FAILED, Row, Stretch, read_stretch
from runs.views.effect_view import effect_view
from runs.views.run_tape import SHORT, DrawnTape, tape_of
from runs.views.step_list import ListState, chips, found_in, grow_context

BEHIND, AHEAD = 30, 60
"""Effects read at once to find where the buttons lead and what belongs together."""


@require_safe
@vary_on_headers("HX-Request", "HX-Target")
def run_detail(request: HttpRequest, slug: str, run_id: str) -> HttpResponse:
    run = get_run_or_404(request, slug, run_id)
    chosen = understood(EffectSelectionForm, request.GET)
    at, state = chosen.get("at", 1), ListState.of(chosen)
    listing = listing_of(run, state.choice)
    asks_part = request.htmx and not request.htmx.history_restore_request  # type: ignore[attr-defined]
    if asks_part and request.htmx.target != "list":  # type: ignore[attr-defined]
        around = around_of(run, at, [])
        context = where(run, at, state, listing, around)
        context |= on_show(run, context["effect"], chosen, around) | {"oob": True}
        return render(request, "runs/run_detail.html#step", context)
    windows = listing.windows(at)
    around = around_of(run, at, windows if listing.seqs is None else [])
    context = where(run, at, state, listing, around) | list_context(listing, windows, around)
    context |= {"find": found_in(run, state, at), "chips": chips(run, state)}
    context |= grow_context(run)
    if asks_part:
        return render(request, "runs/run_detail.html#listing", {**context, "oob": True})
    context |= on_show(run, context["effect"], chosen, around)
    return render(request, "runs/run_detail.html", context)


@require_safe
@vary_on_headers("HX-Request")
def step_window(request: HttpRequest, slug: str, run_id: str) -> HttpResponse:
    """Rows of one window of the step list, named by any position in it."""
    run = get_run_or_404(request, slug, run_id)
    chosen = understood(EffectSelectionForm, request.GET)
    state = ListState.of(chosen)
    listing = listing_of(run, state.choice)
    window = listing.window(chosen.get("at", 1))
    if window is None:
        raise Http404
    until = chosen.get("until", window.last)
    rows = [row for row in _rows(listing, window, None) if row.seq <= until]
    context = {"run": run, "window": window, "rows": rows, "state": state}
    context |= {"parents": listing.parents(rows), "folded": listing.folded}
    return render(request, "runs/run_detail.html#window", context)


@require_safe
def effect_detail(request: HttpRequest, slug: str, run_id: str, seq: int) -> HttpResponse:
    """The address of an effect by itself leads to it in its run."""
    effect = get_effect_or_404(get_run_or_404(request, slug, run_id), seq)
    return redirect(f"{reverse('runs:detail', args=[slug, run_id])}?at={effect.seq}")


def where(run: Run, at: int, state: ListState, listing: Listing, around: Stretch) -> dict[str, Any]:
    """The effect on show and where one can go from it."""
    effect = bulk.get(Effect, run_id=run.pk, seq=at)
    if effect is not None:
        effect.run = run
    go = _ways(listing, around, at, effect)
    return {"run": run, "at": at, "effect": effect, "state": state, "go": go}


def on_show(
    run: Run, effect: Effect | None, chosen: dict[str, Any], around: Stretch
) -> dict[str, Any]:
    tape, at = tape_of(run, around), chosen.get("at", 1)
    return {
        "view": effect_view(effect, chosen, around) if effect else None,
        "tape": tape,
        "head": head_of(tape, effect, at),
        "kept_tabs": {name: chosen[name] for name in ("req", "tab") if name in chosen},
    }


def head_of(tape: DrawnTape, effect: Effect | None, at: int) -> float:
    """Where on the tape the effect on show begins."""
    return tape.axis.x(at, timeline.ms(effect.started_at) if effect else None)


def list_context(
    listing: Listing, windows: list[timeline.Window], around: Stretch | None
) -> dict[str, Any]:
    rows = [_rows(listing, w, around) if w.loaded else None for w in windows]
    parents = listing.parents([row for some in rows if some for row in some])
    shown = zip(windows, rows, strict=True)
    return {"windows": list(shown), "parents": parents, "folded": listing.folded}


def _rows(listing: Listing, window: timeline.Window, around: Stretch | None) -> tuple[Row, ...]:
    if listing.seqs is not None:
        return listing.rows(window)
    around = around or read_stretch(listing.run, window.first, window.last)
    return around.within(window.first, window.last)


def around_of(run: Run, at: int, windows: list[timeline.Window]) -> Stretch:
    """What the page needs beside the effect on show: its neighbours and the rows of the list."""
    if run.last_seq <= SHORT:
        return read_stretch(run, 1, run.last_seq, times=True)
    listed = [end for w in windows if w.loaded for end in (w.first, w.last)]
    return read_stretch(run, min([at - BEHIND, *listed]), max([at + AHEAD, *listed]))


def _ways(
    listing: Listing, around: Stretch, at: int, effect: Effect | None
) -> dict[str, int | None]:
    """Where each button of the transport leads (None: nowhere)."""
    first, last = listing.ends or (at, at)
    ways = {
        "first": first if at != first else None,
        "back": listing.before(around, at),
        "forward": listing.after(around, at),
        "last": last if at != last else None,
        "model": listing.after(around, at, family=[Family.COMPLETION]),
        "same": None,
        "error": None,
    }
    if effect and effect.family == Family.TOOL:
        ways["same"] = listing.after(around, at, family=[Family.TOOL], name=[effect.name])
    if around.run.error_count:  # from the start again behind the last one
        later = listing.after(around, at, status=FAILED)
        ways["error"] = later or listing.after(around, 0, status=FAILED)
    return ways
