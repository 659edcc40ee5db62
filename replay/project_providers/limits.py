"""The limits of a provider, kept by rows: all workers together stay within them.

Each call is let through by one conditional UPDATE of the provider's row, which holds a number that
goes up: whoever counted what has changed since counts again. Nothing is kept in a process, so it
does not matter how many workers there are, nor which of them dies.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from django.db.models import Count, DecimalField, F, Q, QuerySet, Sum, Value
from django.db.models.functions import Coalesce, Greatest
from django.utils import timezone

from replay.project_providers.keeping import LIMITS
from replay.project_providers.models import ProjectProvider, ProviderCall
from runs import bulk, statements
from runs.prepared import prepared

WINDOW = timedelta(seconds=60)
LOOK_AGAIN_SECONDS = 0.1
LOOK_SOON_SECONDS = 0.005
"""Who has to wait for a call to end looks soon, and then less and less often."""
MARGIN = timedelta(seconds=15)
"""How long past its timeout a call of a worker that died still counts as in flight."""
NOTHING = Decimal(0)
MONEY: DecimalField[Any, Any] = DecimalField(max_digits=20, decimal_places=12)


@dataclass(frozen=True, slots=True)
class Admitted:
    """The call may go out; `settle` it when it has ended."""

    call_id: int


@dataclass(frozen=True, slots=True)
class Wait:
    """Not now; look again in so many seconds."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Spent:
    """No further call: `budget_replay`, `budget_day`, `cost_unknown` or `provider_removed`."""

    code: str
    text: str


REMOVED = Spent("provider_removed", "The provider was removed from the project.")
BLIND = Spent(
    "cost_unknown",
    "What an answer cost is unknown, so the budget cannot be kept to: ask a model whose price is"
    " known, or take the budget from the provider.",
)


@dataclass(frozen=True, slots=True)
class _Sum:
    """What counts against a budget: known or given up for good, and still in flight."""

    over: Decimal
    in_flight: Decimal
    unpriced: int = 0


class Gate:
    """Lets the calls of one replay through to one provider with limits."""

    def __init__(self, provider_id: int, replay_id: int, timeout: float) -> None:
        self._provider, self._replay = provider_id, replay_id
        self._lasts = timedelta(seconds=timeout) + MARGIN
        self._looks_after = LOOK_SOON_SECONDS

    def admit(self, estimate: Decimal | None) -> Admitted | Wait | Spent:
        """Whether a call may go out now. `estimate` is what it may cost, None if nobody knows."""
        row = bulk.get(ProjectProvider, id=self._provider)
        if row is None:
            return REMOVED
        now, cost = timezone.now(), estimate or NOTHING
        refusal = self._refusal(row, estimate, now)
        if refusal is not None:
            return refusal
        told = (self._provider, self._replay, now, now + self._lasts, cost, True)
        with bulk.turn():
            if not _count(row, cost, now):
                return Wait(0.0)
            call = bulk.insert_returning(ProviderCall, _TOLD, told)
        assert call is not None
        self._looks_after = LOOK_SOON_SECONDS
        return Admitted(call)

    def _refusal(
        self, row: ProjectProvider, estimate: Decimal | None, now: datetime
    ) -> Wait | Spent | None:
        spent = self._budgets(row, estimate, now)
        if spent is not None:
            return spent
        if is_full(row, now):
            return self._wait_for_one_to_end()
        if (until := next_minute(row, now)) is not None:
            return Wait(max((until - now).total_seconds(), 0.01))
        return None

    def _wait_for_one_to_end(self) -> Wait:
        seconds = self._looks_after
        self._looks_after = min(2 * seconds, LOOK_AGAIN_SECONDS)
        return Wait(seconds)

    # --- Budgets ----------------------------------------------------------------------------------

    def _budgets(
        self, row: ProjectProvider, estimate: Decimal | None, now: datetime
    ) -> Wait | Spent | None:
        if row.replay_budget is None and row.day_budget is None:
            return None
        mine = self._of_replay(now)
        if mine.unpriced:
            return BLIND
        if estimate is None and _of_unknown_cost(row.pk, now):
            return self._wait_for_one_to_end()
        cost = estimate or NOTHING
        if row.replay_budget is not None:
            spent = Spent("budget_replay", "the provider's budget for one replay")
            found = _within(row.replay_budget, mine, cost, spent)
            if found is not None:
                return found
        if row.day_budget is not None:
            spent = Spent("budget_day", "the provider's budget for a day")
            return _within(row.day_budget, self._of_today(row, now), cost, spent)
        return None

    def _of_replay(self, now: datetime) -> _Sum:
        calls = ProviderCall.objects.filter(replay=self._replay, provider=self._provider)
        flying = Q(ended_at=None, expires_at__gt=now)
        found = calls.aggregate(
            flying=_total("reserved", flying),
            over=_total(Coalesce("cost", "reserved", output_field=MONEY), ~flying),
            unpriced=Count("pk", filter=Q(priced=False)),
        )
        return _Sum(found["over"], found["flying"], found["unpriced"])

    def _of_today(self, row: ProjectProvider, now: datetime) -> _Sum:
        if row.day != now.date():
            return _Sum(NOTHING, NOTHING)
        flying = ProviderCall.objects.filter(
            provider=row, ended_at=None, expires_at__gt=now, started_at__date=now.date()
        )
        reserved = flying.aggregate(all=_total("reserved"))["all"]
        return _Sum(max(row.day_spent - reserved, NOTHING), reserved)


