"""The thread beside each worker that takes back lost replays and rings for waiting ones. Its end is
that of the jobs of this process, which are told together."""

from __future__ import annotations

import logging
import time

from django.conf import settings
from django.db import DatabaseError

from replay import jobs
from replay.bell import LOOK_SECONDS, Ear
from replay.lease import stop as jobs_end
from runs import curate
from runs.one_thread import OneThread, let_go

logger = logging.getLogger(__name__)


def _sweep_until_stopped() -> None:
    fresh, ear = True, Ear()
    while not jobs_end.is_told:
        try:
            jobs.sweep(fresh=fresh)
            fresh = False
            curate.purge_deleted()
        except DatabaseError:
            logger.warning("replay.sweep_failed", exc_info=True)
        finally:
            let_go()
        _rest(ear)


def _rest(ear: Ear) -> None:
    """Until the next sweep is due, another process rings, or the jobs of this one end."""
    until = time.monotonic() + settings.REPLAY_SWEEP_SECONDS
    while (left := until - time.monotonic()) > 0 and not ear.hears():
        if jobs_end.wait(min(left, LOOK_SECONDS)):
            return


_thread = OneThread("sweeper", _sweep_until_stopped, tell=jobs_end.tell, forget=jobs_end.clear)
start, stop = _thread.start, _thread.stop
