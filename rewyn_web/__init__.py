"""Wiring only. `celery -A rewyn_web` finds the app here."""

from rewyn_web.celery import app as celery_app

__all__ = ["celery_app"]
