"""Runs come in here. The body is read raw, within limits; `runs.ingest` does the rest."""

from __future__ import annotations

from typing import Any, ClassVar

import msgspec
from django.http import HttpResponse
from rest_framework.exceptions import APIException
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from runs import ingest
from runs.accounts.models import Scope
from runs.api import docs
from runs.api.auth import project_of
from runs.api.incoming import drain, read_body
from runs.formats import run_fields
from runs.ingest import Outcome
from runs.refusals import Rejected

_LOG_PARAMETERS = ("agent", "agent_version", "environment", "name", "session_id", "user_id")


class IngestView(APIView):
    scope: ClassVar[Scope] = Scope.INGEST

    def handle_exception(self, exc: Exception) -> Response:
        if isinstance(exc, APIException):
            drain(self.request._request)  # a sender that is refused sends first and listens then
        return super().handle_exception(exc)


class RunsIn(IngestView):
    @docs.accept_run
    def post(self, request: Request) -> HttpResponse:
        body = read_body(request._request)
        return answer(ingest.accept_run(project_of(request), body))


class EffectsIn(IngestView):
    @docs.append_effects
    def post(self, request: Request, run_id: str) -> HttpResponse:
        body = read_body(request._request)
        return answer(ingest.append_effects(project_of(request), run_id, body))


class FinishIn(IngestView):
    @docs.finish_run
    def post(self, request: Request, run_id: str) -> HttpResponse:
        body = read_body(request._request)
        return answer(ingest.finish_run(project_of(request), run_id, body))


class LogsIn(IngestView):
    @docs.accept_log
    def post(self, request: Request) -> HttpResponse:
        given = request.query_params
        names = {name: run_fields.name(given.get(name), name) for name in _LOG_PARAMETERS}
        run_id = given.get("run_id", "")
        body = read_body(request._request)
        return answer(ingest.accept_log(project_of(request), body, run_id=run_id, **names))


def answer(outcome: Outcome) -> HttpResponse:
    """201 if anything is new, 200 if all was known, 409 or 422 if nothing was taken."""
    if outcome.took_nothing:
        status = 409 if outcome.conflicts else 422
    else:
        status = 201 if outcome.created or outcome.stored else 200
    body = msgspec.json.encode(_shape(outcome, status))
    return HttpResponse(body, content_type="application/json", status=status)


def _shape(outcome: Outcome, status: int) -> dict[str, Any]:
    shaped: dict[str, Any] = {
        "run_id": outcome.run_id,
        "url": outcome.url,
        "created": outcome.created,
        "effects": {
            "stored": outcome.stored,
            "duplicate": outcome.duplicate,
            "rejected": [_rejected(item) for item in outcome.rejected],
        },
    }
    if outcome.changed:
        shaped["changed"] = outcome.changed
    if status >= 400:
        first = outcome.rejected[0]
        error = {"code": first.code, "message": first.message, "field": first.field}
        shaped["error"] = error
    return shaped


def _rejected(item: Rejected) -> dict[str, Any]:
    return {
        "index": item.index,
        "id": item.id,
        "code": item.code,
        "message": item.message,
        "field": item.field,
        "stored_hash": item.stored_hash,
        "sent_hash": item.sent_hash,
    }
