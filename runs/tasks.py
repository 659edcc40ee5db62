"""Celery's doorbells of this app, one call each, and the threads beside a worker."""

from __future__ import annotations

from typing import Any

from celery import shared_task
from celery.signals import worker_init, worker_shutdown
from django.db import close_old_connections, connections

from runs.search import sweeper
from runs.storage import sqlite_log
from runs.tidy import tidy


@shared_task(name="runs.tidy")  # type: ignore[untyped-decorator]
def tidy_up() -> None:
    """Delete what has had its day; beat rings once an hour."""
    close_old_connections()
    try:
        tidy()
    finally:
        connections.close_all()


@worker_init.connect  # type: ignore[untyped-decorator]
def _start_threads(**kwargs: Any) -> None:
    sweeper.start()
    sqlite_log.start()


@worker_shutdown.connect  # type: ignore[untyped-decorator]
def _stop_threads(**kwargs: Any) -> None:
    sweeper.stop()
    sqlite_log.stop()
