"""Search for programs: the effects that have what was asked for, newest first."""

from __future__ import annotations

from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from runs.api import docs
from runs.api.auth import project_of
from runs.api.read import ReadView, number
from runs.models import EffectStatus, Family
from runs.search import indexing
from runs.search.find import Hit, find
from runs.search.query import Query, parse
from runs.strangers import only

MAX_HITS = 100


class RunOfHit(serializers.Serializer[Any]):
    id = serializers.CharField()
    agent = serializers.CharField()
    name = serializers.CharField()
    title = serializers.CharField()
    started_at = serializers.DateTimeField(allow_null=True)


class ShownHit(serializers.Serializer[Any]):
    run = RunOfHit()
    seq = serializers.IntegerField()
    family = docs.one_of(Family.values)
    name = serializers.CharField()
    status = docs.one_of(EffectStatus.values)
    url = serializers.CharField(help_text="The effect in its run, the hit marked.")
    excerpt = serializers.CharField()
    marked = serializers.ListField(child=serializers.CharField(), help_text="Hits in `excerpt`.")


class Waiting(serializers.Serializer[Any]):
    runs = serializers.IntegerField(help_text="Runs with effects that are not searched yet.")
    more = serializers.BooleanField(help_text="There are more than were counted.")


class SearchPage(serializers.Serializer[Any]):
    results = ShownHit(many=True)
    next = serializers.CharField(allow_null=True, help_text="`cursor` of the next page.")
    is_cut = serializers.BooleanField(
        help_text="Looking took long: older effects were not looked at yet; `next` goes on there."
    )
    waiting = Waiting()


def _parameter(name: str, text: str, kind: Any = OpenApiTypes.STR) -> OpenApiParameter:
    return OpenApiParameter(name, kind, OpenApiParameter.QUERY, description=text)


class SearchView(ReadView):
    @extend_schema(
        operation_id="search",
        summary="Search in what effects said and were told, newest first",
        tags=["Runs"],
        parameters=[
            _parameter("q", 'Words, "phrases" and beginnings*; all of them must be there'),
            _parameter("cursor", "`next` of the page before"),
            _parameter("limit", "1 to 100; left out: 25", OpenApiTypes.INT),
        ],
        responses={200: SearchPage, **docs.errors(422)},
    )
    def get(self, request: Request) -> Response:
        only(request.query_params, "q", "cursor", "limit")
        project = project_of(request)
        query = _query(request)
        after = number(request, "cursor", 0, 1, 10**18 - 1) or None
        limit = number(request, "limit", 25, 1, MAX_HITS)
        found = find(project, query, after=after, limit=limit)
        lag = indexing.lag(project)
        return Response(
            {
                "results": [_shown(hit, project.slug, query) for hit in found.hits],
                "next": str(found.next) if found.next else None,
                "is_cut": found.is_cut,
                "waiting": {"runs": lag.runs, "more": lag.more},
            }
        )


def _query(request: Request) -> Query:
    return parse(request.query_params.get("q", ""))


def _shown(hit: Hit, slug: str, query: Query) -> dict[str, Any]:
    run = hit.run
    return {
        "run": {
            "id": run.external_id,
            "agent": run.agent,
            "name": run.name,
            "title": run.title,
            "started_at": run.started_at,
        },
        "seq": hit.effect.seq,
        "family": hit.effect.family,
        "name": hit.effect.name,
        "status": hit.effect.status,
        "url": hit.url(slug, query),
        "excerpt": str(hit.excerpt),
        "marked": hit.excerpt.marked,
    }
