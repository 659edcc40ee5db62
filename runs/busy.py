"""Whether much comes in to this installation, so that what can wait does wait.

Noted in a file of its home, because another of its processes may be the one that could wait: the
connections of a few busy senders may all have come to the first one.
"""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path

from django.conf import settings

SECONDS = 1.0
MANY, WITHIN = 5, 0.5
"""Requests to one process, and the seconds they come in: less leaves room for all else."""
_NOTED_EVERY = SECONDS / 4
_last = float("-inf")
_began, _count = float("-inf"), 0


def mark() -> None:
    """Something came in."""
    global _began, _count
    now = time.monotonic()
    if now - _began > WITHIN:
        _began, _count = now, 0
    _count += 1
    if _count >= MANY:
        _mark_busy(now)


def _mark_busy(now: float) -> None:
    global _last
    if now - _last > _NOTED_EVERY:
        _last = now
        with suppress(OSError):  # a full disk is for the database to tell
            _note().touch()


def is_busy() -> bool:
    """Whether much came in within about the last second."""
    if time.monotonic() - _last < SECONDS:
        return True
    try:
        return time.time() - _note().stat().st_mtime < SECONDS
    except OSError:
        return False


def _note() -> Path:
    home: Path = settings.REWYN_HOME
    return home / "busy"
