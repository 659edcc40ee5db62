"""Several answers to one call: each kept, and what the row says of them together.

The row is the worst of them (docs/adr/0007): a call that is wrong one time in five is not right.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from decimal import Decimal
from statistics import median
from typing import Any

from replay.comparison.differences import Difference, worst
from replay.models import Answered, ReplayEffect, ReplaySample
from replay.totals import TOKENS

COLUMNS = tuple(field.name for field in Answered._meta.local_fields)


def kept(row: ReplayEffect) -> list[ReplaySample]:
    """The answers that are stored, in the order they were asked."""
    return list(ReplaySample.objects.filter(row=row.pk).order_by("number"))


def together(samples: Sequence[ReplaySample]) -> dict[str, Any]:
    """The columns of the row: those of the first of the worst, but tokens and cost in all, and
    the times in the middle. A sum with an unknown part is unknown."""
    picked = max(samples, key=lambda one: Difference(one.difference).severity)
    return {
        **{name: getattr(picked, name) for name in COLUMNS},
        **_ignored(samples),
        **{name: _sum([getattr(one, name) for one in samples]) for name in (*TOKENS, "cost")},
        **{name: _middle(samples, name) for name in ("latency_ms", "first_token_ms")},
        "spread": spread(one.difference for one in samples),
    }


def _ignored(samples: Sequence[ReplaySample]) -> dict[str, Any]:
    """What ignore rules took from the whole: nothing, where the worst is as bad without them."""
    now = worst(Difference(one.difference) for one in samples)
    without = worst(Difference(one.ignored_difference or one.difference) for one in samples)
    if without == now:
        return {"ignored_difference": "", "ignored_by": []}
    names = dict.fromkeys(name for one in samples for name in one.ignored_by)
    return {"ignored_difference": without, "ignored_by": list(names)}


def spread(differences: Any) -> dict[str, int]:
    """Class → how many, from mild to severe."""
    found = Counter(differences)
    return {each.value: found[each.value] for each in Difference if found[each.value]}


def _sum(values: Sequence[Any]) -> int | Decimal | None:
    return None if None in values else sum(values)


def _middle(samples: Sequence[ReplaySample], name: str) -> float | None:
    known = [value for one in samples if (value := getattr(one, name)) is not None]
    return median(known) if known else None
