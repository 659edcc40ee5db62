"""A bell between the processes of one home, each of which has a worker and a broker of its own.

A message reaches only the worker of the process that sent it. The time of a file tells the others
that more waits than that one can do; they look at it ten times a second.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from django.conf import settings

LOOK_SECONDS = 0.1


def ring() -> None:
    """Call the workers of all processes. A full disk is no error: sweepers look now and then."""
    if settings.EMBEDDED_WORKER:
        with suppress(OSError):
            _file().touch()


class Ear:
    """Hears the bell once for all rings since it last heard it."""

    def __init__(self) -> None:
        self._heard = _rung_at()

    def hears(self) -> bool:
        rung, before = _rung_at(), self._heard
        self._heard = rung
        return rung != before


def _rung_at() -> int:
    """When it was rung last, in nanoseconds; 0 if never."""
    if settings.EMBEDDED_WORKER:
        with suppress(OSError):
            return _file().stat().st_mtime_ns
    return 0


def _file() -> Path:
    home: Path = settings.REWYN_HOME
    return home / "bell"
