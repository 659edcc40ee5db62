"""One run, stepped through: the tape, the transport, the step list and one effect on show."""

from __future__ import annotations

from typing import Any

from django.core.cache import cache
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers

from runs import timeline
from runs.access import get_effect_or_404, get_run_or_404
from runs.filters import EffectSelectionForm
from runs.models import Effect, EffectStatus, Family, Run
from runs.views.effect_view import effect_view

ALL_ROWS = 1000
"""A run of up to this many effects comes with all its rows, so that the browser's find works."""
NEAR = 60
"""Effects ahead that are read at once to find where the buttons lead."""
FAILED = (EffectStatus.ERROR, EffectStatus.CANCELLED)
ROW_FIELDS = ("seq", "family", "key", "name", "summary", "status", "depth", "duration_ms")
TAPE_KEPT_SECONDS = 600


@require_safe
@vary_on_headers("HX-Request")
def run_detail(request: HttpRequest, slug: str, run_id: str) -> HttpResponse:
    run = get_run_or_404(request, slug, run_id)
    chosen = EffectSelectionForm(request.GET).values
    at = chosen.get("at", 1)
    context = _on_show(run, at, chosen)
    if request.htmx and not request.htmx.history_restore_request:  # type: ignore[attr-defined]
        return render(request, "runs/run_detail.html#step", {**context, "oob": True})
    steps = _step_list(run, min(at, run.last_seq))
    return render(request, "runs/run_detail.html", {**context, **steps})


@require_safe
@vary_on_headers("HX-Request")
def step_window(request: HttpRequest, slug: str, run_id: str) -> HttpResponse:
    """Rows of one window of the step list, named by any position in it."""
    run = get_run_or_404(request, slug, run_id)
    at = EffectSelectionForm(request.GET).values.get("at", 1)
    window = next((w for w in timeline.windows(run.last_seq, at) if w.loaded), None)
    if window is None:
        raise Http404
    context = {"run": run, "window": window, "rows": _rows(run, window)}
    return render(request, "runs/run_detail.html#window", context)


@require_safe
def effect_detail(request: HttpRequest, slug: str, run_id: str, seq: int) -> HttpResponse:
    """The address of an effect by itself leads to it in its run."""
    effect = get_effect_or_404(get_run_or_404(request, slug, run_id), seq)
    return redirect(f"{reverse('runs:detail', args=[slug, run_id])}?at={effect.seq}")


def _on_show(run: Run, at: int, chosen: dict[str, Any]) -> dict[str, Any]:
    effect = Effect.objects.filter(run=run, seq=at).first()
    if effect is not None:
        effect.run = run
    tape = _tape(run)
    started = effect.started_at.timestamp() * 1000 if effect and effect.started_at else None
    return {
        "run": run,
        "at": at,
        "effect": effect,
        "view": effect_view(effect, chosen) if effect else None,
        "tape": tape,
        "head": tape.axis.x(at, started),
        "go": _ways(run, at, effect),
        "kept_tabs": {name: chosen[name] for name in ("req", "tab") if name in chosen},
    }


def _step_list(run: Run, at: int) -> dict[str, Any]:
    windows = timeline.windows(run.last_seq, at)
    if run.last_seq <= ALL_ROWS:
        windows = [timeline.Window(w.first, w.last, loaded=True) for w in windows]
    rows = {window.first: _rows(run, window) for window in windows if window.loaded}
    return {"windows": [(window, rows.get(window.first)) for window in windows]}


def _rows(run: Run, window: timeline.Window) -> QuerySet[Effect]:
    found = Effect.objects.filter(run=run, seq__range=(window.first, window.last))
    return found.only(*ROW_FIELDS).order_by("seq")


def _tape(run: Run) -> timeline.Tape:
    key = f"tape:{run.pk}:{run.effect_count}:{run.updated_at.timestamp()}"
    tape: timeline.Tape | None = cache.get(key)
    if tape is None:
        tape = timeline.tape(_moments(run), run.last_seq)
        cache.set(key, tape, TAPE_KEPT_SECONDS)
    return tape


def _moments(run: Run) -> list[timeline.Moment]:
    columns = ("seq", "family", "status", "started_at", "duration_ms")
    rows = Effect.objects.filter(run=run).order_by("seq").values_list(*columns)
    return [
        timeline.Moment(seq, family, status in FAILED, at.timestamp() * 1000 if at else None, ms)
        for seq, family, status, at, ms in rows.iterator(chunk_size=5000)
    ]


def _ways(run: Run, at: int, effect: Effect | None) -> dict[str, int | None]:
    """Where each button of the transport leads (None: nowhere).

    The answers are nearly always close by, so one query reads the neighbourhood; only what is not
    found there is looked for in the whole run.
    """
    columns = ("seq", "family", "status", "name")
    near = Effect.objects.filter(run=run, seq__range=(at - 1, at + NEAR)).order_by("seq")
    rows = list(near.values_list(*columns))
    ahead = [row for row in rows if row[0] > at]
    far = Effect.objects.filter(run=run, seq__gt=at + NEAR).order_by("seq")
    tool = effect.name if effect and effect.family == Family.TOOL else None
    found = {
        "back": rows[0][0] if rows and rows[0][0] < at else _behind(run, at),
        "forward": ahead[0][0] if ahead else _seq(far),
        "model": next((s for s, f, *_ in ahead if f == Family.COMPLETION), None),
        "same": next((s for s, f, _, n in ahead if f == Family.TOOL and n == tool), None),
        "error": next((s for s, _, status, _ in ahead if status in FAILED), None),
        "first": 1 if at > 1 else None,
        "last": run.last_seq if at < run.last_seq else None,
    }
    if run.last_seq > at + NEAR:
        found["model"] = found["model"] or _seq(far.filter(family=Family.COMPLETION))
        if tool is not None:
            found["same"] = found["same"] or _seq(far.filter(family=Family.TOOL, name=tool))
    if run.error_count and found["error"] is None:
        found["error"] = _next_error(run, far)
    return found


def _behind(run: Run, at: int) -> int | None:
    return _seq(Effect.objects.filter(run=run, seq__lt=at).order_by("-seq")) if at > 1 else None


def _next_error(run: Run, far: QuerySet[Effect]) -> int | None:
    """The next failed effect, from the start again behind the last one."""
    failed = Effect.objects.filter(run=run, status__in=FAILED).order_by("seq")
    return _seq(far.filter(status__in=FAILED)) or _seq(failed)


def _seq(effects: QuerySet[Effect]) -> int | None:
    return effects.values_list("seq", flat=True).first()
