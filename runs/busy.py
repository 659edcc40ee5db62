"""When this process last took something in, so that what can wait does wait."""

from __future__ import annotations

import time

SECONDS = 1.0
_last = float("-inf")


def mark() -> None:
    """Something came in."""
    global _last
    _last = time.monotonic()


def is_busy() -> bool:
    """Whether something came in within the last second."""
    return time.monotonic() - _last < SECONDS
