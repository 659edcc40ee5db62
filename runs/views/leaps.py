"""Ways that lead to one effect which has to be looked for first: what cost most, what changed.

Each looks at no more than a stated number of rows, and says so where that was not all.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from decimal import Decimal
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from django.contrib import messages
from django.db.models import Max
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers

from runs.access import get_project_or_404, get_run_or_404
from runs.accounts.models import Project
from runs.lists.filters import EffectSelectionForm, RunListForm, read_list, understood
from runs.messages import answer_view, changes, request_view
from runs.messages.loose import plural
from runs.messages.parts import Answer, Request
from runs.models import Effect, Family, Run
from runs.steps.stretch import Row, Stretch, read_rows, read_stretch
from runs.views.record import record_of
from runs.views.step_list import ListState

RUNS, EFFECTS, AT_ONCE = 200, 100_000, 20
"""Runs, the most expensive first, and effects of them that the costliest call is looked for in; and
how many runs one query asks."""
CALLS, BYTES, CONVERSATIONS = 500, 40_000_000, 50
"""Model calls that are held against the one before, the bytes of them, and how many conversations
are followed."""


@require_safe
@vary_on_headers("HX-Request")
def costliest(request: HttpRequest, slug: str, run_id: str) -> HttpResponse:
    """Leads to the call of the run that cost most, the first of several."""
    run = get_run_or_404(request, slug, run_id)
    seq, shown = _costliest_of(run.pk), urlsplit(request.headers.get("HX-Current-URL", ""))
    if QueryDict(shown.query).get("at", "1") == str(seq) and shown.path:
        return _stay("This is the call that cost most.")
    return _lead(request, f"{reverse('runs:detail', args=[slug, run_id])}?at={seq}")


def _lead(request: HttpRequest, address: str) -> HttpResponse:
    """To another effect; the page's script (`leap.js`) asks where that is before it goes."""
    if request.headers.get("HX-Request"):
        return HttpResponse(headers={"HX-Redirect": address})
    return redirect(address)


def _stay(told: str) -> HttpResponse:
    """There is no other effect to go to: an address would be one more step back to where one is."""
    return HttpResponse(status=204, headers={"HX-Trigger": json.dumps({"toast": told})})


@require_safe
def costliest_of_all(request: HttpRequest, slug: str) -> HttpResponse:
    """Leads to the model call that cost most in the runs that the filters of the address leave."""
    project, form = get_project_or_404(request, slug), read_list(request)
    found = costliest_call(project, form)
    if found.run is None:
        messages.info(request, "No run here has a call of known cost.")
        return redirect(f"{reverse('runs:list', args=[slug])}?{form.query() or 'view=all'}")
    if found.left_out:
        messages.info(request, f"The costliest call {found.left_out}.")
    return redirect(f"{reverse('runs:detail', args=[slug, found.run.external_id])}?at={found.seq}")


Listed = Any
"""A run as a row of the list: the columns `OF_A_ROW`."""


class Costliest(NamedTuple):
    """`left_out` says among what it was looked for, where that was not everything."""

    run: Listed | None = None
    seq: int = 0
    left_out: str = ""


def costliest_call(project: Project, form: RunListForm) -> Costliest:
    """The runs are gone along by their own cost: one that cost less than a call has none above it.
    Equal calls: of the run that cost most."""
    page = RunListForm(QueryDict(form.query(sort="-cost"))).page(project, RUNS)
    runs = _within(page.runs)
    best: tuple[Decimal, Listed] | None = None
    for start in range(0, len(runs), AT_ONCE):
        some = runs[start : start + AT_ONCE]
        dearest = _dearest(some)
        for run in some:
            if _is_cheaper(run, best):
                return _told(best, "")
            cost = dearest.get(run.id)
            if cost is not None and (best is None or cost > best[0]):
                best = (cost, run)
    behind = page.runs[len(runs)] if len(runs) < len(page.runs) else None
    is_all = page.next is None if behind is None else _is_cheaper(behind, best)
    left_out = f"of {plural(len(runs), 'run')} looked at, what cost most first"
    return _told(best, "" if is_all else left_out)


def _is_cheaper(run: Listed, best: tuple[Decimal, Listed] | None) -> bool:
    """Whether no call of it can be the costliest: none costs more than its run."""
    return run.cost is None or (best is not None and run.cost <= best[0])


