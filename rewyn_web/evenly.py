"""Kept-alive connections, spread evenly over the web processes.

The kernel gives a new connection to any process that listens, and there it stays as long as it is
kept alive: four busy senders may all have come to one process, while the other has nothing to do.
So a process that has more requests going on than its share, several answers in a row, asks a
sender to connect anew.
"""

from __future__ import annotations

import fcntl
import os
import tempfile
import threading
from collections.abc import Callable, Iterable
from mmap import mmap
from typing import Any

StartResponse = Callable[..., Any]
Application = Callable[[dict[str, Any], StartResponse], Iterable[bytes]]

IN_A_ROW = 4
"""Answers with more than the share going on before one connection is let go of: a moment in which
the senders of another process are between two requests says nothing."""


class Board:
    """How many requests each process has going on, in memory they share.

    Made before the processes are: a child that was not forked off has another board, and balances
    nothing. Each process writes to its own place alone, so that none waits for another.
    """

    def __init__(self, processes: int) -> None:
        self.processes = processes
        self._file, path = tempfile.mkstemp()
        os.unlink(path)
        os.truncate(self._file, 16 * processes)
        self._numbers = memoryview(mmap(self._file, 16 * processes)).cast("q")

    def place(self) -> int | None:
        """A place of this process's own; None if all are taken by processes that live."""
        fcntl.lockf(self._file, fcntl.LOCK_EX)
        try:
            for place in range(self.processes):
                if not _lives(self._numbers[2 * place]):
                    self._numbers[2 * place], self._numbers[2 * place + 1] = os.getpid(), 0
                    return place
            return None
        finally:
            fcntl.lockf(self._file, fcntl.LOCK_UN)

    def say(self, place: int, going_on: int) -> None:
        self._numbers[2 * place + 1] = going_on

    def share(self) -> int:
        """The most a process has going on when all do equally much, rounded up."""
        return -(-sum(self._numbers[1::2]) // self.processes)


def _lives(pid: int) -> bool:
    if pid == 0:
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


class Evenly:
    """WSGI middleware of one process: counts what is going on, and closes what is too much."""

    def __init__(self, application: Application, board: Board) -> None:
        self._application, self._board = application, board
        self._place = board.place()
        self._lock = threading.Lock()
        self._going_on = self._in_a_row = 0

    def __call__(self, environ: dict[str, Any], start_response: StartResponse) -> Iterable[bytes]:
        def start(status: str, headers: list[tuple[str, str]], *more: Any) -> Any:
            if self._is_too_much():
                headers = [*headers, ("Connection", "close")]
            return start_response(status, headers, *more)

        self._count(1)
        try:
            return self._application(environ, start)
        finally:
            self._count(-1)

    def _count(self, more: int) -> None:
        with self._lock:
            self._going_on += more
            if self._place is not None:
                self._board.say(self._place, self._going_on)

    def _is_too_much(self) -> bool:
        if self._place is None:
            return False
        with self._lock:
            if self._going_on <= self._board.share():
                self._in_a_row = 0
                return False
            self._in_a_row = (self._in_a_row + 1) % IN_A_ROW
            return self._in_a_row == 0
