"""`/api/v1/replays`: plan, start, look at, cancel and retry."""

from __future__ import annotations

from typing import Any, ClassVar

from django.db.models import QuerySet, prefetch_related_objects
from django.http import Http404
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from replay import jobs
from replay.api import docs
from replay.api.asking import asker_of, named, read_json
from replay.api.paging import bounded, flag, keyset, word
from replay.api.shapes import planned_shape, replay_line, replay_shape, row_shape, sample_shape
from replay.models import Replay, ReplayEffect, ReplayMode, ReplayStatus
from replay.modes import samples
from replay.questions import read_question
from replay.start import plans, start
from runs.accounts.models import Scope
from runs.api.auth import project_id_of
from runs.models import Run
from runs.refusals import Refused
from runs.strangers import only


class ReplaysView(APIView):
    @property
    def scope(self) -> Scope:
        return Scope.REPLAY if self.request.method == "POST" else Scope.READ

    @docs.list_replays
    def get(self, request: Request) -> Response:
        replays = Replay.objects.filter(project_id=project_id_of(request)).visible().for_list()
        replays = replays.select_related("project", "experiment")
        replays = replays.filter(**_filters(request))
        only(request.query_params, *_CHOICES, *_NAMES, "cursor", "limit")
        page = keyset(replays, request)
        return Response({"results": [replay_line(one) for one in page.rows], "next": page.next})

    @docs.start_replays
    def post(self, request: Request) -> Response:
        question = read_question(read_json(request))
        run = _run(request, question.run)
        if question.plan_only:
            return Response(_together([planned_shape(one) for one in plans(run, question)], None))
        started = start(run, question, asker_of(request))
        mark = started.experiment.public_id if started.experiment else None
        shapes = [replay_shape(_fresh(one.public_id)) for one in started.replays]
        status = 201 if started.created else 200
        return Response(_together(shapes, mark), status=status)


class ReplayView(APIView):
    scope: ClassVar[Scope] = Scope.READ

    @docs.get_replay
    def get(self, request: Request, replay_id: str) -> Response:
        return Response(replay_shape(_replay(request, replay_id)))


class ReplayEffectsView(APIView):
    scope: ClassVar[Scope] = Scope.READ

    @docs.list_rows
    def get(self, request: Request, replay_id: str) -> Response:
        replay = _replay(request, replay_id)
        only(request.query_params, "changed", "ignored", "after", "limit")
        rows = ReplayEffect.objects.filter(replay=replay).for_list()
        if flag(request, "changed"):
            rows = rows.changed()
        if flag(request, "ignored"):
            rows = rows.ignored()
        after, limit = bounded(request, "after", 0), bounded(request, "limit", 100, most=1000)
        found = list(rows.filter(seq__gt=after)[: limit + 1])
        following = found[limit - 1].seq if len(found) > limit else None
        return Response({"results": [row_shape(r) for r in found[:limit]], "next": following})


class ReplaySamplesView(APIView):
    scope: ClassVar[Scope] = Scope.READ

    @docs.list_samples
    def get(self, request: Request, replay_id: str, seq: int) -> Response:
        """Every answer to one call; of a call that is asked once there are none beside the row."""
        rows = ReplayEffect.objects.filter(replay=_replay(request, replay_id), seq=seq)
        row = rows.only("pk").first()
        if row is None:
            raise Http404
        kept = samples.kept(row)
        prefetch_related_objects(kept, "baseline")
        return Response({"results": [sample_shape(one) for one in kept]})


class CancellationView(APIView):
    scope: ClassVar[Scope] = Scope.REPLAY

    @docs.cancel_replay
    def post(self, request: Request, replay_id: str) -> Response:
        """Cancelling what is over changes nothing and is no error."""
        replay = _replay(request, replay_id)
        jobs.cancel(replay)
        return Response(replay_shape(_fresh(replay.public_id)))


class RetryView(APIView):
    scope: ClassVar[Scope] = Scope.REPLAY

    @docs.retry_replay
    def post(self, request: Request, replay_id: str) -> Response:
        replay = _replay(request, replay_id)
        if not jobs.retry(replay):
            text = f"Only what has ended without every answer is retried; this is {replay.status}."
            raise Refused("conflict", text)
        return Response(replay_shape(_fresh(replay.public_id)))


def _run(request: Request, run_id: str) -> Run:
    run = Run.objects.filter(project_id=project_id_of(request), external_id=run_id)
    found = run.select_related("project").first()
    if found is None:
        raise Refused("not_found", "There is no run of this id.", field="run")
    return found


def _replay(request: Request, replay_id: str) -> Replay:
    mine = _whole().filter(project_id=project_id_of(request))
    replay = mine.filter(public_id=replay_id).first()
    if replay is None:
        raise Http404
    return replay


def _fresh(public_id: str) -> Replay:
    return _whole().get(public_id=public_id)


def _whole() -> QuerySet[Replay]:
    return Replay.objects.visible().select_related("project", "run", "experiment")


def _together(shapes: list[dict[str, Any]], experiment: str | None) -> dict[str, Any]:
    """One replay as it is, several as an experiment."""
    return shapes[0] if len(shapes) == 1 else {"experiment": experiment, "replays": shapes}


_CHOICES: dict[str, list[str]] = {"status": ReplayStatus.values, "mode": ReplayMode.values}
_NAMES = {"run": "run__external_id", "experiment": "experiment__public_id"}


def _filters(request: Request) -> dict[str, str]:
    found = {}
    for name, allowed in _CHOICES.items():
        value = word(request, name)
        if value is not None and value not in allowed:
            raise Refused("invalid", f"`{name}` is one of {', '.join(allowed)}.", field=name)
        found[name] = value
    given = {column: value for column, value in found.items() if value is not None}
    return given | named(request, _NAMES)
