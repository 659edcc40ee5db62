"""Calls in the air: each on a thread of its own, their results back on the thread that asked.

Threads only talk to providers. Everything that touches the database happens on the thread that
drives, so no connection is shared and no call outlives what the row says of it.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Generic, TypeVar

from replay.lease import stop
from replay.modes.air import air

T = TypeVar("T")
R = TypeVar("R")


RESTS_SECONDS = 2.0
"""How long a thread waits for its next call: to start one takes longer than many a call."""


class _Crew:
    """Threads that do one thing after another. They are daemons: a process that ends does not wait
    for them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._resting: list[queue.SimpleQueue[Callable[[], None]]] = []

    def do(self, work: Callable[[], None]) -> None:
        with self._lock:
            inbox = self._resting.pop() if self._resting else None
        if inbox is None:
            inbox = queue.SimpleQueue()
            threading.Thread(target=self._serve, args=(inbox,), name="call", daemon=True).start()
        inbox.put(work)

    def _serve(self, inbox: queue.SimpleQueue[Callable[[], None]]) -> None:
        while True:
            try:
                inbox.get(timeout=RESTS_SECONDS)()
            except queue.Empty:
                with self._lock:
                    if inbox in self._resting:
                        self._resting.remove(inbox)
                        return
                continue  # it was picked a moment ago: its work is on the way
            with self._lock:
                self._resting.append(inbox)


_crew = _Crew()


@dataclass(frozen=True, slots=True)
class Landed(Generic[T, R]):
    """`result` is None when `error` says what went wrong in our own code."""

    tag: T
    result: R | None
    error: BaseException | None = None


class Flights(Generic[T, R]):
    def __init__(self, parallel: int) -> None:
        self._parallel = max(parallel, 1)
        self._done: queue.SimpleQueue[Landed[T, R] | None] = queue.SimpleQueue()
        self._is_grounded = False
        self.count = 0
        self.places = 0

    @property
    def room(self) -> int:
        return self._parallel - self.count

    @property
    def has_room(self) -> bool:
        return self.room > 0

    def places_for(self, wanted: int) -> int:
        """How many of `wanted` calls may start now; with none, `next` returns when one may."""
        return air.take(self, min(wanted, self.room))

    def let_in(self) -> None:
        self._done.put(None)

    def let_go(self) -> None:
        """Let others have the places that no call was started in."""
        air.let_go(self)

    def ground(self) -> None:
        """Make no call any more that only stands by: it lands with Grounded."""
        if not self._is_grounded:
            self._is_grounded = True
            air.look()

    def end(self) -> None:
        """No call is made any more; those in the air come down by themselves."""
        self.ground()
        air.leave(self)

    def _is_wanted(self) -> bool:
        return not self._is_grounded and not stop.is_told

    def start(self, tag: T, work: Callable[[], R]) -> None:
        """Do `work` on a thread of the crew, in a place that was there for it."""
        air.use(self)
        try:
            _crew.do(partial(self._fly, tag, work))
        except RuntimeError:  # the machine has no further thread
            air.give_back()
            raise
        self.count += 1

    def _fly(self, tag: T, work: Callable[[], R]) -> None:
        landed: Landed[T, R]
        try:
            with air.flight(self._is_wanted):
                landed = Landed(tag, work())
        except Exception as error:
            landed = Landed(tag, None, error)
        air.give_back()
        self._done.put(landed)

    def next(self, timeout: float) -> Landed[T, R] | None:
        """The next that lands within `timeout` seconds, None too when there is room again."""
        try:
            landed = self._done.get(timeout=max(timeout, 0.001))
        except queue.Empty:
            return None
        if landed is not None:
            self.count -= 1
        return landed
