"""Threads of one process let the one that writes go first, but wait for nobody for long."""

from threading import Event, Thread

import pytest

from runs import floor


@pytest.fixture
def read_beside_a_writer():
    """Start a reader while this thread writes; gives what tells that it began."""
    began, threads = Event(), []

    def read() -> None:
        with floor.reading():
            began.set()

    def start() -> Event:
        threads.append(Thread(target=read))
        threads[0].start()
        return began

    yield start
    threads[0].join(5)


def test_who_reads_waits_until_nobody_writes(read_beside_a_writer, monkeypatch) -> None:
    monkeypatch.setattr(floor, "PATIENCE", 30)
    with floor.writing():
        began = read_beside_a_writer()
        assert not began.wait(0.05)
    assert began.wait(5)


def test_nobody_waits_for_long(read_beside_a_writer, monkeypatch) -> None:
    monkeypatch.setattr(floor, "PATIENCE", 0.01)
    with floor.writing():
        assert read_beside_a_writer().wait(5)


def test_who_goes_over_to_writing_reads_no_more(monkeypatch) -> None:
    monkeypatch.setattr(floor, "PATIENCE", 30)
    with floor.reading():
        floor.leave()
        with floor.writing():
            pass
    with floor.reading():
        pass
