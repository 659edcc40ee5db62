"""Calls that are in the air when somebody stops a replay: a moment to end, and what comes later.

Nobody waits for a provider that hangs: the replay ends, and such a call shows as interrupted. Its
answer is paid for all the same, so whoever asked goes on to listen, and stores it when it comes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from replay.lease import Lease, stop
from replay.modes.flights import Flights
from replay.modes.verdict import verdict
from replay.outcome import Outcome

MOMENT_SECONDS = 1.0
LOOK_SECONDS = 0.25


class Moment:
    """How long calls in the air may still take; it begins when somebody stops the replay."""

    def __init__(self) -> None:
        self._began: float | None = None

    def is_over(self, lease: Lease) -> bool:
        if not lease.cancelled:
            return False
        now = time.monotonic()
        self._began = self._began or now
        return now - self._began >= MOMENT_SECONDS


def stopped(outcome: Outcome) -> Outcome:
    """The outcome of a replay that was stopped with calls in the air: these were asked."""
    if outcome.error_code != "not_all_asked":
        return outcome
    left = outcome.error_text.replace(" were not asked", " have no answer")
    return replace(outcome, error_text=f"Stopped while calls were in flight: {left}")


def after_the_end(
    lease: Lease, flights: Flights[Any, Any], land: Callable[[Any], None]
) -> Iterator[Outcome]:
    """Store what still lands; gives the outcome anew each time, until nothing is in the air."""
    while flights.count and not stop.is_told:
        landed = flights.next(LOOK_SECONDS)
        if landed is not None:
            land(landed)
            yield stopped(verdict(lease))
