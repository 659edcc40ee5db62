"""A worker's hold on one replay: renewed while it works, and how it learns that it must stop."""

from __future__ import annotations

import concurrent.futures.thread  # noqa: F401  (registers its exit before ours, see below)
import threading
import time
from dataclasses import dataclass, field
from typing import Any

from django.conf import settings
from django.utils import timezone

from replay.models import Replay, ReplayStatus
from runs import bulk, statements

_WORKING = (ReplayStatus.RUNNING.value, ReplayStatus.CANCELLING.value)
AT_EXIT_SECONDS = 0.25
"""What is left for calls in the air when the process ends: the web server kills it soon after."""


class _Stop:
    """Whether the jobs of this process should end, and how long calls in the air may take."""

    def __init__(self) -> None:
        self._told = threading.Event()
        self.grace_seconds = AT_EXIT_SECONDS

    def tell(self, grace_seconds: float = AT_EXIT_SECONDS) -> None:
        self.grace_seconds = grace_seconds
        self._told.set()

    def clear(self) -> None:
        self._told.clear()

    @property
    def is_told(self) -> bool:
        return self._told.is_set()

    def wait(self, seconds: float) -> bool:
        """Sleep, but not past being told."""
        return self._told.wait(seconds)


stop = _Stop()
# Pool threads are waited for before anything else that runs at exit, `atexit` included: a job on
# one of them has to hear of the end before. Registered last means called first.
threading._register_atexit(stop.tell)  # type: ignore[attr-defined]


class Lost(Exception):
    """Another worker holds this replay now; write nothing more."""


class Stopped(Exception):
    """This process ends; the replay goes back into the queue."""


@dataclass(slots=True)
class Lease:
    replay: Replay
    attempt: int
    cancelled: bool = False
    done: int = 0
    """How far the work is; goes into the row with each renewal."""
    ended: bool = False
    """Whether the work came to its end, and that was written down."""
    _renewed: float = field(default_factory=time.monotonic)

    @property
    def beat_seconds(self) -> float:
        return min(1.0, settings.REPLAY_LEASE_SECONDS / 4)

    def beat(self, *, now: bool = False) -> None:
        """Renew the lease if it is time, and look whether somebody cancelled.

        Raises Lost when the replay has another attempt by now.
        """
        if not now and time.monotonic() - self._renewed < self.beat_seconds:
            return
        mine: dict[str, Any] = {"id": self.replay.pk, "attempt": self.attempt}
        told = {"heartbeat_at": timezone.now(), "done": self.done}
        if not statements.change(Replay, {**mine, "status": _WORKING}, told):
            raise Lost
        self._renewed = time.monotonic()
        self.look()

    def look(self) -> None:
        """Look whether somebody cancelled, without renewing. Raises Lost as `beat` does."""
        found = bulk.find(Replay, ("status",), id=self.replay.pk, attempt=self.attempt)
        if found is None or found[0] not in _WORKING:
            raise Lost
        self.cancelled = found[0] == ReplayStatus.CANCELLING
