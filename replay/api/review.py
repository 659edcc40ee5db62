"""`/api/v1/divergences` and `/api/v1/verdicts/export`: what a team decided, for programs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import orjson
from django.db.models import Count, Q, QuerySet
from django.http import Http404, StreamingHttpResponse
from django.urls import reverse
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from replay.api import review_docs as docs
from replay.api.asking import decider_of, named, read_json
from replay.api.baselines import line
from replay.api.paging import bounded, keyset, word
from replay.comparison.differences import Difference
from replay.models import Experiment, Replay, ReplayStatus
from replay.review import deciding, reading
from replay.review.models import COUNTED, Baseline, Cluster, Divergence, ReviewEvent, State
from replay.review.people import Decider
from replay.review.turns import minimum_of
from runs.accounts.models import Project, Scope
from runs.api.auth import project_id_of, project_of
from runs.refusals import Refused, not_unkept
from runs.strangers import only

BATCH = 1000
_THINGS = {
    "run": "run__external_id",
    "replay": "replay__public_id",
    "experiment": "replay__experiment__public_id",
}
"""Filters that name one thing → its id as a column of a divergence."""
_FILTERS = (*_THINGS, "agent", "state", "class", "cluster")


class DivergencesView(APIView):
    scope: ClassVar[Scope] = Scope.READ

    @docs.list_divergences
    def get(self, request: Request) -> Response:
        only(request.query_params, *_FILTERS, "cursor", "limit")
        found = _filtered(request, named(request, _THINGS)).order_by("-pk")
        page, slug = keyset(found, request), project_of(request).slug
        return Response({"results": [_shape(row, slug) for row in page.rows], "next": page.next})


class VerdictView(APIView):
    scope: ClassVar[Scope] = Scope.REPLAY

    @docs.give_verdict
    def post(self, request: Request, divergence_id: str) -> Response:
        divergence = _mine(request).filter(public_id=divergence_id).first()
        if divergence is None:
            raise Http404
        asked = _asked(request)
        try:
            event = _decide(divergence, asked, decider_of(request))
        except deciding.AlreadyDecided as first:
            raise Refused("conflict", str(first), "version") from None
        now = _mine(request).get(pk=divergence.pk)
        shape = _shape(now, project_of(request).slug)
        return Response({**shape, "decided": event.count})


class ExportView(APIView):
    scope: ClassVar[Scope] = Scope.READ

    @docs.export_verdicts
    def get(self, request: Request) -> StreamingHttpResponse:
        only(request.query_params, *_FILTERS)
        things = named(request, _THINGS)
        found = _filtered(request, things)
        project = project_of(request)
        counts, replays = _counts(found), _replays(project, things)
        head = {
            "project": project.slug,
            "minimum_class": minimum_of(project.pk),
            "counts": counts,
            "replays": replays,
            "passed": None if "state" in request.query_params else _passed(counts, replays),
        }
        baselines = reading.baselines(project.pk).filter(revoked_at=None, **_of_runs(request))
        pieces = _document(head, found, baselines)
        answer = StreamingHttpResponse(pieces, content_type="application/json")
        answer["Content-Disposition"] = f'inline; filename="{project.slug}.verdicts.json"'
        return answer


# --- Asked -------------------------------------------------------------------------------------


def _mine(request: Request) -> QuerySet[Divergence]:
    mine = Divergence.objects.filter(project_id=project_id_of(request), run__deleted_at=None)
    return mine.select_related("cluster", "run", "replay__experiment", "decision")


def _filtered(request: Request, things: dict[str, str]) -> QuerySet[Divergence]:
    wanted: dict[str, Any] = {
        **things,
        "cluster": _cluster(request),
        "cluster__agent": word(request, "agent"),
        "state": _one_of(request, "state", list(State.values)),
        "difference": _one_of(request, "class", [d.value for d in Difference]),
    }
    given = {column: value for column, value in wanted.items() if value is not None}
    found = _mine(request).filter(**given)
    return found.defer("replay__plan", "replay__proof", "replay__mismatches")


def _cluster(request: Request) -> int | None:
    if "cluster" not in request.query_params:
        return None
    pk = bounded(request, "cluster", 0)
    if not Cluster.objects.filter(project_id=project_id_of(request), pk=pk).exists():
        raise Refused("not_found", "There is no cluster of this id.", "cluster")
    return pk


def _replays(project: Project, things: dict[str, str]) -> dict[str, int] | None:
    """How many of the replays that are asked about stand where; None where none is named."""
    if not things:
        return None
    those = {column.removeprefix("replay__"): value for column, value in things.items()}
    found = Replay.objects.filter(project=project, run__deleted_at=None, **those)
    return dict(found.order_by().values_list("status").annotate(Count("pk")))


def _passed(counts: dict[str, int], replays: dict[str, int] | None) -> bool:
    """Nothing waits or is a regression, and the replays asked about, at least one, succeeded."""
    decided = not (counts[State.OPEN] or counts[State.REGRESSION])
    return decided and (replays is None or set(replays) == {ReplayStatus.SUCCEEDED})


def _one_of(request: Request, name: str, allowed: list[str]) -> str | None:
    value = word(request, name)
    if value is not None and value not in allowed:
        raise Refused("invalid", f"`{name}` is one of {', '.join(allowed)}.", field=name)
    return value


def _of_runs(request: Request) -> dict[str, str]:
    """Baselines have no replay of their own to be asked for; of a run they are its own."""
    run = word(request, "run")
    return {} if run is None else {"run__external_id": run}


@dataclass(frozen=True, slots=True)
class _Asked:
    """A verdict as it was sent: on one, on its `whole` cluster, or on what an experiment found of
    that; `seen` is the version that was looked at, None if that was not said."""

    ruling: deciding.Ruling
    whole: bool
    of: Experiment | None
    seen: int | None


def _asked(request: Request) -> _Asked:
    sent = read_json(request)
    if not isinstance(sent, dict):
        raise Refused("invalid", "Expected an object.")
    only(sent, "verdict", "reason", "of", "version", "baseline", "experiment")
    verdict, reason = (_of_kind(sent, name, str, "") for name in ("verdict", "reason"))
    baseline = _of_kind(sent, "baseline", bool, True)
    seen = _of_kind(sent, "version", int, None)
    scope = _of_kind(sent, "of", str, "one")
    if scope not in ("one", "cluster"):
        raise Refused("invalid", "`of` is one or cluster.", "of")
    ruling = deciding.checked(verdict, reason, baseline=baseline)
    return _Asked(ruling, scope == "cluster", _experiment(request, sent, scope), seen)


def _experiment(request: Request, sent: dict[str, Any], scope: str) -> Experiment | None:
    public_id = _of_kind(sent, "experiment", str, None)
    if public_id is None:
        return None
    if scope != "cluster":
        raise Refused("invalid", "`experiment` narrows a verdict `of` a cluster.", "experiment")
    mine = Experiment.objects.filter(project=project_id_of(request))
    not_unkept(public_id, "experiment")
    found = mine.filter(public_id=public_id).first()
    if found is None:
        raise Refused("not_found", "There is no experiment of this id.", "experiment")
    return found


def _of_kind(sent: dict[str, Any], name: str, kind: type, default: Any) -> Any:
    value = sent.get(name)
    if value is None:
        return default
    if type(value) is not kind:
        raise Refused("invalid", f"`{name}` is {_KINDS[kind]}.", name)
    return value


_KINDS = {str: "a text", int: "a whole number", bool: "true or false"}


def _decide(divergence: Divergence, asked: _Asked, by: Decider) -> ReviewEvent:
    """Without a version it is decided as things stand now, but never over somebody's verdict."""
    ruling, seen = asked.ruling, asked.seen
    if not asked.whole:
        if seen is None and divergence.state != State.OPEN:
            raise deciding.AlreadyDecided(divergence.decision)
        version = divergence.version if seen is None else seen
        return deciding.decide(divergence, ruling, by, seen=version)
    cluster = divergence.cluster
    newest = reading.newest_open(cluster)
    version = cluster.version if seen is None else seen
    return deciding.decide_cluster(cluster, ruling, by, seen=version, up_to=newest, of=asked.of)


