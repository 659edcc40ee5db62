"""The thread beside each worker that sends what is due, and looks at bounds. One of its own: a slow
receiver holds up no replay."""

from __future__ import annotations

import logging
import threading
import time

from django.db import DatabaseError

from replay.notifications import bounds, sending
from runs.one_thread import OneThread, let_go

logger = logging.getLogger(__name__)
SECONDS = 2.0
"""Between two looks for what is due."""
TIDY_SECONDS = 3600.0
_stop = threading.Event()


def _send_until_stopped() -> None:
    tidied = float("-inf")
    while not _stop.is_set():
        sent = 0
        try:
            if time.monotonic() - tidied > TIDY_SECONDS:
                sending.forget_old()
                tidied = time.monotonic()
            bounds.check_due()
            sent = sending.send_due()
        except DatabaseError:
            logger.warning("notifications.sweep_failed", exc_info=True)
        except Exception:  # whatever is wrong with one round, the next may go well
            logger.exception("notifications.sweep_failed")
        finally:
            let_go()
        _stop.wait(0 if sent else SECONDS)


_thread = OneThread("notifications", _send_until_stopped, tell=_stop.set, forget=_stop.clear)
start, stop = _thread.start, _thread.stop
