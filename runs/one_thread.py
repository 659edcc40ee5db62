"""A thread that a process has one of, beside its worker; started again after it has ended."""

from __future__ import annotations

import threading
from collections.abc import Callable

from django.db import close_old_connections, connection, connections


class OneThread:
    """`run` goes on until it hears what `tell` says; `forget` takes that back."""

    def __init__(
        self,
        name: str,
        run: Callable[[], None],
        *,
        tell: Callable[[], None],
        forget: Callable[[], None],
    ) -> None:
        self._name, self._run, self._tell, self._forget = name, run, tell, forget
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Start this process's thread, if it does not run."""
        with self._lock:
            if self._thread is not None and self._thread.is_alive():
                return
            self._forget()
            self._thread = threading.Thread(target=self._go, name=self._name, daemon=True)
            self._thread.start()

    def _go(self) -> None:
        try:
            self._run()
        finally:
            connections.close_all()

    def stop(self, seconds: float = 5) -> None:
        """Tell it to end after what it is at, and wait for that, though not for long."""
        self._tell()
        if self._thread is not None:
            self._thread.join(seconds)


def let_go() -> None:
    """For between two rounds of such a thread: close its connection. On PostgreSQL, where another
    would be a new process of the server every second, only one that is old or broken."""
    if connection.vendor == "postgresql":
        close_old_connections()
    else:
        connections.close_all()
