"""Serving on one machine: find a port, start granian, say when it answers."""

from __future__ import annotations

import os
import socket
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable

from rewyn_web import settle
from rewyn_web.evenly import Application, Board, Evenly

PORTS_TRIED = 50
SERVED_BY = "REWYN_SERVED_BY"
"""Environment of a web process: the process that started it."""
_board: Board | None = None
"""Of the processes forked off this one."""


class NoFreePort(RuntimeError):
    """Every port in the tried range is taken."""


def is_free(host: str, port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
    return True


def free_port(host: str, wanted: int) -> int:
    """`wanted`, or the next free port behind it (0: any). Raises NoFreePort."""
    if wanted == 0:
        return _any_port(host)
    for port in range(wanted, min(wanted + PORTS_TRIED, 65536)):
        if is_free(host, port):
            return port
    raise NoFreePort(f"ports {wanted} to {wanted + PORTS_TRIED - 1} are all taken")


def when_alive(base_url: str, then: Callable[[], None], patience: float = 60.0) -> None:
    """Call `then` from a thread as soon as `base_url`/healthz answers."""

    def wait() -> None:
        until = time.monotonic() + patience
        while time.monotonic() < until:
            if _answers(f"{base_url}/healthz"):
                then()
                return
            time.sleep(0.02)

    threading.Thread(target=wait, name="when-alive", daemon=True).start()


def _any_port(host: str) -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.bind((host, 0))
        return int(probe.getsockname()[1])


def end_with_parent(every: float = 1.0) -> None:
    """In a web process: end soon after the process that serves was killed.

    It would go on answering on the port, with nobody to stop it. What it was doing is taken up at
    the next start, as after any kill.
    """
    parent = int(os.environ.get(SERVED_BY, "0"))
    if not parent:
        return

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(every)
        os._exit(1)

    threading.Thread(target=watch, name="end-with-parent", daemon=True).start()


def evenly(application: Application) -> Application:
    """The application of a web process, which takes no more than its share of the connections."""
    return application if _board is None else Evenly(application, _board)


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=2) as response:
            return bool(response.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def serve(host: str, port: int, workers: int, threads: int, grace: int) -> None:
    """Run granian until it is told to stop (SIGINT, SIGTERM).

    Requests that are going on have `grace` seconds to end.
    """
    from granian.constants import Interfaces
    from granian.log import LogLevels
    from granian.server import Server

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "rewyn_web.settings")
    os.environ[SERVED_BY] = str(os.getpid())
    if workers > 1:
        global _board
        _board = Board(workers)
    settle.leave_out()  # nor need the processes that are forked off this one look through it
    Server(
        "rewyn_web.wsgi:application",
        address=host,
        port=port,
        interface=Interfaces.WSGI,
        workers=workers,
        blocking_threads=threads,
        log_level=LogLevels.warning,
        workers_kill_timeout=grace,
        respawn_failed_workers=True,
        websockets=False,
    ).serve()