def _within(runs: Sequence[Listed]) -> list[Listed]:
    """Those of known cost, and not more than may be looked at; of one run all is looked at."""
    room, found = EFFECTS, list[Listed]()
    for run in runs:
        if run.cost is None or (found and run.effect_count > room):
            break
        room -= run.effect_count
        found.append(run)
    return found


def _dearest(runs: Sequence[Listed]) -> dict[int, Decimal]:
    """What the costliest call of each run cost, by the run's key."""
    calls = Effect.objects.filter(run_id__in=[run.id for run in runs], counted=True)
    found = calls.order_by().values_list("run_id").annotate(Max("cost"))
    return {pk: cost for pk, cost in found if cost is not None}


def _told(best: tuple[Decimal, Listed] | None, left_out: str) -> Costliest:
    return Costliest() if best is None else Costliest(best[1], _costliest_of(best[1].id), left_out)


def _costliest_of(run_id: int) -> int:
    """The position of the call that cost most, the first of several; 1 where none is priced."""
    priced = Effect.objects.filter(run_id=run_id, counted=True, cost__isnull=False)
    return priced.order_by("-cost", "seq").values_list("seq", flat=True).first() or 1


@require_safe
@vary_on_headers("HX-Request")
def changed_prompt(request: HttpRequest, slug: str, run_id: str) -> HttpResponse:
    """Leads to the next model call behind `at` that asks otherwise than the one before it of its
    conversation, from the start again behind the last; new messages alone are nothing else."""
    run = get_run_or_404(request, slug, run_id)
    chosen = understood(EffectSelectionForm, request.GET)
    at = chosen.get("at", 1)
    seq, stand = next_change(run, at, run.last_seq)
    if seq is None and stand >= run.last_seq and at > 1:
        seq, stand = next_change(run, 0, at)
    if seq is not None:
        chosen["req"] = "changes"
    elif stand in (at, run.last_seq):
        seq = at
        if request.headers.get("HX-Request"):
            return _stay(NONE_CHANGED)
        messages.info(request, NONE_CHANGED)
    else:
        seq = stand
        messages.info(request, f"None up to #{stand:,}. Ask again to look further.")
    query = f"at={seq}{ListState.of(chosen).query}"
    address = f"{reverse('runs:detail', args=[slug, run_id])}?{query}"
    if request.headers.get("HX-Current-URL", "").endswith(address):
        return _stay("No other model call here asks otherwise than the one before it.")
    return _lead(request, address)


NONE_CHANGED = "No model call here asks otherwise than the one before it, new messages aside."


def next_change(run: Run, after: int, until: int) -> tuple[int | None, int]:
    """The first such call behind one position and up to another, and how far was looked."""
    calls = _calls(run, after, until)
    around = read_stretch(run, after - 100, after)
    last: dict[tuple[str, str], tuple[Request, Answer] | None] = {}
    room = BYTES
    for call in calls:
        conversation = (call.key, call.scope)
        if conversation not in last and len(last) < CONVERSATIONS:
            last[conversation] = _before(call, around)
        room -= call.length
        if room < 0:
            return None, call.seq
        asked, said = _read(call)
        before = last.get(conversation)
        if before is not None and is_changed(before, asked):
            return call.seq, call.seq
        last[conversation] = asked, said
    return None, calls[-1].seq if len(calls) == CALLS else until


def is_changed(before: tuple[Request, Answer], asked: Request) -> bool:
    """Whether more than new messages tells a request from the one before it."""
    found = changes(before[0], asked, before[1])
    return bool(found.gone or found.tools or found.facts)


def _calls(run: Run, after: int, until: int) -> tuple[Row, ...]:
    calls = Effect.objects.filter(run_id=run.pk, family=Family.COMPLETION)
    within = calls.filter(seq__gt=after, seq__lte=until).order_by("seq")
    return read_rows(run, list(within.values_list("seq", flat=True)[:CALLS]))


def _before(call: Row, around: Stretch) -> tuple[Request, Answer] | None:
    alike = {"family": [call.family], "key": [call.key], "scope": [call.scope]}
    row = around.before(call.seq, **alike)
    return None if row is None else _read(row)


def _read(row: Row) -> tuple[Request, Answer]:
    record = record_of(row)
    return request_view(record), answer_view(record)
