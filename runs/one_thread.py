"""A thread that a process has one of, beside its worker; started again after it has ended."""

from __future__ import annotations

import threading
from collections.abc import Callable


class OneThread:
    def __init__(self, name: str, run: Callable[[], None]) -> None:
        self._name, self._run = name, run
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def start(self, before: Callable[[], None]) -> None:
        """Start it, if it does not run; `before` takes back what told the last one to end."""
        with self._lock:
            if self._thread is not None and self._thread.is_alive():
                return
            before()
            self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
            self._thread.start()

    def join(self, seconds: float = 5) -> None:
        """Wait for its end, once it was told."""
        if self._thread is not None:
            self._thread.join(seconds)
