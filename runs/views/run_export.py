"""A run to take away: its envelope, or one page that needs nothing beside itself.

The page is written while it is sent, an effect at a time, so its size costs no memory. It has the
cards of the run's own page with every text whole, no script, and no address that leads outside.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from django.contrib.staticfiles import finders
from django.http import HttpRequest, StreamingHttpResponse
from django.template.loader import get_template
from django.utils import timezone
from django.utils.safestring import SafeString, mark_safe
from django.views.decorators.http import require_safe

from runs import logs
from runs.access import get_run_or_404
from runs.models import Effect, Run
from runs.stretch import Stretch, read_stretch
from runs.views.effect_view import effect_view

STYLES = ("_layers", "tokens", "base", "layout", "components", "messages", "runs", "offline")
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox"
CHUNK, BEHIND, AHEAD = 200, 100, 100
"""Effects read at once, with those around them in which their links are looked for."""


@require_safe
def envelope(request: HttpRequest, slug: str, run_id: str) -> StreamingHttpResponse:
    """All that is known of a run, as it can be sent again."""
    run = get_run_or_404(request, slug, run_id)
    answer = StreamingHttpResponse(logs.as_envelope(run), content_type="application/json")
    return _to_keep(answer, f"{run.external_id}.run.json")


@require_safe
def offline(request: HttpRequest, slug: str, run_id: str) -> StreamingHttpResponse:
    """The run as one HTML file."""
    run = get_run_or_404(request, slug, run_id)
    answer = StreamingHttpResponse(_page(run), content_type="text/html; charset=utf-8")
    answer["Content-Security-Policy"] = POLICY
    return _to_keep(answer, f"{run.external_id}.html")


def _to_keep(answer: StreamingHttpResponse, name: str) -> StreamingHttpResponse:
    answer["Content-Disposition"] = f'attachment; filename="{name}"'
    answer["Cache-Control"] = "private, no-store"
    answer["X-Content-Type-Options"] = "nosniff"
    return answer


def _page(run: Run) -> Iterator[str]:
    shared = {"run": run, "project": run.project, "offline": True}
    about = {"style": _style(), "now": timezone.now()}
    yield get_template("runs/offline/head.html").render(shared | about)
    row = get_template("runs/offline/row.html")
    for first in range(1, run.last_seq + 1, CHUNK):
        for one in read_stretch(run, first, first + CHUNK - 1).rows:
            yield row.render({"row": one})
    yield "</ol></details>\n"
    template = get_template("runs/offline/effect.html")
    for effect, around in _effects(run):
        view = effect_view(effect, {}, around)
        yield template.render(shared | {"effect": effect, "view": view})
    yield "</main></body></html>\n"


def _effects(run: Run) -> Iterator[tuple[Effect, Stretch]]:
    """Each effect with what lies around it, a few queries a piece."""
    for first in range(1, run.last_seq + 1, CHUNK):
        last = first + CHUNK - 1
        around = read_stretch(run, first - BEHIND, last + AHEAD)
        for effect in Effect.objects.filter(run_id=run.pk, seq__range=(first, last)).order_by(
            "seq"
        ):
            effect.run = run
            yield effect, around


@lru_cache(1)
def _style() -> SafeString:
    files = (finders.find(f"css/{name}.css") for name in STYLES)
    return mark_safe("\n".join(Path(str(file)).read_text() for file in files))
