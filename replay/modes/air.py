"""Room in the air: how many calls this process makes at once, all its replays together.

A replay whose call waits for room prepares it meanwhile and stores what has landed, so more replays
than places keep the places taken. A few calls more than there are places stand by: their intent is
written, and they go out the moment another has landed. Who waits is let in in turn.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

from django.conf import settings

STANDING_BY = 2
LOOK_SECONDS = 0.25
"""How often one that stands by looks whether it is still to be made."""


class Waiting(Protocol):
    """Who takes places; `places` are those it holds and has no call in. Air alone changes them."""

    places: int

    def let_in(self) -> None:
        """A place was given to it, by another thread."""


class Grounded(Exception):
    """A call was not made: while it stood by it was not wanted any more."""


class Air:
    def __init__(self, standing_by: int = STANDING_BY) -> None:
        self._standing_by = standing_by
        self._lock = threading.Lock()
        self._landed = threading.Condition(self._lock)
        self._taken = self._flying = 0
        self._line: deque[Waiting] = deque()

    def take(self, who: Waiting, wanted: int) -> int:
        """How many places of `wanted` it holds now, at least one or none; with none it stands in
        line, and is let in later."""
        most = settings.WORKER_PARALLEL_CALLS
        with self._lock:
            more = max(wanted - who.places, 0)
            if most:
                more = min(more, max(most + self._standing_by - self._taken, 0))
            self._taken += more
            who.places += more
            if not who.places and who not in self._line:
                self._line.append(who)
            return min(who.places, wanted)

    def use(self, who: Waiting) -> None:
        """A call is to be made in a place that it holds; `give_back` when that has ended."""
        with self._lock:
            who.places -= 1

    @contextmanager
    def flight(self, is_wanted: Callable[[], bool]) -> Iterator[None]:
        """The call itself, as soon as it may go out. Raises Grounded if nobody wants it by then."""
        with self._landed:
            while is_wanted() and 0 < settings.WORKER_PARALLEL_CALLS <= self._flying:
                self._landed.wait(LOOK_SECONDS)
            if not is_wanted():
                raise Grounded
            self._flying += 1
        try:
            yield
        finally:
            with self._landed:
                self._flying -= 1
                self._landed.notify()

    def look(self) -> None:
        """Those that stand by look whether they are still wanted."""
        with self._landed:
            self._landed.notify_all()

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
