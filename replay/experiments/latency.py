"""Percentiles of many latencies from few numbers: a histogram whose bins widen by 5 %. Pure.

A percentile is right to 2.5 %; histograms of any number of calls add up.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping

WIDTH = math.log(1.05)


def bins(latencies: Iterable[float | None]) -> dict[str, int]:
    """Bin → calls, of those latencies (in ms) that are known. Keys are texts, as JSON has them."""
    known = (ms for ms in latencies if ms is not None and math.isfinite(ms))
    return dict(Counter(str(round(math.log(max(ms, 0.001)) / WIDTH)) for ms in known))


def percentile(found: Mapping[str, int], share: float) -> float | None:
    """The latency in ms that this share of calls does not exceed; None of no calls."""
    wanted, seen = share * sum(found.values()), 0
    for number in sorted(map(int, found)):
        seen += found[str(number)]
        if seen >= wanted:
            return math.exp(number * WIDTH)
    return None
