"""A worker in this process, started as the embedded one is, and waiting for what it does."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from celery.worker import WorkController
from django.db import connections

from replay import sweeper
from replay.lease import stop
from rewyn_web.celery import app


def until(done: Callable[[], Any], seconds: float = 60) -> Any:
    """What `done` gives as soon as it gives anything."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = done()
        if found:
            return found
        time.sleep(0.02)
    raise AssertionError("it did not happen in time")


@contextmanager
def embedded_worker(threads: int) -> Iterator[WorkController]:
    controller = WorkController(
        app=app, pool_cls="threads", concurrency=threads, hostname="embedded@test",
        without_gossip=True, without_mingle=True, without_heartbeat=True,
    )  # fmt: skip
    thread = threading.Thread(target=controller.start, daemon=True)
    thread.start()
    yield controller
    controller.stop()
    thread.join(60)
    sweeper.stop()
    stop.clear()  # this process goes on
    connections.close_all()
