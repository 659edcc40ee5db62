"""SQLite's write-ahead log, brought into its file by a thread beside the worker.

A writer that finds the log long writes it back itself (`wal_autocheckpoint`), and all others wait
for that: a tenth of a second and more, each time. The thread does it while they go on, and holds
them up for the little that came in meanwhile; so the log begins anew and stays short.
"""

from __future__ import annotations

import logging
import threading
from pathlib import Path

from django.db import DatabaseError, connection, connections

from runs import bulk, busy
from runs.one_thread import OneThread

logger = logging.getLogger(__name__)
LONG, LONG_WHEN_IDLE = 16 * 1024 * 1024, 1024 * 1024
"""Bytes from which the log is written back: a page that many runs write to goes into the file once
for all of them, so not sooner while they come in."""
SECONDS = 0.1
"""Between two looks at its size."""
_stop = threading.Event()


def start() -> None:
    """Start this process's thread once; there is nothing for it to do on PostgreSQL."""
    if connection.vendor == "sqlite":
        _thread.start()


def keep_short() -> None:
    """Write the log back if it is long, in the way that suits what is going on."""
    if connection.vendor != "sqlite":
        return
    size = _size()
    if size >= LONG:
        bulk.write_log_back_beside_writers()
    elif size >= LONG_WHEN_IDLE and not busy.is_busy():
        bulk.write_log_back()


def _size() -> int:
    """The log's bytes: it is cut when it begins anew (`journal_size_limit`)."""
    try:
        return Path(f"{connection.settings_dict['NAME']}-wal").stat().st_size
    except OSError:
        return 0


def _look_until_stopped() -> None:
    while not _stop.wait(SECONDS):
        try:
            keep_short()
        except DatabaseError:
            logger.warning("database.log_not_written_back", exc_info=True)
        connections.close_all()


_thread = OneThread("sqlite-log", _look_until_stopped, tell=_stop.set, forget=_stop.clear)
stop = _thread.stop
