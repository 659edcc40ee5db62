"""The lanes of a worker: how many of its threads replays of one provider may have.

A provider that hangs holds a replay for minutes. Of a worker's threads one provider has all but
two, and all providers together all but one: another provider's replays go on, and those that ask
nobody.
"""

from __future__ import annotations

import threading
from collections import Counter, OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager

from django.conf import settings

Lane = tuple[int, str]
"""A project and the name of its provider."""
MOST_TURNED_AWAY = 1000
NOBODY: Counter[Lane] = Counter()


class Lanes:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._busy: Counter[Lane] = Counter()
        self._turned_away: OrderedDict[str, Lane] = OrderedDict()

    def enter(self, lane: Lane, name: str) -> bool:
        """Whether there is room in the lane for the replay of this name; without, it is noted."""
        with self._lock:
            if self._room(lane) > 0:
                self._busy[lane] += 1
                self._turned_away.pop(name, None)
                return True
            self._note(lane, name)
            return False

    def stand_in_line(self, lane: Lane, name: str) -> None:
        """As if it had been turned away: who was before it comes first."""
        with self._lock:
            self._note(lane, name)

    def _note(self, lane: Lane, name: str) -> None:
        self._turned_away[name] = lane
        if len(self._turned_away) > MOST_TURNED_AWAY:  # the sweeper rings for it again
            self._turned_away.popitem(last=False)

    def leave(self, lane: Lane) -> None:
        with self._lock:
            self._busy[lane] -= 1
            if not self._busy[lane]:
                del self._busy[lane]

    @contextmanager
    def turn(self) -> Iterator[Turn]:
        """A thread's turn, which leaves its lane in the end."""
        turn = Turn(self)
        try:
            yield turn
        finally:
            turn.leave()

    def let_in(self) -> list[str]:
        """Those turned away for whom there is room now, the first of each lane first."""
        with self._lock:
            found: list[str] = []
            promised: Counter[Lane] = Counter()
            for name, lane in self._turned_away.items():
                if self._room(lane, promised) > 0:
                    promised[lane] += 1
                    found.append(name)
            for name in found:
                del self._turned_away[name]
            return found

    def room(self, lane: Lane) -> int:
        """How many replays more may go on in a lane."""
        with self._lock:
            return self._room(lane)

    def _room(self, lane: Lane, promised: Counter[Lane] = NOBODY) -> int:
        threads, taken = settings.CELERY_WORKER_CONCURRENCY, self._busy + promised
        return min(max(threads - 1, 1) - taken.total(), max(threads - 2, 1) - taken[lane])


class Turn:
    """The lane that a thread is in, kept from one replay to the next: between two it would go to
    one that was turned away, which would have to be rung for, and so would this one then."""

    def __init__(self, lanes: Lanes) -> None:
        self._lanes = lanes
        self._lane: Lane | None = None

    def enter(self, lane: Lane, name: str) -> bool:
        """Go over to the lane, if it is another; False if there is no room, and then in none."""
        if self._lane == lane:
            return True
        self.leave()
        if self._lanes.enter(lane, name):
            self._lane = lane
        return self._lane is not None

    def leave(self) -> None:
        if self._lane is not None:
            self._lanes.leave(self._lane)
        self._lane = None


lanes = Lanes()
