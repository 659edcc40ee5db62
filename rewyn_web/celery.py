"""The Celery app, and the worker thread that serves it where no broker is configured."""

import os
import sys
import threading
from pathlib import Path
from typing import Any

from celery import Celery
from celery.signals import heartbeat_sent, worker_init
from django.conf import settings

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "rewyn_web.settings")

app = Celery("rewyn_web")
app.config_from_object("django.conf:settings", namespace="CELERY")
# Celery would close a thread's connection before and after each task, whatever CONN_MAX_AGE says.
# On PostgreSQL a new one is a new process, which reads the catalogue and plans each statement anew.
app.conf["CELERY_DB_REUSE_MAX"] = sys.maxsize
app.set_default()  # a task run on a thread would otherwise resolve another app: nothing runs
app.autodiscover_tasks()


@heartbeat_sent.connect  # type: ignore[untyped-decorator]
def _say_alive(**kwargs: Any) -> None:
    """Asking a worker over the broker costs a whole process; its container looks at a file."""
    if settings.WORKER_ALIVE_FILE:
        Path(settings.WORKER_ALIVE_FILE).touch()


@worker_init.connect  # type: ignore[untyped-decorator]
def _outlive_the_broker(**kwargs: Any) -> None:
    """A worker that holds a message when Redis goes away would give it back, or acknowledge it in
    the end, over the connection that is gone, and end by that. Neither is needed: the row is the
    truth, and the sweeper rings for what nobody has."""
    if not settings.REDIS_URL:
        return
    from kombu.transport.redis import Channel, QoS

    acknowledge: Any = QoS.ack

    def ack(self: Any, delivery_tag: Any) -> None:
        if getattr(self.channel.connection, "client", None) is not None:
            acknowledge(self, delivery_tag)

    Channel.do_restore = False
    QoS.ack = ack  # type: ignore[method-assign]


_embedded: Any = None
_lock = threading.Lock()


def start_embedded_worker() -> Any:
    """Start one in-process worker on `memory://` and return it; None when a broker is set."""
    global _embedded
    if not settings.EMBEDDED_WORKER:
        return None
    with _lock:
        if _embedded is None:
            from celery.worker import WorkController

            _embedded = WorkController(
                app=app,
                pool_cls="threads",
                concurrency=settings.CELERY_WORKER_CONCURRENCY,
                hostname=f"embedded@{os.getpid()}",
                without_gossip=True,
                without_mingle=True,
                without_heartbeat=True,
            )
            threading.Thread(target=_embedded.start, name="embedded-worker", daemon=True).start()
    return _embedded


def broker_state() -> str:
    """ "ok", or what is wrong with the embedded worker or the broker."""
    if settings.EMBEDDED_WORKER:
        running = any(t.name == "embedded-worker" and t.is_alive() for t in threading.enumerate())
        return "ok" if running else "the embedded worker is not running"
    import redis

    try:
        redis.Redis.from_url(settings.REDIS_URL, socket_timeout=1).ping()
    except redis.RedisError as error:
        return f"broker unreachable: {type(error).__name__}"
    return "ok"
