"""Which thread of a process works while one of them holds the one right to write.

Threads of a process share one interpreter: while one of them writes, which on SQLite keeps every
other writer waiting, one that reads a body takes the interpreter for milliseconds at each turn.
So a body is read while nobody in this process writes, and one at a time: two would only take turns.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

PATIENCE = 0.02
"""Seconds after which work begins anyway: what takes long must not hold up the rest."""
_free = threading.Condition()
_mine = threading.local()
_readers = 0
_writers = 0


@contextmanager
def reading() -> Iterator[None]:
    """Around what a request does before it writes; over when `writing` begins."""
    global _readers
    with _free:
        _free.wait_for(lambda: not _readers and not _writers, PATIENCE)
        _readers += 1
    _mine.reads = True
    try:
        yield
    finally:
        leave()


def leave() -> None:
    """This thread reads no more."""
    global _readers
    if getattr(_mine, "reads", False):
        _mine.reads = False
        with _free:
            _readers -= 1
            _free.notify_all()


@contextmanager
def writing() -> Iterator[None]:
    """Around what is done with the right to write."""
    global _writers
    with _free:
        _writers += 1
        _free.wait_for(lambda: not _readers, PATIENCE / 4)
    try:
        yield
    finally:
        with _free:
            _writers -= 1
            _free.notify_all()
