"""What a replay waits for, read from what is stored when somebody looks. No worker asks this."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from math import ceil
from typing import Any

from django.conf import settings
from django.db.models import Count, Max, Min, Q
from django.utils import timezone

from replay.models import CallState, Replay, ReplayEffect, ReplayMode, ReplayStatus
from replay.project_providers import limits
from replay.project_providers.models import ProjectProvider

DUE = (CallState.PENDING.value, CallState.INTERRUPTED.value)


@dataclass(frozen=True, slots=True)
class Wait:
    """`code` is `worker`, `place`, `minute`, `again`, `stopping`, or `late` of one that is stopped;
    `until` is when that is over, as far as it is known."""

    code: str
    message: str
    until: datetime | None = None

    def as_json(self) -> dict[str, Any]:
        return {"code": self.code, "message": self.message, "until": self.until}


def waits_for(replay: Replay) -> Wait | None:
    """What keeps a replay from asking its next call; None where nothing does, or all is over."""
    if replay.status == ReplayStatus.QUEUED:
        return Wait("worker", "waits for a worker")
    if replay.status == ReplayStatus.CANCELLING:
        return Wait("stopping", "stopping: calls in flight have a moment to end")
    if replay.status == ReplayStatus.CANCELLED:
        return _late(replay)
    if replay.status != ReplayStatus.RUNNING or replay.mode != ReplayMode.PROMPT:
        return None
    now = timezone.now()
    calls = _calls(replay, now)
    due = calls["open"] - calls["later"]
    if due and calls["flying"] >= settings.REPLAY_PARALLEL_CALLS:
        return None
    held = _held_by_limits(replay, now) if due else None
    if held is not None or not calls["later"]:
        return held
    if due:  # only a provider that asks for rest keeps those that were not asked yet
        return None if calls["flying"] else _rests(replay, calls["last"], now)
    return _asked_again(replay, calls, now)


def _late(replay: Replay) -> Wait | None:
    """Whether calls that were in flight when it was stopped may still be answered."""
    now, lasts = timezone.now(), timedelta(seconds=settings.REPLAY_CALL_TIMEOUT_SECONDS)
    rows = ReplayEffect.objects.filter(replay=replay, state=CallState.INTERRUPTED)
    found = rows.aggregate(count=Count("pk"), last=Max("asked_at"))
    if found["last"] is None or found["last"] + lasts <= now:
        return None
    until, calls = found["last"] + lasts, f"{found['count']:,} calls"
    calls = "1 call" if found["count"] == 1 else calls
    text = f"{calls} in flight may still be answered, for {_seconds(until, now)}; that is stored"
    return Wait("late", text, until)


def _calls(replay: Replay, now: datetime) -> dict[str, Any]:
    """How many calls are in flight, how many are open, and how many of these wait for a time."""
    later = Q(state=CallState.PENDING, again_at__gt=now)
    return ReplayEffect.objects.filter(replay=replay).aggregate(
        flying=Count("pk", filter=Q(state=CallState.IN_FLIGHT)),
        open=Count("pk", filter=Q(state__in=DUE)),
        later=Count("pk", filter=later),
        first=Min("again_at", filter=later),
        last=Max("again_at", filter=later),
    )


def _held_by_limits(replay: Replay, now: datetime) -> Wait | None:
    """Whether the provider's limits keep its next call back now."""
    row = ProjectProvider.objects.filter(project=replay.project_id, name=replay.provider).first()
    if row is None:
        return None
    if limits.is_full(row, now):
        return Wait("place", f"waits for a place at {row.name} ({row.parallel:,} at once)")
    until = limits.next_minute(row, now)
    if until is None:
        return None
    wait = f"waits {_seconds(until, now)} for the next minute at {row.name}"
    return Wait("minute", f"{wait} ({row.per_minute:,} a minute)", until)


def _rests(replay: Replay, until: datetime, now: datetime) -> Wait:
    why = _why(_waiting(replay, now).filter(again_at=until).first())
    return Wait("again", f"waits {_seconds(until, now)}, as the provider asks{why}", until)


def _asked_again(replay: Replay, calls: dict[str, Any], now: datetime) -> Wait:
    until, count = calls["first"], calls["later"]
    row = _waiting(replay, now).filter(again_at=until).first()
    if count == 1 and row is not None:
        return Wait("again", f"#{row.seq} is {asked_again(row, now)}", until)
    text = f"{count:,} calls are asked again, the first in {_seconds(until, now)}{_why(row)}"
    return Wait("again", text, until)


def _waiting(replay: Replay, now: datetime) -> Any:
    rows = ReplayEffect.objects.filter(replay=replay, state=CallState.PENDING, again_at__gt=now)
    return rows.only("seq", "state", "again_at", "error_code").order_by("seq")


def asked_again(row: ReplayEffect, now: datetime | None = None) -> str:
    """`asked again in 12 s (429)`: of a call that waits for a time; else nothing."""
    now = now or timezone.now()
    if row.state != CallState.PENDING or row.again_at is None or row.again_at <= now:
        return ""
    return f"asked again in {_seconds(row.again_at, now)}{_why(row)}"


def _why(row: ReplayEffect | None) -> str:
    """How it failed: the status, where the provider answered."""
    if row is None or not row.error_code:
        return ""
    return f" ({row.error_code.removeprefix('http_').replace('_', ' ')})"


def _seconds(until: datetime, now: datetime) -> str:
    return f"{max(ceil((until - now).total_seconds()), 1):,} s"
