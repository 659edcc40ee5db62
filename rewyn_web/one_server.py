"""One server on a SQLite home: the second is told where the first answers.

Two would share the file, but each has its own worker, address and demo provider, and what one
prints would lead to the other.
"""

from __future__ import annotations

import fcntl
from pathlib import Path
from typing import IO

NAME = "serving"
_held: IO[str] | None = None


class AlreadyServed(RuntimeError):
    """Another process serves this home; `address` is where, empty while it is starting."""

    def __init__(self, address: str) -> None:
        super().__init__(address)
        self.address = address


def hold(home: Path) -> None:
    """Be the one server of `home` for as long as this process lives. Raises AlreadyServed."""
    global _held
    file = open(home / NAME, "a+", encoding="utf-8")  # noqa: SIM115  (its lock ends with it)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.seek(0)
        with file:
            raise AlreadyServed(file.read().strip()) from None
    file.truncate(0)
    _held = file


def say_where(address: str) -> None:
    """Note the address for whoever comes second."""
    if _held is not None:
        _held.write(address)
        _held.flush()
