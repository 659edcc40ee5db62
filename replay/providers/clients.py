"""What calls go out through, made once and kept: to make it takes as long as the call."""

from __future__ import annotations

import atexit
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar

import httpx2

from replay.providers.addresses import Policy
from replay.providers.pinned import Pinned

CONNECT_SECONDS = 15.0
KEPT, WAYS_KEPT = 16, 64

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

    def empty(self) -> None:
        """Close what is not in use."""
        with self._lock:
            gone = [one for held in self._free.values() for one in held]
            self._free.clear()
            self._count = 0
        if self._close is not None:
            for one in gone:
                self._close(one)

    def _pick(self, key: Hashable, place: int) -> T:
        held = self._free[key]
        one = held.pop(place)
        self._count -= 1
        if not held:
            del self._free[key]
        return one


def timeouts(timeout: float) -> httpx2.Timeout:
    return httpx2.Timeout(timeout, connect=min(CONNECT_SECONDS, timeout))


_ways: Shelf[Pinned] = Shelf(Pinned.close, WAYS_KEPT)
atexit.register(_ways.empty)


@contextmanager
def way_to(host: str, policy: Policy) -> Iterator[Pinned]:
    """The way out to a host under a policy, for one call. It keeps no cookies, and its connection
    for a moment: the next call of a replay is spared the making of one."""
    key = policy, host
    way = _ways.take(key, lambda: Pinned(policy))
    try:
        yield way
    finally:
        _ways.put_back(key, way)
