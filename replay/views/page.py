"""One replay: its verdict, its progress, its rows, and two answers side by side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from django import forms
from django.contrib import messages
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe
from django.views.decorators.vary import vary_on_headers

from replay import jobs
from replay.comparison.beside import both_requests, both_sides
from replay.comparison.sides import SHOWS, Show, Sides
from replay.forms import again
from replay.models import (
    Replay,
    ReplayEffect,
    ReplayEffectQuerySet,
    ReplayMode,
    ReplaySample,
    ReplayStatus,
)
from replay.modes import samples
from replay.questions import MAX_SAMPLES
from replay.review.models import Divergence
from replay.rows import OPEN
from replay.totals import left_to_ask, samples_so_far, so_far
from replay.views.access import get_replay_or_404
from replay.waiting import waits_for
from runs.accounts.models import Role
from runs.storage import segments
from runs.strangers import told

ROWS = 200
REQUEST: Literal["request"] = "request"
"""Shows what was asked beside what had been, instead of the answers."""
STOP_POLLING = 286
"""htmx ends a poll that is answered with this status."""


class PlaceForm(forms.Form):
    """The state of the page in its address; what cannot be is left out."""

    at = forms.IntegerField(min_value=1, max_value=2**31 - 1, required=False)
    after = forms.IntegerField(min_value=0, max_value=2**31 - 1, required=False)
    show = forms.ChoiceField(choices=[(one, one) for one in (*SHOWS, REQUEST)], required=False)
    changed = forms.BooleanField(required=False)
    ignored = forms.BooleanField(required=False)
    sample = forms.IntegerField(min_value=1, max_value=MAX_SAMPLES, required=False)


@dataclass(frozen=True, slots=True)
class Place:
    at: int | None
    after: int
    show: Show | Literal["request"]
    changed: bool
    ignored: bool = False
    sample: int | None = None

    @property
    def narrows(self) -> str:
        """The filter that is on, by the name it has in addresses: of two the narrower."""
        return "ignored" if self.ignored else "changed" if self.changed else ""

    @property
    def narrowed(self) -> str:
        """What keeps the filter in an address."""
        return f"&{self.narrows}=on" if self.narrows else ""

    def picked(self, rows: ReplayEffectQuerySet) -> ReplayEffectQuerySet:
        if self.ignored:
            return rows.ignored()
        return rows.changed() if self.changed else rows

    @classmethod
    def of(cls, request: HttpRequest) -> Place:
        form = PlaceForm(request.GET)
        form.full_clean()
        given = form.cleaned_data
        chosen = given.get("show")
        show = next((show for show in (*SHOWS, REQUEST) if show == chosen), SHOWS[0])
        narrowed = bool(given.get("changed")), bool(given.get("ignored"))
        return cls(given.get("at"), given.get("after") or 0, show, *narrowed, given.get("sample"))


@require_safe
@vary_on_headers("HX-Request", "HX-Target")
def replay_detail(request: HttpRequest, slug: str, replay_id: str) -> HttpResponse:
    replay = get_replay_or_404(request, slug, replay_id)
    place = Place.of(request)
    target = request.headers.get("HX-Target") if request.headers.get("HX-Request") else None
    if target == "pair":
        context = {"replay": replay, **_selected(replay, place)}
        return render(request, "replay/replay_detail.html#selection", context)
    context = {"replay": so_far(replay), **_rows(replay, place), **_selected(replay, place)}
    sampled = samples_so_far(replay)
    if replay.is_final and replay.status != ReplayStatus.SUCCEEDED:
        context["left"] = left_to_ask(replay)
    context |= {"is_sampled": sampled, "progress": sampled or (replay.done, replay.total)}
    context["waits"] = waits_for(replay)
    if target == "live":
        context["moved"] = _has_moved(replay, context["row"], request.GET.get("state"))
        status = STOP_POLLING if replay.is_final and not context["waits"] else 200
        return render(request, "replay/replay_detail.html#news", context, status=status)
    context |= {"again": again(replay), **told(request.GET, PlaceForm.base_fields)}
    return render(request, "replay/replay_detail.html", context)


def _has_moved(replay: Replay, row: ReplayEffect | None, before: str | None) -> bool:
    """Whether the selected row is another than the page shows; what was open when the replay ended
    is not asked any more."""
    if row is None:
        return False
    return row.state != before or (replay.is_final and row.state in OPEN)


def _rows(replay: Replay, place: Place) -> dict[str, Any]:
    """A window of rows that holds the selected one."""
    rows = place.picked(ReplayEffect.objects.filter(replay=replay).for_list())
    after = place.after or _window_of(rows, place.at)
    window = list(rows.filter(seq__gt=after)[: ROWS + 1])
    return {
        "rows": window[:ROWS],
        "place": place,
        "after": after,
        "later": window[ROWS - 1].seq if len(window) > ROWS else None,
    }


def _window_of(rows: QuerySet[ReplayEffect], at: int | None) -> int:
    """Where the window begins: at the top, or at the selected row where that is far below."""
    if at is None or rows.filter(seq__lt=at).count() < ROWS:
        return 0
    return at - 1


def _selected(replay: Replay, place: Place) -> dict[str, Any]:
    """The selected row with both sides, and the differences before and behind it."""
    row = _row_at(replay, place)
    if row is None:
        return {"row": None, "place": place}
    rows = ReplayEffect.objects.filter(replay=replay).order_by("seq")
    differing = rows.ignored() if place.ignored else rows.changed()
    found = Divergence.objects.filter(replay=replay, seq=row.seq, is_current=True)
    kept = samples.kept(row) if row.samples > 1 else []
    is_proof = replay.mode == ReplayMode.RECONSTRUCT
    came = next((one for one in kept if one.number == place.sample), row)
    return {
        "row": row,
        "place": place,
        "kept": kept,
        "came": came,
        "sides": None if is_proof else _sides(row, place, came),
        "divergence": found.first(),
        "shows": [(show, show.upper() if show == "json" else show.title()) for show in SHOWS]
        + [(REQUEST, "Request")],
        "following": differing.filter(seq__gt=row.seq).values_list("seq", flat=True).first(),
        "previous": differing.filter(seq__lt=row.seq).values_list("seq", flat=True).last(),
    }


def _sides(row: ReplayEffect, place: Place, came: ReplayEffect | ReplaySample) -> Sides:
    return both_requests(row) if place.show == REQUEST else both_sides(row, place.show, came)


def _row_at(replay: Replay, place: Place) -> ReplayEffect | None:
    """The row of the address; without one the first that differs, else the first."""
    rows = ReplayEffect.objects.filter(replay=replay)
    rows = rows.select_related("effect", "baseline").defer("response").order_by("seq")
    if place.show != REQUEST:
        rows = rows.defer("sent", "response")
    if place.at is not None:
        return rows.filter(seq=place.at).first()
    if replay.mode == ReplayMode.RECONSTRUCT:
        return None
    differing = rows.ignored() if place.ignored else rows.changed()
    return differing.first() or rows.first()


@require_POST
def cancellation(request: HttpRequest, slug: str, replay_id: str) -> HttpResponseRedirect:
    replay = get_replay_or_404(request, slug, replay_id, Role.MEMBER)
    if not jobs.cancel(replay):
        messages.info(request, "It was over already.")
    return redirect("replay:detail", slug, replay_id)


@require_POST
def another_try(request: HttpRequest, slug: str, replay_id: str) -> HttpResponseRedirect:
    replay = get_replay_or_404(request, slug, replay_id, Role.MEMBER)
    if not jobs.retry(replay):
        messages.error(request, "There is nothing to ask again, or it is being asked already.")
    return redirect("replay:detail", slug, replay_id)


BODIES = ("sent", "response")


@require_safe
def body(request: HttpRequest, slug: str, replay_id: str, seq: int, side: str) -> HttpResponse:
    """The very bytes that were sent or received for one call, as a text nobody runs."""
    replay = get_replay_or_404(request, slug, replay_id)
    row = ReplayEffect.objects.filter(replay=replay, seq=seq).first()
    data = getattr(row, side) if row is not None and side in BODIES else None
    sample = Place.of(request).sample
    if row is not None and side == "response" and sample is not None:
        of_sample = ReplaySample.objects.filter(row=row, number=sample)
        data = of_sample.values_list("response", flat=True).first()
    if data is None:
        raise Http404
    answer = HttpResponse(segments.decompress(data), content_type="text/plain; charset=utf-8")
    name = f"{replay.public_id}-{seq}-{side}.json"
    answer["Content-Disposition"] = f'inline; filename="{name}"'
    answer["Content-Security-Policy"] = "default-src 'none'; sandbox"
    return answer
