"""What the OpenAPI document says of webhooks and bounds."""

from __future__ import annotations

from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers

from replay.notifications.kinds import TOLD
from replay.notifications.models import DeliveryState, Measure, Window
from runs.api.docs import Decorator, errors

EVENTS = [kind.value for kind in TOLD]
_DELIVERY = OpenApiParameter("delivery_id", OpenApiTypes.INT, OpenApiParameter.PATH)


class WebhookIn(serializers.Serializer[Any]):
    url = serializers.CharField()
    events = serializers.MultipleChoiceField(
        choices=EVENTS, required=False, help_text="Default: all."
    )
    active = serializers.BooleanField(required=False, help_text="Default: true.")


class WebhookChange(WebhookIn):
    url = serializers.CharField(required=False)


class WebhookOut(serializers.Serializer[Any]):
    id = serializers.CharField()
    url = serializers.CharField()
    events = serializers.ListField(child=serializers.CharField())
    active = serializers.BooleanField()
    failing_since = serializers.DateTimeField(allow_null=True)
    switched_off_at = serializers.DateTimeField(
        allow_null=True, help_text="When it was switched off for failing."
    )
    old_secret_signs_until = serializers.DateTimeField(allow_null=True)
    created_at = serializers.DateTimeField()


class WebhookWithSecret(WebhookOut):
    secret = serializers.CharField(help_text="`whsec_…`, told this once.")


class WebhooksOut(serializers.Serializer[Any]):
    results = WebhookOut(many=True)


class DeliveryOut(serializers.Serializer[Any]):
    id = serializers.IntegerField()
    event_id = serializers.CharField(help_text="The `webhook-id` of every attempt.")
    type = serializers.CharField()
    state = serializers.ChoiceField(choices=DeliveryState.values)
    attempts = serializers.IntegerField()
    created_at = serializers.DateTimeField()
    tried_at = serializers.DateTimeField(allow_null=True)
    next_at = serializers.DateTimeField(allow_null=True)
    took_ms = serializers.FloatField(allow_null=True)
    status_code = serializers.IntegerField(allow_null=True)
    said = serializers.CharField(
        allow_null=True, help_text="The first 500 characters of the answer, or why there was none."
    )


class DeliveriesOut(serializers.Serializer[Any]):
    results = DeliveryOut(many=True)
    next = serializers.CharField(allow_null=True)


class BoundIn(serializers.Serializer[Any]):
    measure = serializers.ChoiceField(choices=Measure.values)
    agent = serializers.CharField(
        required=False, allow_null=True, help_text="Default: runs of all agents."
    )
    window = serializers.ChoiceField(
        choices=Window.values, required=False, help_text="Of a share; default `hour`."
    )
    share = serializers.FloatField(required=False, help_text="0 to 1, for `error_rate`.")
    dollars = serializers.FloatField(required=False, help_text="US dollars a day, for `cost`.")
    least_runs = serializers.IntegerField(required=False, help_text="Of a share; default 20.")


class BoundOut(serializers.Serializer[Any]):
    id = serializers.CharField()
    measure = serializers.ChoiceField(choices=Measure.values)
    agent = serializers.CharField(allow_null=True)
    window = serializers.ChoiceField(choices=Window.values)
    share = serializers.FloatField(allow_null=True)
    dollars = serializers.FloatField(allow_null=True)
    least_runs = serializers.IntegerField(allow_null=True)
    seen = serializers.JSONField(allow_null=True, help_text="The figures of the last look.")
    told_at = serializers.DateTimeField(
        allow_null=True, help_text="When a webhook was last told of it; null while none was."
    )


class BoundsOut(serializers.Serializer[Any]):
    results = BoundOut(many=True)


def _says(name: str, summary: str, **more: Any) -> Decorator:
    return extend_schema(operation_id=name, summary=summary, tags=["Notifications"], **more)


list_webhooks = _says(
    "list_webhooks", "The project's webhooks", responses={200: WebhooksOut, **errors()}
)
make_webhook = _says(
    "make_webhook",
    "Make a webhook",
    request=WebhookIn,
    responses={201: WebhookWithSecret, **errors(400, 422)},
)
get_webhook = _says("get_webhook", "One webhook", responses={200: WebhookOut, **errors(404)})
change_webhook = _says(
    "change_webhook",
    "Change a webhook",
    request=WebhookChange,
    responses={200: WebhookOut, **errors(400, 404, 422)},
)
delete_webhook = _says("delete_webhook", "Remove a webhook", responses={204: None, **errors(404)})
ping_webhook = _says(
    "ping_webhook",
    "Send a ping",
    request=None,
    responses={200: DeliveryOut, **errors(404)},
)
rotate_secret = _says(
    "rotate_webhook_secret",
    "Make a new secret; the one before signs beside it for a day",
    request=None,
    responses={200: WebhookWithSecret, **errors(404, 409)},
)
list_deliveries = _says(
    "list_deliveries",
    "What was sent, newest first",
    parameters=[
        OpenApiParameter("limit", OpenApiTypes.INT, description="1 to 200, default 50."),
        OpenApiParameter("cursor", OpenApiTypes.STR, description="`next` of the page before."),
    ],
    responses={200: DeliveriesOut, **errors(404, 422)},
)
redeliver = _says(
    "redeliver",
    "Send a delivery again",
    request=None,
    parameters=[_DELIVERY],
    responses={202: DeliveryOut, **errors(404, 409)},
)
list_bounds = _says("list_bounds", "The project's bounds", responses={200: BoundsOut, **errors()})
make_bound = _says(
    "make_bound",
    "Make a bound",
    request=BoundIn,
    responses={201: BoundOut, **errors(400, 422)},
)
delete_bound = _says("delete_bound", "Remove a bound", responses={204: None, **errors(404)})
