"""Celery's doorbell, and the sweepers that each worker carries."""

from __future__ import annotations

from typing import Any

from celery import shared_task
from celery.signals import worker_init, worker_shutdown, worker_shutting_down
from django.db import DatabaseError, close_old_connections, connections

from replay import jobs, sweeper, taking_turns
from replay.lease import stop
from replay.models import Replay, ReplayStatus
from replay.notifications import sweeper as notifications
from runs import bulk

GRACE_SECONDS = 7.0


@shared_task(name=jobs.TASK)  # type: ignore[untyped-decorator]
def run(public_id: str) -> None:
    """Do the replay of this id, unless another worker has it, and go on with its experiment."""
    close_old_connections()  # which also lets the next statement look whether it is still there
    try:
        taking_turns.take_turn(public_id)
    finally:
        if not _more_waits(public_id):
            connections.close_all()


def _more_waits(public_id: str) -> bool:
    """Whether more of its experiment is queued. Meanwhile the connection is kept: to make one, and
    all statements on it anew, costs as much as half a replay."""
    try:
        found = bulk.find(Replay, ("experiment_id",), public_id=public_id)
        if found is None or found[0] is None:
            return False
        of_it = {"experiment_id": found[0], "status": ReplayStatus.QUEUED.value}
        return bulk.find(Replay, ("id",), **of_it) is not None
    except DatabaseError:
        return False


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
