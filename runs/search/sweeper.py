"""The thread beside each worker that keeps the index up to date."""

from __future__ import annotations

import logging
import threading
import time

from django.db import DatabaseError

from runs import busy
from runs.one_thread import OneThread, let_go
from runs.search import indexing

logger = logging.getLogger(__name__)
SECONDS = 1.0
"""Between two looks for new effects."""
REST, REST_WHEN_BUSY = 2.0, 60.0
"""Times as long as a batch took it rests before the next: what comes in goes first, and takes the
same interpreter where the worker lives in the web process."""
_stop = threading.Event()


def _index_until_stopped() -> None:
    while not _stop.is_set():
        _index_and_rest()


def _index_and_rest() -> None:
    began = time.monotonic()
    if _index_some():
        _stop.wait(_rest() * (time.monotonic() - began))
    else:
        let_go()
        _stop.wait(SECONDS)


def _rest() -> float:
    return REST_WHEN_BUSY if busy.is_busy() else REST


def _index_some() -> int:
    try:
        return indexing.index_pending(limit=1) if indexing.is_pending() else 0
    except DatabaseError:
        logger.warning("search.index_failed", exc_info=True)
        return 0


_thread = OneThread("search-index", _index_until_stopped, tell=_stop.set, forget=_stop.clear)
start, stop = _thread.start, _thread.stop
