"""What a replay's rows come to: the columns that sum them up."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from django.db.models import Aggregate, Count, Q, QuerySet, Sum

from replay.models import UNCHANGED, CallState, Replay, ReplayEffect, ReplayMode, ReplaySample
from replay.questions import Controls
from runs.prepared import prepared

COST_END = 10**8

TOKENS = (
    "input_tokens",
    "output_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "reasoning_tokens",
)
_COMPLETE = (
    "tokens_complete",
    "cost_complete",
    "original_tokens_complete",
    "original_cost_complete",
)


def totals(replay: Replay) -> dict[str, Any]:
    """The columns of a replay that sum up its rows, both sides over the answered ones only.

    A sum in which a part is unknown is "at least" (`…_complete` is False); of nothing it is null.
    """
    return columns_of(replay, sums_of(replay))


def columns_of(replay: Replay, sums: dict[str, Any]) -> dict[str, Any]:
    """The same of sums that were asked for before."""
    samples = Controls.of_json(replay.controls).samples
    columns = _columns(sums, samples)
    return _with_unfinished(columns, replay) if samples > 1 else columns


def sums_of(replay: Replay) -> dict[str, Any]:
    """How many rows a replay has (`rows`), how many of them are over, and what they sum up to."""
    found = _sums(replay.pk)
    return dict(zip(_NOTHING, found[0], strict=True)) if found else _NOTHING


def _aggregates() -> dict[str, Aggregate]:
    answered = Q(state=CallState.ANSWERED)
    # A parent that repeats its children's usage is no cost of its own (the one rule of usage).
    old = answered & Q(effect__counted=True)
    changed = ~Q(difference__in=("", *UNCHANGED))
    return dict(
        rows=Count("pk"),
        failed=Count("pk", filter=Q(state=CallState.FAILED)),
        changed_answers=Count("pk", filter=changed & answered),
        changed=Count("pk", filter=changed),
        ignored=Count("pk", filter=~Q(ignored_difference="")),
        answered=Count("pk", filter=answered),
        all_calls=Sum("calls", default=0),
        priced=Count("cost", filter=answered),
        counted=Count("pk", filter=answered & Q(input_tokens__gte=0, output_tokens__gte=0)),
        old_answered=Count("pk", filter=old),
        old_priced=Count("effect__cost", filter=old),
        old_counted=Count(
            "pk", filter=old & Q(effect__input_tokens__gte=0, effect__output_tokens__gte=0)
        ),
        new_cost=Sum("cost", filter=answered),
        old_cost=Sum("effect__cost", filter=old),
        old_input=Sum("effect__input_tokens", filter=old),
        old_output=Sum("effect__output_tokens", filter=old),
        new_latency=Sum("latency_ms", filter=answered),
        old_timed=Count("effect__duration_ms", filter=answered),
        old_latency=Sum("effect__duration_ms", filter=answered),
        **{f"new_{name}": Sum(name, filter=answered) for name in TOKENS},
    )


def _summed(replay: int) -> QuerySet[ReplayEffect, Any]:
    rows = ReplayEffect.objects.filter(replay=replay).order_by().values("replay")
    return rows.annotate(**_aggregates()).values_list(*_NOTHING)


_NOTHING = {
    name: 0 if isinstance(one, Count) or name == "all_calls" else None
    for name, one in _aggregates().items()
}
"""The sums of no row at all."""
_sums = prepared(_summed)


def _columns(sums: dict[str, Any], samples: int) -> dict[str, Any]:
    """The recording counts as often as each call was asked: both sides are of as many answers."""
    count, old = sums["answered"], sums["old_answered"]
    return {
        "changed": sums["changed"],
        "ignored": sums["ignored"],
        "calls": sums["all_calls"],
        **{name: sums[f"new_{name}"] for name in TOKENS},
        "tokens_complete": count > 0 and sums["counted"] == count,
        "cost": _storable(sums["new_cost"]),
        "cost_complete": count > 0 and sums["priced"] == count,
        "latency_ms": sums["new_latency"],
        "original_input_tokens": _times(samples, sums["old_input"]),
        "original_output_tokens": _times(samples, sums["old_output"]),
        "original_tokens_complete": old > 0 and sums["old_counted"] == old,
        "original_cost": _storable(_times(samples, sums["old_cost"])),
        "original_cost_complete": old > 0 and sums["old_priced"] == old,
        # Part of the times beside all of the new ones would compare nothing.
        "original_latency_ms": sums["old_latency"] if sums["old_timed"] == count else None,
    }


def _with_unfinished(columns: dict[str, Any], replay: Replay) -> dict[str, Any]:
    """The same with the samples of calls that failed later, or were not asked to the end: they were
    paid for, too. The recording counts once for each, and a sum that they are in is "at least"."""
    kept = ReplaySample.objects.filter(row__replay=replay).exclude(row__state=CallState.ANSWERED)
    recorded = ("cost", "input_tokens", "output_tokens")
    counted = Q(row__effect__counted=True)
    more = kept.aggregate(
        samples=Count("pk"),
        **{name: Sum(name) for name in (*TOKENS, "cost")},
        **{f"original_{name}": Sum(f"row__effect__{name}", filter=counted) for name in recorded},
    )
    if not more.pop("samples"):
        return columns
    sums = {name: _sum(columns[name], value) for name, value in more.items()}
    costs = {name: _storable(sums[name]) for name in ("cost", "original_cost")}
    return {**columns, **sums, **costs, **dict.fromkeys(_COMPLETE, False)}


def _sum(one: Any, other: Any) -> Any:
    known = [value for value in (one, other) if value is not None]
    return sum(known) if known else None


def _times(samples: int, one: Any) -> Any:
    return None if one is None else one * samples


def _storable(cost: Decimal | None) -> Decimal | None:
    """A sum that the column holds; a larger one is unknown."""
    return None if cost is not None and cost >= COST_END else cost


def so_far(replay: Replay) -> Replay:
    """A replay that still runs, its columns summing up what has come (the row itself waits)."""
    if not replay.is_final and replay.mode != ReplayMode.RECONSTRUCT:
        over = (CallState.ANSWERED, CallState.FAILED)
        replay.done = ReplayEffect.objects.filter(replay=replay, state__in=over).count()
        for name, value in totals(replay).items():
            setattr(replay, name, value)
    return replay


def samples_so_far(replay: Replay) -> tuple[int, int] | None:
    """How many samples of a running replay are over, and of how many; None where calls are asked
    once. Of a call that failed none is asked any more."""
    times = Controls.of_json(replay.controls).samples
    if replay.is_final or replay.mode == ReplayMode.RECONSTRUCT or times == 1:
        return None
    over = (CallState.ANSWERED, CallState.FAILED)
    kept = ReplaySample.objects.filter(row__replay=replay).exclude(row__state__in=over)
    return replay.done * times + kept.count(), replay.total * times


def left_to_ask(replay: Replay) -> dict[str, int]:
    """What a retry of a replay that is over would ask: `calls`, and `at_most` with every try."""
    times = Controls.of_json(replay.controls).samples
    answered = ReplayEffect.objects.filter(replay=replay, state=CallState.ANSWERED).count()
    there = ReplaySample.objects.filter(row__replay=replay)
    rows = max(replay.total - answered, 0)
    calls = rows * times - there.exclude(row__state=CallState.ANSWERED).count()
    tries = int(replay.plan.get("calls", {}).get("attempts_per_call", 0))
    return {"calls": calls if tries else 0, "at_most": calls * tries}
