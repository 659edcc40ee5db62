"""`/api/v1/experiments` and `/api/v1/datasets`: plan, start, look at, stop, add to, take away."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, TypeVar

from django.db import transaction
from django.db.models import Model, QuerySet
from django.http import Http404, StreamingHttpResponse
from django.http.response import HttpResponseBase
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from replay import jobs
from replay.api import experiment_docs as docs
from replay.api.asking import asker_of, read_json
from replay.api.experiment_shapes import (
    candidate_shape,
    dataset_shape,
    experiment_line,
    experiment_shape,
    line_shape,
)
from replay.api.paging import Page, bounded, keyset, word
from replay.experiments import datasets, export, planning
from replay.experiments.asked import Asked, read_asked, read_more, read_run_ids
from replay.experiments.gate import read_query
from replay.experiments.matrix import CLASS_CHOICES, SORTS, STATUS_CHOICES, Picked, window
from replay.experiments.models import Dataset
from replay.experiments.opening import add, start
from replay.experiments.reading import dataset_of, experiment_of, runs_in, runs_of
from replay.experiments.summary import summary
from replay.models import Experiment
from replay.plan import refuse
from replay.start import hold_to
from runs.accounts.models import Project, Scope
from runs.api.auth import project_id_of, project_of
from runs.models import Run
from runs.refusals import Refused
from runs.strangers import only

M = TypeVar("M", bound=Model)
CHUNK = 64 * 1024


class ReadOrReplay(APIView):
    """To look takes `read`, anything else `replay`."""

    @property
    def scope(self) -> Scope:
        return Scope.READ if self.request.method in ("GET", "HEAD") else Scope.REPLAY


class ExperimentsView(ReadOrReplay):
    @docs.list_experiments
    def get(self, request: Request) -> Response:
        mine = Experiment.objects.filter(project=project_id_of(request))
        page = _page(mine.select_related("project", "dataset"), request)
        return Response({"results": [experiment_line(one) for one in page.rows], "next": page.next})

    @docs.start_experiment
    def post(self, request: Request) -> Response:
        asked, project = read_asked(read_json(request)), project_of(request)
        dataset = dataset_of(project, asked.dataset) if asked.dataset else None
        plan = planning.make(project, _runs(project, asked, dataset), asked.candidates)
        if asked.plan_only:
            return Response({"id": None, "url": None, "status": "planned", "plan": plan.shown})
        refuse(plan.errors)
        hold_to(asked.max_calls, plan.shown["calls"]["total"])
        experiment, new = start(
            project, plan, asker_of(request), name=asked.name, gate=asked.gate, dataset=dataset
        )
        shape = {**_shape(_experiment(request, experiment.public_id)), "plan": plan.shown}
        return Response(shape, status=201 if new else 200)


def _runs(project: Project, asked: Asked, dataset: Dataset | None) -> list[Run]:
    return runs_of(project, asked.runs) if dataset is None else runs_in(dataset)


class ExperimentView(APIView):
    scope: ClassVar[Scope] = Scope.READ

    @docs.get_experiment
    def get(self, request: Request, experiment_id: str) -> Response:
        return Response(_shape(_experiment(request, experiment_id), request))


class MatrixView(APIView):
    scope: ClassVar[Scope] = Scope.READ

    @docs.get_matrix
    def get(self, request: Request, experiment_id: str) -> Response:
        known = ("candidate", "sort", "class", "status", "cursor", "limit")
        only(request.query_params, *known)
        experiment = _experiment(request, experiment_id)
        candidates = list(experiment.candidates.order_by("place"))
        picked = _picked(request, len(candidates))
        limit = bounded(request, "limit", 50, most=200)
        cursor = word(request, "cursor") or ""
        found = window(experiment, candidates, picked, cursor, limit, latencies=True)
        return Response(
            {
                "candidates": [candidate_shape(one) for one in candidates],
                "results": [line_shape(line) for line in found.lines],
                "next": found.next,
            }
        )


def _picked(request: Request, candidates: int) -> Picked:
    candidate = bounded(request, "candidate", 0, most=candidates)
    if "candidate" in request.query_params and not candidate:
        raise Refused("invalid", "Candidates are counted from 1.", field="candidate")
    return Picked(
        _choice(request, "sort", SORTS) or SORTS[0],
        _choice(request, "class", CLASS_CHOICES),
        _choice(request, "status", STATUS_CHOICES),
        candidate or None,
    )


def _choice(request: Request, name: str, choices: tuple[str, ...]) -> str:
    value = word(request, name)
    if value is not None and value not in choices:
        raise Refused("invalid", f"`{name}` is one of {', '.join(choices)}.", field=name)
    return value or ""


class ExperimentCancelView(APIView):
    scope: ClassVar[Scope] = Scope.REPLAY

    @docs.cancel_experiment
    def post(self, request: Request, experiment_id: str) -> Response:
        """Stopping what is over changes nothing and is no error."""
        jobs.cancel_all(_experiment(request, experiment_id))
        return Response(_shape(_experiment(request, experiment_id)))


class ExperimentRetryView(APIView):
    scope: ClassVar[Scope] = Scope.REPLAY

    @docs.retry_experiment
    def post(self, request: Request, experiment_id: str) -> Response:
        if not jobs.retry_all(_experiment(request, experiment_id)):
            raise Refused("conflict", "No replay of it has ended without every answer.")
        return Response(_shape(_experiment(request, experiment_id)))


class CandidatesView(APIView):
    scope: ClassVar[Scope] = Scope.REPLAY

    @docs.add_candidates
    def post(self, request: Request, experiment_id: str) -> Response:
        experiment = _experiment(request, experiment_id)
        wanted, plan_only, max_calls = read_more(read_json(request))
        rows = experiment.rows.filter(run__deleted_at=None).select_related("run")
        runs = [row.run for row in rows.order_by("place")]
        plan = planning.make(experiment.project, runs, wanted)
        if plan_only:
            return Response({"added": 0, "plan": plan.shown})
        refuse(plan.errors)
        hold_to(max_calls, plan.shown["calls"]["total"])
        added = add(experiment, plan, asker_of(request))
        shape = _shape(_experiment(request, experiment_id))
        status = 201 if added else 200
        return Response({**shape, "added": added, "plan": plan.shown}, status=status)


class ExperimentExportView(APIView):
    scope: ClassVar[Scope] = Scope.READ

    @docs.export_experiment
    def get(self, request: Request, experiment_id: str) -> HttpResponseBase:
        experiment = _experiment(request, experiment_id)
        kind = _choice(request, "format", ("csv", "json")) or "json"
        return exported(experiment, kind)


def exported(experiment: Experiment, kind: str) -> StreamingHttpResponse:
    """The file, made while it is sent."""
    if kind == "csv":
        pieces, media = export.as_csv(experiment, line_shape), "text/csv; charset=utf-8"
    else:
        pieces = export.as_json(_shape(experiment), experiment, line_shape)
        media = "application/json"
    answer = StreamingHttpResponse(_in_chunks(pieces), content_type=media)
    answer["Content-Disposition"] = f'attachment; filename="{experiment.public_id}.{kind}"'
    return answer


def _in_chunks(pieces: Iterator[bytes]) -> Iterator[bytes]:
    held = bytearray()
    for piece in pieces:
        held += piece
        if len(held) >= CHUNK:
            yield bytes(held)
            held.clear()
    yield bytes(held)


class DatasetsView(ReadOrReplay):
    @docs.list_datasets
    def get(self, request: Request) -> Response:
        page = _page(datasets.listed(project_of(request)), request)
        shapes = [dataset_shape(one, one.size) for one in page.rows]  # type: ignore[attr-defined]
        return Response({"results": shapes, "next": page.next})

    @docs.keep_dataset
    def post(self, request: Request) -> Response:
        body, project = read_json(request), project_of(request)
        if not isinstance(body, dict) or body.keys() - {"name", "runs"}:
            raise Refused("invalid", "Send an object with `name` and `runs`.")
        if not isinstance(body.get("runs"), list) or not body["runs"]:
            raise Refused("invalid", "Send a list of ids of runs.", "runs")
        runs = runs_of(project, read_run_ids(body["runs"]))
        dataset = datasets.keep(project, body.get("name", ""), runs, asker_of(request).user)
        return Response(dataset_shape(dataset, len(runs)), status=201)


class DatasetView(ReadOrReplay):
    @docs.get_dataset
    def get(self, request: Request, dataset_id: str) -> Response:
        dataset = dataset_of(project_of(request), dataset_id)
        runs = [run.external_id for run in runs_in(dataset)]
        return Response({**dataset_shape(dataset, len(runs)), "run_ids": runs})

    @docs.rename_dataset
    def patch(self, request: Request, dataset_id: str) -> Response:
        """All of it or nothing: `name` is another name, `add` and `remove` are ids of runs."""
        project, body = project_of(request), read_json(request)
        dataset = dataset_of(project, dataset_id)
        if not isinstance(body, dict) or not body or body.keys() - {"name", "add", "remove"}:
            raise Refused("invalid", "Send an object with `name`, `add` or `remove`.")
        added, removed = (_ids_of(body, name) for name in ("add", "remove"))
        runs = runs_of(project, added, "add")
        with transaction.atomic():
            if "name" in body:
                datasets.rename(dataset, body["name"])
            datasets.take_out(dataset, removed)
            datasets.add(dataset, runs)
        return Response(dataset_shape(dataset, len(runs_in(dataset))))

    @docs.delete_dataset
    def delete(self, request: Request, dataset_id: str) -> Response:
        datasets.remove(dataset_of(project_of(request), dataset_id))
        return Response(status=204)


def _ids_of(body: dict[str, Any], name: str) -> tuple[str, ...]:
    value = body.get(name, [])
    if not isinstance(value, list):
        raise Refused("invalid", "Send a list of ids of runs.", name)
    return read_run_ids(value, name)


def _experiment(request: Request, experiment_id: str) -> Experiment:
    found = experiment_of(project_id_of(request), experiment_id)
    if found is None:
        raise Http404
    return found


def _shape(experiment: Experiment, request: Request | None = None) -> dict[str, Any]:
    given = request.query_params if request is not None else {}
    return experiment_shape(summary(experiment), read_query(given, experiment.gate))


def _page(rows: QuerySet[M], request: Request) -> Page[M]:
    """Newest first, as `cursor` and `limit` name them."""
    only(request.query_params, "cursor", "limit")
    return keyset(rows.order_by("-pk"), request)