# --- Shown -------------------------------------------------------------------------------------


def _shape(one: Divergence, slug: str) -> dict[str, Any]:
    return {
        **_line(one),
        "url": reverse("replay:divergence", args=[slug, one.public_id]),
        "summary": one.summary,
        "version": one.version,
        "cluster": {
            "id": str(one.cluster_id),
            "version": one.cluster.version,
            "cause": one.cluster.cause,
            "open": one.cluster.open_count,
        },
        "created_at": one.created_at,
    }


def _line(one: Divergence) -> dict[str, Any]:
    """What the list and the export both say."""
    decision, experiment = one.decision, one.replay.experiment
    return {
        "id": one.public_id,
        "run": one.run.external_id,
        "replay": one.replay.public_id,
        "experiment": experiment.public_id if experiment else None,
        "model": one.replay.candidate or None,
        "seq": one.seq,
        "class": one.difference,
        "agent": one.cluster.agent or None,
        "effect_key": one.cluster.effect_key or None,
        "state": one.state,
        "current": one.is_current,
        "reason": decision.reason if decision else None,
        "decided_by": decision.signed if decision else None,
        "decided_at": decision.created_at if decision else None,
    }


def _counts(found: QuerySet[Divergence]) -> dict[str, int]:
    """Of what holds now: what a retry answered anew is told among the verdicts alone."""
    names = found.filter(is_current=True).order_by().values_list("state")
    counts = dict(names.annotate(Count("pk")))
    return {state.value: counts.get(state, 0) for state in COUNTED}


def _document(
    head: dict[str, Any], found: QuerySet[Divergence], baselines: QuerySet[Baseline]
) -> Iterator[bytes]:
    decided = found.filter(~Q(state__in=(State.OPEN, State.RESOLVED)))
    yield orjson.dumps(head)[:-1] + b',"verdicts":['
    yield from _rows(decided, lambda one: {**_line(one), "cluster": str(one.cluster_id)})
    yield b'],"baselines":['
    yield from _rows(baselines.defer("answer"), line)
    yield b"]}"


def _rows(found: QuerySet[Any], shape: Any) -> Iterator[bytes]:
    """Rows in the order they were made, some at a time."""
    last, gap = 0, b""
    while rows := list(found.order_by("pk").filter(pk__gt=last)[:BATCH]):
        last = rows[-1].pk
        told = [orjson.dumps(shape(row), option=orjson.OPT_UTC_Z) for row in rows]
        yield gap + b",".join(told)
        gap = b","
