"""The thread beside each worker that takes back lost replays and rings for waiting ones. Its end is
that of the jobs of this process, which are told together."""

from __future__ import annotations

import logging

from django.conf import settings
from django.db import DatabaseError, connections

from replay import jobs
from replay.lease import stop as jobs_end
from runs import curate
from runs.one_thread import OneThread

logger = logging.getLogger(__name__)


def _sweep_until_stopped() -> None:
    fresh = True
    while not jobs_end.is_told:
        try:
            jobs.sweep(fresh=fresh)
            fresh = False
            curate.purge_deleted()
        except DatabaseError:
            logger.warning("replay.sweep_failed", exc_info=True)
        finally:
            connections.close_all()
        jobs_end.wait(settings.REPLAY_SWEEP_SECONDS)


_thread = OneThread("sweeper", _sweep_until_stopped, tell=jobs_end.tell, forget=jobs_end.clear)
start, stop = _thread.start, _thread.stop
