"""When this installation last took something in, so that what can wait does wait.

Noted in a file of its home, because another of its processes may be the one that could wait: the
connections of a few busy senders may all have come to the first one.
"""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path

from django.conf import settings

SECONDS = 1.0
_NOTED_EVERY = SECONDS / 4
_last = float("-inf")


def mark() -> None:
    """Something came in."""
    global _last
    now = time.monotonic()
    if now - _last > _NOTED_EVERY:
        _last = now
        with suppress(OSError):  # a full disk is for the database to tell
            _note().touch()


def is_busy() -> bool:
    """Whether something came in within about the last second."""
    if time.monotonic() - _last < SECONDS:
        return True
    try:
        return time.time() - _note().stat().st_mtime < SECONDS
    except OSError:
        return False


def _note() -> Path:
    home: Path = settings.REWYN_HOME
    return home / "busy"
