"""`/api/v1/baselines`: accepted answers, for programs."""

from __future__ import annotations

from typing import Any, ClassVar

from django.db.models import QuerySet
from django.http import Http404
from django.urls import reverse
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from replay.api import baseline_docs as docs
from replay.api.asking import decider_of, named, read_json
from replay.api.paging import flag, keyset
from replay.comparison.answers import unpack
from replay.comparison.compare import document
from replay.review import deciding, reading
from replay.review.baselines import revoke, why_revoked
from replay.review.models import Baseline
from runs.accounts.models import Scope
from runs.api.auth import project_id_of, project_of
from runs.refusals import Refused
from runs.strangers import only

_THINGS = {"run": "run__external_id"}
_UNSEEN = ("plan", "proof", "mismatches")
"""Of a replay: long, and no answer here has them."""


class BaselinesView(APIView):
    scope: ClassVar[Scope] = Scope.READ

    @docs.list_baselines
    def get(self, request: Request) -> Response:
        only(request.query_params, *_THINGS, "revoked", "cursor", "limit")
        found = _mine(request).filter(**named(request, _THINGS)).defer("answer")
        found = found.defer(*(f"divergence__replay__{name}" for name in _UNSEEN))
        if not flag(request, "revoked"):
            found = found.filter(revoked_at=None)
        page = keyset(found, request)
        return Response({"results": _shapes(page.rows, request), "next": page.next})


class BaselineView(APIView):
    scope: ClassVar[Scope] = Scope.READ

    @docs.get_baseline
    def get(self, request: Request, baseline_id: str) -> Response:
        return Response(_whole(_one(request, baseline_id), request))


class RevocationView(APIView):
    scope: ClassVar[Scope] = Scope.REPLAY

    @docs.revoke_baseline
    def post(self, request: Request, baseline_id: str) -> Response:
        found = _one(request, baseline_id)
        if not revoke(found, decider_of(request), _reason(request)):
            by = _one(request, baseline_id).revoked_by
            raise Refused("conflict", f"It was revoked already by {by or 'somebody'}.")
        return Response(_whole(_one(request, baseline_id), request))


def _mine(request: Request) -> QuerySet[Baseline]:
    return reading.baselines(project_id_of(request)).select_related("divergence__replay")


def _one(request: Request, baseline_id: str) -> Baseline:
    found = _mine(request).filter(public_id=baseline_id).first()
    if found is None:
        raise Http404
    return found


def _reason(request: Request) -> str:
    sent = read_json(request)
    if not isinstance(sent, dict):
        raise Refused("invalid", "Expected an object.")
    only(sent, "reason")
    reason = sent.get("reason")
    if reason is not None and not isinstance(reason, str):
        raise Refused("invalid", "`reason` is a text.", "reason")
    return deciding.checked_reason(reason or "")


# --- Shown -------------------------------------------------------------------------------------


def _whole(one: Baseline, request: Request) -> dict[str, Any]:
    [shape] = _shapes([one], request)
    return {**shape, "answer": document(unpack(bytes(one.answer)))}


def _shapes(rows: list[Baseline], request: Request) -> list[dict[str, Any]]:
    slug, why = project_of(request).slug, why_revoked(rows)
    return [
        {
            **line(one),
            "url": reverse("replay:divergence", args=[slug, one.divergence.public_id]),
            "cluster": str(one.divergence.cluster_id),
            "model": one.divergence.replay.candidate or None,
            "class": one.divergence.difference,
            "summary": one.divergence.summary,
            "revoked_by": one.revoked_by or None,
            "revoked_at": one.revoked_at,
            "revoked_reason": why.get(one.pk) or None,
        }
        for one in rows
    ]


def line(one: Baseline) -> dict[str, Any]:
    """What the list and the export both say."""
    return {
        "id": one.public_id,
        "run": one.run.external_id,
        "seq": one.divergence.seq,
        "divergence": one.divergence.public_id,
        "effect_key": one.effect_key,
        "request_hash": one.request_hash,
        "answer_hash": one.answer_hash,
        "reason": one.reason,
        "accepted_by": one.signed,
        "accepted_at": one.created_at,
    }
