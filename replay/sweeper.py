"""The thread beside each worker that takes back lost replays and rings for waiting ones."""

from __future__ import annotations

import logging
import threading

from django.conf import settings
from django.db import DatabaseError, connections

from replay import jobs
from replay.lease import stop as jobs_end
from runs import curate

logger = logging.getLogger(__name__)
_thread: threading.Thread | None = None
_lock = threading.Lock()


def start() -> None:
    """Start this process's sweeper once."""
    global _thread
    with _lock:
        if _thread is not None and _thread.is_alive():
            return
        jobs_end.clear()
        _thread = threading.Thread(target=_sweep_until_stopped, name="sweeper", daemon=True)
        _thread.start()


def stop() -> None:
    """Tell the sweeper and the jobs of this process to end, and wait for the sweeper."""
    jobs_end.tell()
    if _thread is not None:
        _thread.join(timeout=5)


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
