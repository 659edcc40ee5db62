"""A worker's hold on one replay: renewed while it works, and how it learns that it must stop."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field

from django.conf import settings
from django.utils import timezone

from replay.models import Replay, ReplayStatus

stopping = threading.Event()
"""Set when this process should end: jobs give back what they hold."""


class Lost(Exception):
    """Another worker holds this replay now; write nothing more."""


class Stopped(Exception):
    """This process ends; the replay goes back into the queue."""


def process_ends() -> bool:
    """True from Ctrl-C or SIGTERM on. Pool threads outlive the main thread only at the very end."""
    return stopping.is_set() or not threading.main_thread().is_alive()


@dataclass(slots=True)
class Lease:
    replay: Replay
    attempt: int
    cancelled: bool = False
    done: int = 0
    """How far the work is; goes into the row with each renewal."""
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
        held = Replay.objects.filter(pk=self.replay.pk, attempt=self.attempt)
        working = held.filter(status__in=(ReplayStatus.RUNNING, ReplayStatus.CANCELLING))
        if not working.update(heartbeat_at=timezone.now(), done=self.done):
            raise Lost
        self.cancelled = held.filter(status=ReplayStatus.CANCELLING).exists()
        self._renewed = time.monotonic()
