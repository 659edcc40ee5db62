"""Bounds of error rate and cost: kept, and looked at by the sweeper, never while a run comes in.

A look reads the runs of one window along an index, at most `LOOKED_AT` of the newest for a share;
the next one comes after `EVERY`, or after so long that looking takes a fiftieth of the time.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Context, Decimal, InvalidOperation
from typing import Any
from urllib.parse import urlencode

from django.db import IntegrityError, transaction
from django.db.models import Count, Q, QuerySet, Sum
from django.urls import reverse
from django.utils import timezone

from replay.notifications.events import dollars
from replay.notifications.kinds import Kind
from replay.notifications.models import Bound, Measure, Webhook, Window
from replay.notifications.outbox import listening, put
from runs import bulk
from runs.messages.loose import clean
from runs.models import NAME, Run, RunStatus
from runs.refusals import BadMember, Mistakes

EVERY = timedelta(seconds=60)
REST = 50
"""Times as long as a look took it rests at least."""
LOOKED_AT = 10_000
"""Runs a share is taken of; of more, the newest."""
AT_ONCE = 20
MOST_BOUNDS = 20
MOST_DOLLARS, MOST_RUNS = 1_000_000, LOOKED_AT
LENGTH = {Window.HOUR: timedelta(hours=1), Window.DAY: timedelta(days=1)}
KIND = {Measure.ERROR_RATE: Kind.ERROR_RATE, Measure.COST: Kind.COST}
MICRO = Decimal("0.000001")
_EXACT = Context(prec=12)
"""Digits of a day's cost, however small it is: a call may cost less than a millionth."""
MEMBERS = ("measure", "agent", "window", "share", "dollars", "least_runs")


class BadBound(BadMember):
    """A bound that cannot be kept: the member at fault, and why."""


# --- Kept --------------------------------------------------------------------------------------


def add(project_id: int, sent: Mapping[str, Any]) -> Bound:
    """Keep a new one of what was sent, texts or numbers; raises BadBound, and Refused with all
    that is wrong with what was sent."""
    columns = _read(sent)
    if Bound.objects.filter(project=project_id).count() >= MOST_BOUNDS:
        raise BadBound("measure", f"A project has at most {MOST_BOUNDS} bounds.", MOST_BOUNDS)
    try:
        with transaction.atomic():
            return Bound.objects.create(project_id=project_id, **columns)
    except IntegrityError:
        said = "There is such a bound. Remove it first, to make another."
        raise BadBound("measure", said) from None


def _read(sent: Mapping[str, Any]) -> dict[str, Any]:
    mistakes = Mistakes()
    mistakes.read(None, BadBound.of_unknown, sent, MEMBERS, "A bound")
    measure = mistakes.read(None, _measure, sent)
    columns = {"measure": measure, "agent": mistakes.read("", _agent, sent)}
    if measure is not None:
        columns |= (
            _of_cost(sent, mistakes) if measure == Measure.COST else _of_share(sent, mistakes)
        )
    mistakes.end()
    return columns


def _measure(sent: Mapping[str, Any]) -> str:
    measure = sent.get("measure")
    if measure not in Measure.values:
        raise BadBound("measure", f"The measure is one of {', '.join(Measure.values)}.")
    return str(measure)


def _agent(sent: Mapping[str, Any]) -> str:
    agent = sent.get("agent") or ""
    if isinstance(agent, str):
        BadBound.of_longer(agent, NAME, "agent", "An agent's name")
    if not isinstance(agent, str) or clean(agent) != agent:
        raise BadBound("agent", "The agent is a name as runs have it, or nothing for all.")
    return agent


def _of_cost(sent: Mapping[str, Any], mistakes: Mistakes) -> dict[str, Any]:
    said = f"US dollars from 0 to {MOST_DOLLARS:,}."
    window = mistakes.read(None, _window, sent, Window.DAY, [Window.DAY], "Cost is of a day.")
    return {
        "window": window,
        "most": mistakes.read(None, _number, sent, "dollars", MOST_DOLLARS, said),
    }


def _of_share(sent: Mapping[str, Any], mistakes: Mistakes) -> dict[str, Any]:
    said = f"The window is one of {', '.join(Window.values)}."
    return {
        "window": mistakes.read(None, _window, sent, Window.HOUR, Window.values, said),
        "most": mistakes.read(None, _number, sent, "share", 1, "A share is from 0 to 1."),
        "least_runs": mistakes.read(None, _least_runs, sent),
    }


def _window(sent: Mapping[str, Any], usual: str, known: Sequence[str], said: str) -> str:
    window = sent.get("window") or usual
    if window not in known:
        raise BadBound("window", said)
    return str(window)


def _least_runs(sent: Mapping[str, Any]) -> int:
    least = _number({"least_runs": 20, **_given(sent)}, "least_runs", MOST_RUNS, _RUNS)
    if least != int(least) or least < 1:
        raise BadBound("least_runs", _RUNS)
    return int(least)


_RUNS = f"A whole number from 1 to {MOST_RUNS:,}."


def _given(sent: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in sent.items() if value not in (None, "")}


def _number(sent: Mapping[str, Any], member: str, most: int, said: str) -> Decimal:
    value = sent.get(member)
    if isinstance(value, bool) or not isinstance(value, str | int | float | Decimal):
        raise BadBound(member, said)
    try:
        number = Decimal(str(value).strip()[:30])
    except InvalidOperation:
        raise BadBound(member, said) from None
    if not number.is_finite() or not 0 <= number <= most:
        raise BadBound(member, said)
    return number.quantize(MICRO)


