"""Runs read by programs: the same querysets and filters as the pages."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, ClassVar

import orjson
from django.http import HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from runs import bulk, curate, logs
from runs.accounts.models import Scope
from runs.api import docs, shapes
from runs.api.auth import project_id_of, project_of
from runs.api.ingest import EffectsIn, RunsIn
from runs.lists.filters import RunFilterForm, read_filters
from runs.lists.listed import page_of
from runs.lists.paging import Cursor, Order
from runs.models import Effect, Family, Run
from runs.prepared import read
from runs.refusals import Refused
from runs.storage import segments
from runs.strangers import only

MAX_RUNS = 200
MAX_EFFECTS = 1000
_DEFAULT = 50
_LISTED_BY = (*(name for name in RunFilterForm.base_fields if name != "after"), "cursor", "limit")
_INTEGER = re.compile(r"-?[0-9]{1,18}")


class ReadView(APIView):
    scope: ClassVar[Scope] = Scope.READ

    def run(self, request: Request, run_id: str) -> Run:
        run = Run.objects.filter(project_id=project_id_of(request), external_id=run_id).first()
        if run is None:
            raise Refused("not_found", "There is no run of this id.")
        return run

    def run_key(self, request: Request, run_id: str) -> int:
        """The primary key of the run, for what needs no more of it."""
        its = {"project_id": project_id_of(request), "external_id": run_id}
        found = bulk.find(Run, ("id", "deleted_at"), **its)
        if found is None or found[1] is not None:
            raise Refused("not_found", "There is no run of this id.")
        return int(found[0])


class RunsView(RunsIn):
    """The list of runs, and the door for new ones."""

    @property
    def scope(self) -> Scope:  # type: ignore[override]
        return Scope.INGEST if self.request.method == "POST" else Scope.READ

    @docs.list_runs
    def get(self, request: Request) -> HttpResponseBase:
        project = project_of(request)
        form = _filters(request)
        order = form.order
        found = page_of(
            project,
            form.filters,
            shapes.LISTED,
            after=_cursor(request, "cursor", order),
            before=_cursor(request, "before", order),
            limit=number(request, "limit", _DEFAULT, 1, MAX_RUNS),
            order=order,
        )
        return _json(
            {
                "results": [shapes.run_in_list(run, project.slug) for run in found.runs],
                "next": _text(found.next),
                "previous": _text(found.previous),
            }
        )


class RunView(ReadView):
    """One run: read, or deleted."""

    @property
    def scope(self) -> Scope:  # type: ignore[override]
        return Scope.ADMIN if self.request.method == "DELETE" else Scope.READ

    @docs.read_run
    def get(self, request: Request, run_id: str) -> Response:
        return Response(shapes.run_alone(self.run(request, run_id), project_of(request).slug))

    @docs.delete_run
    def delete(self, request: Request, run_id: str) -> Response:
        curate.delete_run(self.run(request, run_id))
        return Response(status=204)


class EffectsView(EffectsIn, ReadView):
    """A run's effects, and the door for more."""

    @property
    def scope(self) -> Scope:  # type: ignore[override]
        return Scope.INGEST if self.request.method == "POST" else Scope.READ

    @docs.list_effects
    def get(self, request: Request, run_id: str) -> HttpResponseBase:
        only(request.query_params, "after", "limit", "family")
        after = number(request, "after", -1, -1, 2**31 - 1)
        limit = number(request, "limit", 100, 1, MAX_EFFECTS)
        effects = Effect.objects.filter(run_id=self.run_key(request, run_id))
        if family := request.query_params.get("family"):
            effects = effects.filter(family__in=_families(family))
        rows = read(effects.after(after, limit + 1).values_list(*shapes.EFFECT_ROW))
        found = [shapes.effect(row) for row in rows[:limit]]
        more = len(rows) > limit
        return _json({"results": found, "next": str(found[-1]["seq"]) if more else None})


