"""Deliveries are written here, in the transaction of what happened or right after it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from django.conf import settings
from django.utils import timezone

from replay.ids import new_id
from replay.notifications.kinds import Kind
from replay.notifications.models import Delivery, Webhook


def listening(project_id: int, kind: Kind) -> list[Webhook]:
    """The active webhooks that are told of such events; a project has few."""
    hooks = Webhook.objects.filter(project=project_id, is_active=True)
    return [hook for hook in hooks if kind in hook.events]


def put(hooks: Iterable[Webhook], kind: Kind, key: str, data: Mapping[str, Any]) -> None:
    """Write an event down for each of these; one that is there already (by its key) stays."""
    now, event_id = timezone.now(), new_id("msg")
    rows = [
        Delivery(
            webhook=hook,
            event_id=event_id,
            kind=kind,
            key=key,
            body=body(hook, kind, now, data),
            next_at=now,
            created_at=now,
        )
        for hook in hooks
    ]
    Delivery.objects.bulk_create(rows, ignore_conflicts=True)


def body(hook: Webhook, kind: Kind, at: datetime, data: Mapping[str, Any]) -> str:
    """The JSON that is sent, its links made whole."""
    origin = (settings.BASE_URL or hook.origin).rstrip("/")
    told = {"type": kind, "timestamp": at.isoformat(), "data": _linked(data, origin)}
    return json.dumps(told, default=str)


def _linked(data: Mapping[str, Any], origin: str) -> dict[str, Any]:
    return {name: f"{origin}{value}" if name == "url" else value for name, value in data.items()}
