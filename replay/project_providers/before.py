"""What a provider has cost today before it had limits, which count from then on: a budget of a day
is one of the whole day, and what nobody counted is no zero."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from django.db.models import Q, QuerySet, Sum
from django.utils import timezone

from replay.models import CallState, ReplayEffect
from replay.project_providers.models import ProjectProvider, ProviderCall


def count_today(row: ProjectProvider) -> None:
    """Take what the answers of today (UTC) cost, by their replays, for what has been spent. Where
    the cost of one is unknown, that is noted, and the sum is "at least"."""
    now = timezone.now()
    answers = _answered(row, now.replace(hour=0, minute=0, second=0, microsecond=0))
    found = answers.aggregate(cost=Sum("cost"))
    row.day_spent = max(found["cost"] or Decimal(0), row.spent_today)
    row.day = now.date()
    row.save(update_fields=["day", "day_spent"])
    unknown = answers.filter(cost=None).values("replay", "answered_at").first()
    if unknown is not None:
        at = unknown["answered_at"]
        told = {"started_at": at, "expires_at": at, "ended_at": at, "priced": False}
        ProviderCall.objects.create(provider=row, replay_id=unknown["replay"], **told)


def _answered(row: ProjectProvider, midnight: Any) -> QuerySet[ReplayEffect]:
    mine = Q(replay__project=row.project_id, replay__provider=row.name)
    return ReplayEffect.objects.filter(mine, state=CallState.ANSWERED, answered_at__gte=midnight)
