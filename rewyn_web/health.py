"""/healthz says the process lives; /readyz says whether it can do its work, part by part."""

from __future__ import annotations

import os
import shutil

from django.conf import settings
from django.db import DatabaseError, connection
from django.http import HttpRequest, JsonResponse

MIN_FREE_BYTES = 64 * 1024 * 1024


def healthz(request: HttpRequest) -> JsonResponse:
    return JsonResponse({"status": "ok", "pid": os.getpid()})


def readyz(request: HttpRequest) -> JsonResponse:
    """200 when database, worker and disk are usable; 503 naming the part that is not."""
    parts = {"database": _database(), "worker": _worker(), "disk": _disk()}
    ready = all(part == "ok" for part in parts.values())
    return JsonResponse(
        {"status": "ok" if ready else "unavailable", **parts}, status=200 if ready else 503
    )


def _database() -> str:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError as error:
        return f"unreachable: {type(error).__name__}"
    return "ok"


def _worker() -> str:
    from rewyn_web import celery

    return celery.broker_state()


def _disk() -> str:
    free = shutil.disk_usage(settings.REWYN_HOME).free
    return "ok" if free >= MIN_FREE_BYTES else f"full: {free} bytes left"