_TOLD = ("provider_id", "replay_id", "started_at", "expires_at", "reserved", "priced")


def _count(row: ProjectProvider, cost: Decimal, now: datetime) -> bool:
    same = {"id": row.pk, "admitted": row.admitted, "day": row.day}
    today = now.date()
    if row.day == today:
        add: dict[str, Any] = {"admitted": 1, "day_spent": cost}
        return bool(statements.change(ProjectProvider, same, add=add))
    fresh = {"day": today, "day_spent": cost}
    return bool(statements.change(ProjectProvider, same, fresh, add={"admitted": 1}))


def is_full(row: ProjectProvider, now: datetime) -> bool:
    """Whether as many calls are in flight as a provider takes at once."""
    most = row.parallel
    return most is not None and len(_flying(row.pk, now, most=most)) >= most


def next_minute(row: ProjectProvider, now: datetime) -> datetime | None:
    """When a provider takes the next call; None where it had less than it takes in a minute."""
    if row.per_minute is None:
        return None
    began = _lately(row.pk, now - WINDOW, nth=row.per_minute)
    return next((started_at + WINDOW for started_at in began), None)


@prepared
def _flying(provider_id: int, now: datetime, *, most: int) -> QuerySet[ProviderCall, int]:
    calls = ProviderCall.objects.filter(provider=provider_id, ended_at=None, expires_at__gt=now)
    return calls.order_by().values_list("pk", flat=True)[:most]


@prepared
def _of_unknown_cost(provider_id: int, now: datetime) -> QuerySet[ProviderCall, int]:
    """A call in flight that nothing could be reserved for: what a budget bounds would go out blind
    many at once, so such calls go one by one."""
    calls = ProviderCall.objects.filter(provider=provider_id, ended_at=None, expires_at__gt=now)
    return calls.filter(reserved=0).order_by().values_list("pk", flat=True)[:1]


@prepared
def _lately(provider_id: int, since: datetime, *, nth: int) -> QuerySet[ProviderCall, datetime]:
    """When the nth last call since then began, if there were so many."""
    calls = ProviderCall.objects.filter(provider=provider_id, started_at__gt=since)
    return calls.order_by("-started_at").values_list("started_at", flat=True)[nth - 1 : nth]


def settle(call_id: int, *, cost: Decimal | None, answered: bool, billed: bool = True) -> None:
    """A call has ended. Without a known cost what was reserved counts, if it may be `billed`.

    An answer whose cost nobody knows ends what a budget bounds: it could not be kept to.
    """
    call = bulk.find(ProviderCall, ("provider_id", "started_at", "reserved"), id=call_id)
    if call is None:
        return
    provider_id, started_at, reserved = call
    known = cost if cost is not None else (reserved if billed else NOTHING)
    priced = cost is not None or not answered
    told = {"ended_at": timezone.now(), "cost": known, "priced": priced}
    with bulk.turn():
        over = statements.change(ProviderCall, {"id": call_id, "ended_at": None}, told)
        if over and known != reserved:
            of_day = ProjectProvider.objects.filter(pk=provider_id, day=started_at.date())
            left = Greatest(F("day_spent") + (known - reserved), Value(NOTHING, MONEY))
            of_day.update(day_spent=left)


def give_up(replay_id: int) -> None:
    """The calls in flight of a replay whose worker is gone count as what they may have cost."""
    for call_id in ProviderCall.objects.filter(replay=replay_id, ended_at=None).values_list(
        "pk", flat=True
    ):
        settle(call_id, cost=None, answered=False)


def gate_of(stands: Sequence[Any] | None, replay_id: int, timeout: float) -> Gate | None:
    """The gate of a project's provider as it stands (`standing`), None where it has no limits or is
    the environment's."""
    if stands is None or all(limit is None for limit in stands[-len(LIMITS) :]):
        return None
    return Gate(stands[0], replay_id, timeout)


def blind_today(project_id: int) -> set[int]:
    """The project's providers of which an answer of today (UTC) has an unknown cost."""
    midnight = timezone.now().replace(hour=0, minute=0, second=0, microsecond=0)
    calls = ProviderCall.objects.filter(provider__project=project_id, started_at__gte=midnight)
    return set(calls.filter(priced=False).values_list("provider", flat=True).distinct())


def standing(project_id: int, name: str) -> Sequence[Any] | None:
    """What a replay goes by of a project's provider, its key first; None where there is none."""
    columns = ("id", "kind", "base_url", "key_variable", "sealed", *LIMITS)
    return bulk.find(ProjectProvider, columns, project_id=project_id, name=name)


def _within(budget: Decimal, spent: _Sum, cost: Decimal, bound: Spent) -> Wait | Spent | None:
    """Wait where only what is in flight is in the way: it may cost less than it may cost."""
    if spent.over + spent.in_flight + cost <= budget and spent.over < budget:
        return None
    if spent.in_flight and spent.over + cost <= budget and spent.over < budget:
        return Wait(LOOK_AGAIN_SECONDS)
    so_far = f"{bound.text}, ${_dollars(budget)} (${_dollars(spent.over)} spent)"
    if spent.over < budget:
        text = f"The next call may cost ${_dollars(cost)}, more than is left of {so_far}."
        return Spent(bound.code, text)
    return Spent(bound.code, f"Used up: {so_far}.")


def _total(what: Any, where: Q | None = None) -> Any:
    return Coalesce(Sum(what, filter=where), Value(NOTHING), output_field=MONEY)


def _dollars(amount: Decimal) -> str:
    return f"{amount.normalize():f}" if amount else "0"
