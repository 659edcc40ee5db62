"""The lanes of a worker: how many of its threads replays of one provider may have.

A provider that hangs holds a replay for minutes. Of a worker's threads one provider has all but
two, and all providers together all but one: another provider's replays go on, and those that ask
nobody.
"""

from __future__ import annotations

import threading
from collections import Counter, OrderedDict

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
            self._turned_away[name] = lane
            if len(self._turned_away) > MOST_TURNED_AWAY:  # the sweeper rings for it again
                self._turned_away.popitem(last=False)
            return False

    def leave(self, lane: Lane) -> None:
        with self._lock:
            self._busy[lane] -= 1
            if not self._busy[lane]:
                del self._busy[lane]

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

    def _room(self, lane: Lane, promised: Counter[Lane] = NOBODY) -> int:
        threads, taken = settings.CELERY_WORKER_CONCURRENCY, self._busy + promised
        return min(max(threads - 1, 1) - taken.total(), max(threads - 2, 1) - taken[lane])


lanes = Lanes()
