"""What a web process has loaded for good, it need not look through for garbage.

Python's full collection looks at every object. With all that Django and we load that is 50 ms and
more at once, now and then, in the middle of somebody's request; without it hardly anything.
"""

from __future__ import annotations

import gc
import threading
import time

WAITS = (6.0, 60.0, 600.0)
"""Seconds between one time and the next: behind the start, and when pages have been looked at."""


def leave_out() -> None:
    """Leave out what there is now; it still goes when nothing refers to it any more.

    Takes no time: for a start, when hardly anything of it is garbage. The first look would
    otherwise be at all of it, a quarter of a second in the middle of the first requests.
    """
    gc.freeze()


def settle() -> None:
    """Look through what has come since, and leave out what stays."""
    gc.collect()
    gc.freeze()


def settle_soon() -> None:
    """Do so by and by, from a thread."""

    def work() -> None:
        for wait in WAITS:
            time.sleep(wait)
            settle()

    threading.Thread(target=work, name="settle", daemon=True).start()
