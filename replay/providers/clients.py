"""What calls go out through, made once and kept: to make it takes as long as the call."""

from __future__ import annotations

import atexit
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from functools import cache
from typing import Generic, TypeVar

import httpx2

from replay.providers.addresses import Policy
from replay.providers.pinned import Pinned

CONNECT_SECONDS = 15.0
KEPT = 16

T = TypeVar("T")


class Shelf(Generic[T]):
    """Things that one thread at a time uses and puts back; the longest unused go first."""

    def __init__(self, close: Callable[[T], None] | None = None, most: int = KEPT) -> None:
        self._close, self._most = close, most
        self._lock = threading.Lock()
        self._free: OrderedDict[Hashable, list[T]] = OrderedDict()
        self._count = 0

    def take(self, key: Hashable, make: Callable[[], T]) -> T:
        with self._lock:
            if key in self._free:
                return self._pick(key, -1)
        return make()

    def put_back(self, key: Hashable, one: T) -> None:
        gone: list[T] = []
        with self._lock:
            self._free.setdefault(key, []).append(one)
            self._free.move_to_end(key)
            self._count += 1
            while self._count > self._most:
                gone.append(self._pick(next(iter(self._free)), 0))
        if self._close is not None:
            for old in gone:
                self._close(old)

    def _pick(self, key: Hashable, place: int) -> T:
        held = self._free[key]
        one = held.pop(place)
        self._count -= 1
        if not held:
            del self._free[key]
        return one


def timeouts(timeout: float) -> httpx2.Timeout:
    return httpx2.Timeout(timeout, connect=min(CONNECT_SECONDS, timeout))


@cache
def transport_of(policy: Policy, host: str) -> Pinned:
    """The way out to a host under a policy; any thread may use it. It keeps no cookies, and a
    connection for a moment: the next call of a replay is spared the making of one."""
    made = Pinned(policy)
    atexit.register(made.close)
    return made
