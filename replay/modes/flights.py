"""Calls in the air: each on a thread of its own, their results back on the thread that asked.

Threads only talk to providers. Everything that touches the database happens on the thread that
drives, so no connection is shared and no call outlives what the row says of it.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Landed(Generic[T, R]):
    """`result` is None when `error` says what went wrong in our own code."""

    tag: T
    result: R | None
    error: BaseException | None = None


class Flights(Generic[T, R]):
    def __init__(self, parallel: int) -> None:
        self._parallel = max(parallel, 1)
        self._done: queue.SimpleQueue[Landed[T, R]] = queue.SimpleQueue()
        self.count = 0

    @property
    def has_room(self) -> bool:
        return self.count < self._parallel

    def start(self, tag: T, work: Callable[[], R]) -> None:
        """Do `work` on a thread. It is a daemon: a process that ends does not wait for it."""
        self.count += 1
        threading.Thread(target=self._fly, args=(tag, work), name="call", daemon=True).start()

    def _fly(self, tag: T, work: Callable[[], R]) -> None:
        try:
            self._done.put(Landed(tag, work()))
        except Exception as error:
            self._done.put(Landed(tag, None, error))

    def next(self, timeout: float) -> Landed[T, R] | None:
        """The next that lands within `timeout` seconds."""
        try:
            landed = self._done.get(timeout=max(timeout, 0.001))
        except queue.Empty:
            return None
        self.count -= 1
        return landed
