"""Celery's doorbells of this app: one call each, nothing returned."""

from __future__ import annotations

from celery import shared_task

from runs.tidy import tidy


@shared_task(name="runs.tidy")  # type: ignore[untyped-decorator]
def tidy_up() -> None:
    """Delete what has had its day; beat rings once an hour."""
    tidy()
