"""Room in the air: how many calls this process makes at once, all its replays together.

A replay whose call waits for room prepares it meanwhile and stores what has landed, so more replays
than places keep the places taken. Who waits is let in in turn.
"""

from __future__ import annotations

import threading
from collections import deque
from typing import Protocol

from django.conf import settings


class Waiting(Protocol):
    """Who takes places; `places` are those it holds and has no call in. Air alone changes them."""

    places: int

    def let_in(self) -> None:
        """A place was given to it, by another thread."""


class Air:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._taken = 0
        self._line: deque[Waiting] = deque()

    def take(self, who: Waiting, wanted: int) -> int:
        """How many places of `wanted` it holds now, at least one or none; with none it stands in
        line, and is let in later."""
        most = settings.WORKER_PARALLEL_CALLS
        with self._lock:
            more = max(wanted - who.places, 0)
            if most:
                more = min(more, max(most - self._taken, 0))
            self._taken += more
            who.places += more
            if not who.places and who not in self._line:
                self._line.append(who)
            return min(who.places, wanted)

    def use(self, who: Waiting) -> None:
        """A call is made in a place that it holds; `give_back` when that has ended."""
        with self._lock:
            who.places -= 1

    def give_back(self, places: int = 1) -> None:
        """Calls have ended, or were not made: those in line have their places."""
        with self._lock:
            for _ in range(places):
                if self._line:
                    next_one = self._line.popleft()
                    next_one.places += 1
                    next_one.let_in()
                else:
                    self._taken -= 1

    def let_go(self, who: Waiting) -> None:
        """Give back the places that it has no call in."""
        with self._lock:
            places, who.places = who.places, 0
        self.give_back(places)

    def leave(self, who: Waiting) -> None:
        """The same for good: it stands in line no more."""
        with self._lock:
            if who in self._line:
                self._line.remove(who)
        self.let_go(who)


air = Air()