def remove(bound: Bound) -> None:
    Bound.objects.filter(pk=bound.pk).delete()


# --- Looked at ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Look:
    """The figures of one look; what is too little to say is not over."""

    figures: dict[str, Any]
    is_over: bool


def check_due() -> int:
    """Look at the bounds whose turn it is; how many were looked at."""
    due = Bound.objects.filter(next_at__lte=timezone.now()).order_by("next_at")
    return sum(_check(bound) for bound in due.select_related("project")[:AT_ONCE])


def _check(bound: Bound) -> bool:
    """Look at one, unless somebody else does."""
    now = timezone.now()
    mine = Bound.objects.filter(pk=bound.pk, checked_at=bound.checked_at)
    if not mine.update(checked_at=now, next_at=now + EVERY):
        return False
    began = time.monotonic()
    look = look_at(bound, now)
    rest = max(EVERY, timedelta(seconds=REST * (time.monotonic() - began)))
    mine = Bound.objects.filter(pk=bound.pk, checked_at=now)
    mine.update(seen={**look.figures, "over": look.is_over}, next_at=now + rest)
    if not look.is_over:
        mine.exclude(over_since=None).update(over_since=None)
    elif _may_tell(bound, now):
        _tell(bound, mine, look, now)
    return True


def look_at(bound: Bound, now: datetime) -> Look:
    """What the runs of the window come to."""
    runs = Run.objects.filter(project=bound.project_id, is_replay=False, sort_at__lte=now)
    if bound.agent:
        runs = runs.filter(agent=bound.agent)
    if bound.measure == Measure.COST:
        return _costs(bound, runs.filter(sort_at__gte=_midnight(now)))
    return _failures(bound, runs.filter(sort_at__gt=now - LENGTH[Window(bound.window)]))


def _failures(bound: Bound, runs: QuerySet[Run]) -> Look:
    """The share of failed runs among those that have ended."""
    newest = runs.exclude(status=RunStatus.RUNNING).order_by("-sort_at", "-pk")
    among = newest.values("status")[:LOOKED_AT]
    counts = among.aggregate(
        runs=Count("status"), failed=Count("status", filter=Q(status=RunStatus.FAILED))
    )
    total, failed = counts["runs"], counts["failed"]
    enough = total >= bound.least_runs and total > 0
    share = failed / total if total else None
    figures = {"runs": total, "failed": failed, "share": share}
    return Look(figures, enough and failed > bound.most * total)


def _costs(bound: Bound, runs: QuerySet[Run]) -> Look:
    """What is known of the day's cost: what is not known counts as nothing, and is counted."""
    sums = runs.order_by().aggregate(
        runs=Count("pk"), cost=Sum("cost"), unknown=Count("pk", filter=Q(cost_complete=False))
    )
    # SQLite adds decimals as floats: what they leave behind is neither cost nor over a bound.
    cost = None if sums["cost"] is None else _EXACT.plus(sums["cost"])
    if not sums["runs"]:
        cost = Decimal(0)
    figures = {
        "runs": sums["runs"],
        "cost": dollars(cost),
        "cost_complete": cost is not None and not sums["unknown"],
        "runs_of_unknown_cost": sums["unknown"],
    }
    return Look(figures, cost is not None and cost > bound.most)


def _midnight(now: datetime) -> datetime:
    return now.replace(hour=0, minute=0, second=0, microsecond=0)


def _may_tell(bound: Bound, now: datetime) -> bool:
    """Whether it was under since it was last told, and not told in this window already. A day of
    cost begins at nothing, and so under."""
    if bound.measure == Measure.COST:
        return bound.told_at is None or bound.told_at < _midnight(now)
    rested = bound.told_at is None or bound.told_at <= now - LENGTH[Window(bound.window)]
    return bound.over_since is None and rested


def _tell(bound: Bound, mine: QuerySet[Bound], look: Look, now: datetime) -> None:
    """Tell whoever is there; where nobody is, it is not told, and so will be once somebody is."""
    kind = KIND[Measure(bound.measure)]
    with bulk.turn():
        hooks = listening(bound.project_id, kind)
        if hooks and mine.update(over_since=now, told_at=now):
            key = f"bound:{bound.pk}:{now.isoformat()}"
            put(hooks, kind, key, _data(bound, look, now))


def unheard(hooks: Iterable[Webhook]) -> set[Measure]:
    """What nobody would be told of who is among these."""
    heard = {name for hook in hooks if hook.is_active for name in hook.events}
    return {measure for measure, kind in KIND.items() if kind not in heard}


def _data(bound: Bound, look: Look, now: datetime) -> dict[str, Any]:
    limit = "share" if bound.measure == Measure.ERROR_RATE else "dollars"
    since = _midnight(now) if bound.measure == Measure.COST else now - LENGTH[Window(bound.window)]
    return {
        "project": bound.project.slug,
        "bound": bound.public_id,
        "url": _runs_page(bound),
        "agent": bound.agent or None,
        "window": bound.window,
        "since": since.isoformat(),
        "until": now.isoformat(),
        "limit": {limit: float(bound.most)},
        **look.figures,
    }


def _runs_page(bound: Bound) -> str:
    failed = {"status": RunStatus.FAILED.value} if bound.measure == Measure.ERROR_RATE else {}
    query = urlencode({**({"agent": bound.agent} if bound.agent else {}), **failed})
    page = reverse("runs:list", args=[bound.project.slug])
    return f"{page}?{query}" if query else page
