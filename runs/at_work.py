"""Whether somebody works on what lies in this database.

Only SQLite, which one machine has to itself, can know: a lock on a file beside it ends with its
process, however that ends. On PostgreSQL leases tell.
"""

from __future__ import annotations

import fcntl
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection

_at_work: dict[str, int] = {}
"""The files by which this process says that it works."""
_at_work_lock = threading.Lock()


def work_here() -> None:
    """Say, as long as this process lives, that it works here. Waits while somebody is `alone`."""
    if connection.vendor == "postgresql" or _work_file() in _at_work:
        return
    with _at_work_lock:
        if (path := _work_file()) not in _at_work:
            file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)
            fcntl.flock(file, fcntl.LOCK_SH)
            _at_work[path] = file


def rest_here() -> None:
    """Take that back."""
    with _at_work_lock:
        while _at_work:
            os.close(_at_work.popitem()[1])


@contextmanager
def alone() -> Iterator[bool]:
    """Whether surely no process works on what lies here; meanwhile none begins to."""
    if connection.vendor == "postgresql":
        yield False
        return
    file = os.open(_work_file(), os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(file)
        yield False
        return
    try:
        yield True
    finally:
        os.close(file)


def _work_file() -> str:
    return f"{connection.settings_dict['NAME']}-work"