class EffectView(ReadView):
    @docs.read_effect
    def get(self, request: Request, run_id: str, seq: str) -> HttpResponseBase:
        run = self.run_key(request, run_id)
        effect = bulk.get(Effect, run_id=run, seq=int(seq))
        if effect is None:
            raise Refused("not_found", "There is no effect at this position.")
        wire = segments.read_wire(effect)
        facts = _encoded(shapes.effect(shapes.row_of(effect)))
        body = [facts[:-1], b',"record":', segments.read(effect)]
        body += [b',"wire":', wire or b"null", b"}"]
        return HttpResponse(b"".join(body), content_type="application/json")


class LogView(ReadView):
    @docs.read_log
    def get(self, request: Request, run_id: str) -> HttpResponseBase:
        run = self.run(request, run_id)
        kind = request.query_params.get("format", "json")
        if kind == "jsonl":
            return _stream(logs.as_lines(run), f"{run_id}.effects.jsonl", "application/x-ndjson")
        if kind != "json":
            raise Refused("invalid", "Expected json or jsonl.", "format")
        return _stream(logs.as_json(run), f"{run_id}.effects.json")


class ExportView(ReadView):
    @docs.export_run
    def get(self, request: Request, run_id: str) -> HttpResponseBase:
        run = self.run(request, run_id)
        return _stream(logs.as_envelope(run), f"{run_id}.run.json")


class MeView(APIView):
    """What the key of a request may do: any valid one may ask."""

    scope: ClassVar[Scope | None] = None

    @docs.me
    def get(self, request: Request) -> Response:
        project = project_of(request)
        scope = getattr(request.auth, "scope", None) or getattr(request.auth, "role", None)
        return Response({"project": project.slug, "name": project.name, "scope": scope})


def number(request: Request, name: str, default: int, low: int, high: int) -> int:
    """A whole number of the query string within its bounds; Refused otherwise."""
    text = request.query_params.get(name)
    if text is None:
        return default
    if not _INTEGER.fullmatch(text) or not low <= int(text) <= high:
        raise Refused("invalid", f"Expected a whole number from {low} to {high}.", name)
    return int(text)


def _filters(request: Request) -> RunFilterForm:
    only(request.query_params, *_LISTED_BY)
    form = read_filters(request._request)
    for field, [problem, *_] in form.errors.as_data().items():
        [said] = problem.messages
        if problem.code == "max_length" and problem.params:
            raise Refused("too_long", said, field, limit=problem.params["limit_value"])
        raise Refused("invalid", said, field)
    return form


def _cursor(request: Request, name: str, order: Order) -> Cursor | None:
    text = request.query_params.get(name)
    try:
        return Cursor.parse(text, order.column) if text else None
    except ValueError:
        raise Refused("invalid", "This place in the list is not one of ours.", name) from None


def _text(cursor: Cursor | None) -> str | None:
    return None if cursor is None else str(cursor)


def _families(text: str) -> list[str]:
    families = text.split(",")
    for family in families:
        if family not in Family.values:
            raise Refused("invalid", f"Expected one of {', '.join(Family.values)}.", "family")
    return families


def _json(value: Any) -> HttpResponse:
    """What we built ourselves, in a tenth of the time of DRF's renderer."""
    return HttpResponse(_encoded(value), content_type="application/json")


def _encoded(value: Any) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_UTC_Z)


def _stream(
    pieces: Iterator[bytes], name: str, content_type: str = "application/json"
) -> StreamingHttpResponse:
    response = StreamingHttpResponse(_in_chunks(pieces), content_type=content_type)
    response["Content-Disposition"] = f'inline; filename="{name}"'
    return response


def _in_chunks(pieces: Iterator[bytes], size: int = 64 * 1024) -> Iterator[bytes]:
    """A server call for each of 35,000 records would cost more than the records."""
    held: list[bytes] = []
    length = 0
    for piece in pieces:
        held.append(piece)
        length += len(piece)
        if length >= size:
            yield b"".join(held)
            held, length = [], 0
    yield b"".join(held)
