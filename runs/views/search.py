"""Searching in everything effects said and were told: the page, and finding in one run."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.utils.http import urlencode
from django.views.decorators.http import require_safe

from runs.access import get_project_or_404, get_run_or_404
from runs.accounts.models import Project
from runs.search import indexing
from runs.search.find import find, find_in_run
from runs.search.query import Query, QueryProblem, parse
from runs.strangers import told

HITS = 25
IN_RUN = 200


@require_safe
def search(request: HttpRequest, slug: str) -> HttpResponse:
    project = get_project_or_404(request, slug)
    asked = request.GET.get("q", "")
    context: dict[str, Any] = {"asked": asked, "lag": indexing.lag(project)}
    context |= told(request.GET, ("q", "after"))
    if asked.strip():
        context |= _answer(request, project, asked)
    return render(request, "runs/search.html", context)


def _answer(request: HttpRequest, project: Project, asked: str) -> dict[str, Any]:
    query, problem = _understood(asked)
    if query is None:
        return {"problem": problem}
    after = _whole(request.GET.get("after", ""))
    found = find(project, query, after=after, limit=HITS)
    more = urlencode({"q": asked, "after": str(found.next)}) if found.next else ""
    rows = [(hit, hit.url(project.slug, query)) for hit in found.hits]
    return {"found": found, "rows": rows, "more": more, "is_first": after is None}


@require_safe
def find_in(request: HttpRequest, slug: str, run_id: str) -> HttpResponse:
    """The effects of a run that have `q`, in order: `{"hits": [{"seq", "excerpt", …}], "next"}`.

    `after` is a position to go on behind; `waiting` says that some of the run is not searched yet.
    """
    run = get_run_or_404(request, slug, run_id)
    query, problem = _understood(request.GET.get("q", ""))
    if query is None:
        return JsonResponse(
            {"error": {"code": "invalid", "message": problem, "field": "q"}}, status=422
        )
    after = _whole(request.GET.get("after", "")) or 0
    hits = find_in_run(run, query, after=after, limit=IN_RUN + 1)
    shown = [
        {"seq": hit.effect.seq, "excerpt": str(hit.excerpt), "marked": hit.excerpt.marked}
        for hit in hits[:IN_RUN]
    ]
    return JsonResponse(
        {
            "hits": shown,
            "next": shown[-1]["seq"] if len(hits) > IN_RUN else None,
            "waiting": indexing.is_behind(run),
        }
    )


def _understood(asked: str) -> tuple[Query | None, str]:
    try:
        return parse(asked), ""
    except QueryProblem as problem:
        return None, str(problem)


def _whole(text: str) -> int | None:
    """A place to go on from; anything else starts anew."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None
