"""Celery's doorbells of this app: one call each, nothing returned; and the index's own thread."""

from __future__ import annotations

from typing import Any

from celery import shared_task
from celery.signals import worker_init, worker_shutdown

from runs.search import sweeper
from runs.tidy import tidy


@shared_task(name="runs.tidy")  # type: ignore[untyped-decorator]
def tidy_up() -> None:
    """Delete what has had its day; beat rings once an hour."""
    tidy()


@worker_init.connect  # type: ignore[untyped-decorator]
def _start_indexing(**kwargs: Any) -> None:
    sweeper.start()


@worker_shutdown.connect  # type: ignore[untyped-decorator]
def _stop_indexing(**kwargs: Any) -> None:
    sweeper.stop()
