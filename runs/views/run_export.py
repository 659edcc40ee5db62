"""A run to take away: its envelope, or one page that needs nothing beside itself.

The page is written while it is sent, an effect at a time, so its size costs no memory. It has the
cards of the run's own page with every text whole, no script, and no address that leads outside. Of
a very long run it has some effects whole, and says which: the log has all of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from html import escape
from pathlib import Path
from typing import Any

from django.contrib.staticfiles import finders
from django.core.exceptions import ObjectDoesNotExist
from django.http import HttpRequest, StreamingHttpResponse
from django.template.loader import get_template
from django.utils import timezone
from django.utils.safestring import SafeString, mark_safe
from django.views.decorators.http import require_safe

from runs import logs
from runs.access import get_run_or_404
from runs.messages.loose import clean
from runs.messages.portions import Room
from runs.models import Effect, Run
from runs.steps import timeline
from runs.steps.stretch import FAILED, Row, Stretch, read_stretch
from runs.views.effect_view import effect_view

STYLES = ("_layers", "tokens", "base", "layout", "components", "messages", "runs", "offline")
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox"
CHUNK, BEHIND, AHEAD = 200, 100, 100
"""Effects read at once, with those around them in which their links are looked for."""
EFFECTS, ITEMS = 2_000, 100_000
"""So many effects, with so many messages, parts and tools in all, are in one file as a whole."""
ROWS = 2_000
"""Lines of its list of contents read at once."""


class Deleted(Exception):
    """The run went while it was being written."""


@require_safe
def envelope(request: HttpRequest, slug: str, run_id: str) -> StreamingHttpResponse:
    """All that is known of a run, as it can be sent again."""
    run = get_run_or_404(request, slug, run_id)
    answer = StreamingHttpResponse(logs.as_envelope(run), content_type="application/json")
    return _to_keep(answer, f"{run.external_id}.run.json")


@require_safe
def offline(request: HttpRequest, slug: str, run_id: str) -> StreamingHttpResponse:
    """The run as one HTML file; of a very long one the effects from number `from` on."""
    run = get_run_or_404(request, slug, run_id)
    answer = StreamingHttpResponse(
        _page(run, _start(request, run)), content_type="text/html; charset=utf-8"
    )
    answer["Content-Security-Policy"] = POLICY
    return _to_keep(answer, f"{run.external_id}.html")


def _to_keep(answer: StreamingHttpResponse, name: str) -> StreamingHttpResponse:
    answer["Content-Disposition"] = f'attachment; filename="{name}"'
    answer["Cache-Control"] = "private, no-store"
    answer["X-Content-Type-Options"] = "nosniff"
    return answer


def _start(request: HttpRequest, run: Run) -> int:
    asked = request.GET.get("from", "")
    first = int(asked) if asked.isascii() and asked.isdigit() and len(asked) < 10 else 1
    return first if 1 <= first <= run.last_seq else 1


def _page(run: Run, first: int) -> Iterator[str]:
    last = min(first + EFFECTS - 1, run.last_seq)
    shared = {"run": run, "project": run.project, "offline": True, "first": first, "last": last}
    yield get_template("runs/offline/head.html").render(
        shared | {"style": _style(), "now": timezone.now()}
    )
    reached, deleted = first - 1, False
    try:
        yield from _contents(run, first, last)
    except Deleted:
        deleted = True
    yield "</ol></details>\n"
    try:
        for seq, card in () if deleted else _cards(run, first, last, shared):
            yield card
            reached = seq
    except Deleted:
        deleted = True
    yield get_template("runs/offline/end.html").render(
        shared | {"reached": reached, "behind": reached + 1, "deleted": deleted}
    )


def _cards(run: Run, first: int, last: int, shared: dict[str, Any]) -> Iterator[tuple[int, str]]:
    """Each effect as it is in the file, until there is room for no more."""
    template, room = get_template("runs/offline/effect.html"), Room(portion=1_000, items=ITEMS)
    for effect, around in _effects(run, first, last):
        if room.items <= 0:
            return
        try:
            view = effect_view(effect, {}, around)
        except ObjectDoesNotExist:
            _must_be_there(run)
            raise
        view.room = room
        yield effect.seq, template.render(shared | {"effect": effect, "view": view})


def _contents(run: Run, first: int, last: int) -> Iterator[str]:
    """A line for each effect of the run, linked to those that are in the file."""
    for start in range(1, run.last_seq + 1, ROWS):
        rows = read_stretch(run, start, start + ROWS - 1).rows
        _must_be_there(run)
        yield "".join(_line(row, linked=first <= row.seq <= last) for row in rows)


def _line(row: Row, *, linked: bool) -> str:
    failed = ' class="bad"' if row.status in FAILED else ""
    tag, address = ("a", f' href="#e{row.seq}"') if linked else ("span", "")
    return (
        f"<li><{tag}{address}{failed}>#{row.seq}"
        f' <i class="dot f-{timeline.lane_of(row.family)}"></i>'
        f" {escape(clean(row.name or row.key))} <small>{escape(clean(row.summary))}</small>"
        f"</{tag}></li>"
    )


def _effects(run: Run, first: int, last: int) -> Iterator[tuple[Effect, Stretch]]:
    """Each effect with what lies around it, a few queries a piece."""
    for start in range(first, last + 1, CHUNK):
        end = min(start + CHUNK - 1, last)
        around = read_stretch(run, start - BEHIND, end + AHEAD)
        found = Effect.objects.filter(run_id=run.pk, seq__range=(start, end)).order_by("seq")
        effects = list(found)
        _must_be_there(run)
        for effect in effects:
            effect.run = run
            yield effect, around


def _must_be_there(run: Run) -> None:
    """Raises Deleted. Asked behind each reading: what was read before is whole."""
    if not Run.objects.filter(pk=run.pk).exists():
        raise Deleted


@lru_cache(1)
def _style() -> SafeString:
    files = (finders.find(f"css/{name}.css") for name in STYLES)
    return mark_safe("\n".join(Path(str(file)).read_text() for file in files))
