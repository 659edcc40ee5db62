"""`/api/v1/webhooks` and `/api/v1/bounds`, for programs. A secret is told when it is made."""

from __future__ import annotations

from typing import Any, ClassVar

from django.db.models import QuerySet
from django.http import Http404
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from replay.api import notification_docs as docs
from replay.api.asking import read_json
from replay.api.paging import keyset
from replay.notifications import bounds, keeping, sending
from replay.notifications.bounds import BadBound
from replay.notifications.keeping import BadWebhook
from replay.notifications.models import Bound, Delivery, Measure, Webhook
from runs.accounts.models import Membership, Scope
from runs.api.auth import project_id_of, project_of
from runs.refusals import Refused
from runs.strangers import only


class WebhooksView(APIView):
    scope: ClassVar[Scope] = Scope.ADMIN

    @docs.list_webhooks
    def get(self, request: Request) -> Response:
        return Response({"results": [_shape(hook) for hook in _mine(request).order_by("pk")]})

    @docs.make_webhook
    def post(self, request: Request) -> Response:
        by = request.auth.user if isinstance(request.auth, Membership) else None
        origin = request.build_absolute_uri("/")
        try:
            given = keeping.read(_sent(request))
            hook, secret = keeping.add(project_of(request), given, by=by, origin=origin)
        except BadWebhook as bad:
            raise bad.refused() from None
        return Response({**_shape(hook), "secret": secret}, status=201)


class WebhookView(APIView):
    scope: ClassVar[Scope] = Scope.ADMIN

    @docs.get_webhook
    def get(self, request: Request, webhook_id: str) -> Response:
        return Response(_shape(_hook(request, webhook_id)))

    @docs.change_webhook
    def patch(self, request: Request, webhook_id: str) -> Response:
        hook = _hook(request, webhook_id)
        try:
            keeping.change(hook, keeping.read(_sent(request), hook))
        except BadWebhook as bad:
            raise bad.refused() from None
        return Response(_shape(_hook(request, webhook_id)))

    @docs.delete_webhook
    def delete(self, request: Request, webhook_id: str) -> Response:
        keeping.remove(_hook(request, webhook_id))
        return Response(status=204)


class WebhookPingView(APIView):
    scope: ClassVar[Scope] = Scope.ADMIN

    @docs.ping_webhook
    def post(self, request: Request, webhook_id: str) -> Response:
        """What came is the answer, also where the receiver did not take it."""
        return Response(_delivery(sending.ping(_hook(request, webhook_id))))


class WebhookSecretView(APIView):
    scope: ClassVar[Scope] = Scope.ADMIN

    @docs.rotate_secret
    def post(self, request: Request, webhook_id: str) -> Response:
        hook = _hook(request, webhook_id)
        try:
            secret = keeping.rotate(hook)
        except BadWebhook as bad:
            raise Refused("conflict", bad.message, bad.member) from None
        return Response({**_shape(_hook(request, webhook_id)), "secret": secret})


class DeliveriesView(APIView):
    scope: ClassVar[Scope] = Scope.ADMIN

    @docs.list_deliveries
    def get(self, request: Request, webhook_id: str) -> Response:
        only(request.query_params, "cursor", "limit")
        found = Delivery.objects.filter(webhook=_hook(request, webhook_id)).order_by("-pk")
        page = keyset(found.defer("body"), request)
        return Response({"results": [_delivery(row) for row in page.rows], "next": page.next})


class RedeliveryView(APIView):
    scope: ClassVar[Scope] = Scope.ADMIN

    @docs.redeliver
    def post(self, request: Request, webhook_id: str, delivery_id: int) -> Response:
        mine = Delivery.objects.select_related("webhook")
        row = mine.filter(webhook=_hook(request, webhook_id), pk=delivery_id).first()
        if row is None:
            raise Http404
        try:
            sending.redeliver(row)
        except sending.NotNow as why:
            raise Refused("conflict", str(why)) from None
        row.refresh_from_db()
        return Response(_delivery(row), status=202)


class BoundsView(APIView):
    scope: ClassVar[Scope] = Scope.ADMIN

    @docs.list_bounds
    def get(self, request: Request) -> Response:
        rows = Bound.objects.filter(project=project_id_of(request)).order_by("pk")
        return Response({"results": [_bound(row) for row in rows]})

    @docs.make_bound
    def post(self, request: Request) -> Response:
        try:
            made = bounds.add(project_of(request).pk, _sent(request))
        except BadBound as bad:
            raise bad.refused() from None
        return Response(_bound(made), status=201)


class BoundView(APIView):
    scope: ClassVar[Scope] = Scope.ADMIN

    @docs.delete_bound
    def delete(self, request: Request, bound_id: str) -> Response:
        row = Bound.objects.filter(project=project_id_of(request), public_id=bound_id).first()
        if row is None:
            raise Http404
        bounds.remove(row)
        return Response(status=204)


def _mine(request: Request) -> QuerySet[Webhook]:
    return Webhook.objects.filter(project=project_id_of(request))


def _hook(request: Request, webhook_id: str) -> Webhook:
    hook = _mine(request).select_related("project").filter(public_id=webhook_id).first()
    if hook is None:
        raise Http404
    return hook


def _sent(request: Request) -> dict[str, Any]:
    sent = read_json(request)
    if not isinstance(sent, dict):
        raise Refused("invalid", "Expected an object.")
    return sent


def _shape(hook: Webhook) -> dict[str, Any]:
    return {
        "id": hook.public_id,
        "url": hook.url,
        "events": hook.events,
        "active": hook.is_active,
        "failing_since": hook.failing_since,
        "switched_off_at": hook.switched_off_at,
        "old_secret_signs_until": hook.before_until,
        "created_at": hook.created_at,
    }


def _delivery(row: Delivery) -> dict[str, Any]:
    return {
        "id": row.pk,
        "event_id": row.event_id,
        "type": row.kind,
        "state": row.state,
        "attempts": row.attempts,
        "created_at": row.created_at,
        "tried_at": row.tried_at,
        "next_at": row.next_at,
        "took_ms": row.took_ms,
        "status_code": row.status_code,
        "said": row.said or None,
    }


def _bound(row: Bound) -> dict[str, Any]:
    is_cost = row.measure == Measure.COST
    return {
        "id": row.public_id,
        "measure": row.measure,
        "agent": row.agent or None,
        "window": row.window,
        "share": None if is_cost else float(row.most),
        "dollars": float(row.most) if is_cost else None,
        "least_runs": None if is_cost else row.least_runs,
        "seen": {**row.seen, "at": row.checked_at} if row.seen else None,
        "told_at": row.told_at,
    }
