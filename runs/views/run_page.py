"""One run, stepped through: the tape, the transport, the step list and one effect on show."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers

from runs import bulk, timeline
from runs.access import get_effect_or_404, get_run_or_404
from runs.filters import EffectSelectionForm
from runs.models import Effect, Family, Run
from runs.stretch import FAILED, Stretch, read_stretch
from runs.views.effect_view import effect_view
from runs.views.run_tape import SHORT, tape_of

ALL_ROWS = 1000
"""A run of up to this many effects comes with all its rows, so that the browser's find works."""
BEHIND, AHEAD = 30, 60
"""Effects read at once to find where the buttons lead and what belongs together."""


@require_safe
@vary_on_headers("HX-Request")
def run_detail(request: HttpRequest, slug: str, run_id: str) -> HttpResponse:
    run = get_run_or_404(request, slug, run_id)
    chosen = EffectSelectionForm(request.GET).values
    at = chosen.get("at", 1)
    if request.htmx and not request.htmx.history_restore_request:  # type: ignore[attr-defined]
        context = _on_show(run, at, chosen, _around(run, at, []))
        return render(request, "runs/run_detail.html#step", {**context, "oob": True})
    windows = _windows(run, at)
    around = _around(run, at, windows)
    context = _on_show(run, at, chosen, around)
    rows = [around.within(w.first, w.last) if w.loaded else None for w in windows]
    context["windows"] = zip(windows, rows, strict=True)
    return render(request, "runs/run_detail.html", context)


@require_safe
@vary_on_headers("HX-Request")
def step_window(request: HttpRequest, slug: str, run_id: str) -> HttpResponse:
    """Rows of one window of the step list, named by any position in it."""
    run = get_run_or_404(request, slug, run_id)
    at = EffectSelectionForm(request.GET).values.get("at", 1)
    window = next((w for w in timeline.windows(run.last_seq, at) if w.loaded), None)
    if window is None:
        raise Http404
    rows = read_stretch(run, window.first, window.last).rows
    context = {"run": run, "window": window, "rows": rows}
    return render(request, "runs/run_detail.html#window", context)


@require_safe
def effect_detail(request: HttpRequest, slug: str, run_id: str, seq: int) -> HttpResponse:
    """The address of an effect by itself leads to it in its run."""
    effect = get_effect_or_404(get_run_or_404(request, slug, run_id), seq)
    return redirect(f"{reverse('runs:detail', args=[slug, run_id])}?at={effect.seq}")


def _on_show(run: Run, at: int, chosen: dict[str, Any], around: Stretch) -> dict[str, Any]:
    effect = bulk.get(Effect, run_id=run.pk, seq=at)
    if effect is not None:
        effect.run = run
    tape = tape_of(run, around)
    return {
        "run": run,
        "at": at,
        "effect": effect,
        "view": effect_view(effect, chosen, around) if effect else None,
        "tape": tape,
        "head": tape.axis.x(at, timeline.ms(effect.started_at) if effect else None),
        "go": _ways(around, at, effect),
        "kept_tabs": {name: chosen[name] for name in ("req", "tab") if name in chosen},
    }


def _windows(run: Run, at: int) -> list[timeline.Window]:
    windows = timeline.windows(run.last_seq, min(at, run.last_seq))
    if run.last_seq <= ALL_ROWS:
        return [timeline.Window(w.first, w.last, loaded=True) for w in windows]
    return windows


def _around(run: Run, at: int, windows: list[timeline.Window]) -> Stretch:
    """What the page needs beside the effect on show: its neighbours and the rows of the list."""
    if run.last_seq <= SHORT:
        return read_stretch(run, 1, run.last_seq, times=True)
    listed = [end for w in windows if w.loaded for end in (w.first, w.last)]
    return read_stretch(run, min([at - BEHIND, *listed]), max([at + AHEAD, *listed]))


def _ways(around: Stretch, at: int, effect: Effect | None) -> dict[str, int | None]:
    """Where each button of the transport leads (None: nowhere)."""
    run = around.run
    found = {
        "back": around.before(at),
        "forward": around.after(at),
        "model": around.after(at, family=[Family.COMPLETION]),
        "same": None,
        "error": None,
    }
    if effect and effect.family == Family.TOOL:
        found["same"] = around.after(at, family=[Family.TOOL], name=[effect.name])
    if run.error_count:  # from the start again behind the last one
        found["error"] = around.after(at, status=FAILED) or around.after(0, status=FAILED)
    return {
        "first": 1 if at > 1 else None,
        "last": run.last_seq if at < run.last_seq else None,
        **{name: row.seq if row else None for name, row in found.items()},
    }
