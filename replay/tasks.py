"""Celery's doorbell, and the sweepers that each worker carries."""

from __future__ import annotations

from typing import Any

from celery import shared_task
from celery.signals import worker_init, worker_shutdown, worker_shutting_down
from django.db import connections

from replay import jobs, sweeper
from replay.lease import stop
from replay.notifications import sweeper as notifications

GRACE_SECONDS = 7.0


@shared_task(name=jobs.TASK)  # type: ignore[untyped-decorator]
def run(public_id: str) -> None:
    """Do the replay of this id, unless another worker has it."""
    try:
        jobs.run_job(public_id)
    finally:
        connections.close_all()


@worker_init.connect  # type: ignore[untyped-decorator]
def _start_sweepers(**kwargs: Any) -> None:
    sweeper.start()
    notifications.start()


@worker_shutting_down.connect  # type: ignore[untyped-decorator]
def _give_back(**kwargs: Any) -> None:
    """SIGTERM: no new calls; those in the air end or are given back before Docker kills us."""
    stop.tell(GRACE_SECONDS)


@worker_shutdown.connect  # type: ignore[untyped-decorator]
def _stop_sweepers(**kwargs: Any) -> None:
    sweeper.stop()
    notifications.stop()
