"""When the database takes nothing: whether an error says so, and why in words.

A full disk, a database that may only be read, one that is away: each driver has errors of its own
for these, and of PostgreSQL's not all are an OperationalError.
"""

from __future__ import annotations

import errno
import logging
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import DatabaseError, InterfaceError, OperationalError

FULL = "The disk is full"
READ_ONLY = "The database can only be read now"
AWAY = "The database is busy or away"
BROKEN = "The disk of the database cannot be written to"

_OF_SYSTEM = {
    errno.ENOSPC: FULL,
    errno.EDQUOT: FULL,
    errno.EROFS: READ_ONLY,
}
_OF_SQLITE = {
    sqlite3.SQLITE_FULL: FULL,
    sqlite3.SQLITE_READONLY: READ_ONLY,
    sqlite3.SQLITE_IOERR: BROKEN,
}
_OF_POSTGRESQL = {
    "53100": FULL,
    "25006": READ_ONLY,
    "58030": BROKEN,
}
_log = logging.getLogger(__name__)


def why_not_taken(error: BaseException) -> str | None:
    """What keeps the database from taking anything, as a sentence without its full stop; None for
    an error of another kind."""
    known = _known(error) or _known(error.__cause__)
    if known or not isinstance(error, OperationalError | InterfaceError):
        return known
    # Where only the words are left of what the driver said.
    return FULL if "disk is full" in str(error) else AWAY


def _known(error: BaseException | None) -> str | None:
    if isinstance(error, OSError):
        return _OF_SYSTEM.get(error.errno or 0)
    if isinstance(error, sqlite3.Error):  # its lowest byte says the kind, the others which of it
        return _OF_SQLITE.get(getattr(error, "sqlite_errorcode", 0) & 0xFF)
    return _OF_POSTGRESQL.get(getattr(error, "sqlstate", None) or "")


@contextmanager
def where_it_can() -> Iterator[None]:
    """Around what is noted beside a request (that a key was used, a result made again at any time):
    where the database takes nothing, the request goes on without it."""
    try:
        yield
    except DatabaseError as error:
        if why_not_taken(error) is None:
            raise
        _log.info("Not noted: %s", error)
