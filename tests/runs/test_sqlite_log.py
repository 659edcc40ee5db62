"""SQLite's write-ahead log stays short, whoever writes or reads."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from django.db import connection, connections

from runs import bulk, busy
from runs.accounts.models import Project
from runs.storage import sqlite_log

pytestmark = pytest.mark.django_db(transaction=True)
BIG = "x" * 200


@pytest.fixture(autouse=True)
def small(transactional_db, monkeypatch) -> None:
    if connection.vendor == "sqlite":
        bulk.write_log_back()  # what tests before wrote
    monkeypatch.setattr(sqlite_log, "LONG", 40_000)
    monkeypatch.setattr(sqlite_log, "LONG_WHEN_IDLE", 1)


@pytest.fixture
def coming_in(monkeypatch, settings, tmp_path) -> None:
    settings.REWYN_HOME = tmp_path
    monkeypatch.setattr(busy, "_last", float("-inf"))
    for _ in range(busy.MANY):
        busy.mark()


def write(*slugs: str) -> None:
    for slug in slugs:
        Project.objects.create(slug=slug, name=BIG)


def size() -> int:
    if connection.vendor != "sqlite":
        return 0
    return Path(f"{connection.settings_dict['NAME']}-wal").stat().st_size


def test_it_is_brought_to_nothing_when_nobody_sends(settings, tmp_path, monkeypatch) -> None:
    settings.REWYN_HOME = tmp_path
    monkeypatch.setattr(busy, "_last", float("-inf"))
    write("one")
    sqlite_log.keep_short()
    assert size() == 0
    assert Project.objects.filter(slug="one").exists()


def test_a_short_one_waits_while_runs_come_in(coming_in) -> None:
    write("one")
    before = size()
    sqlite_log.keep_short()
    assert size() == before


def test_a_long_one_begins_anew_while_runs_come_in(coming_in) -> None:
    write(*(f"p{number}" for number in range(30)))
    long = size()
    sqlite_log.keep_short()
    write("next")
    assert size() < max(long, 1) / 2
    assert Project.objects.filter(slug__in=["p0", "p29", "next"]).count() == 3


def test_a_reader_keeps_it_and_is_not_waited_for(coming_in) -> None:
    write(*(f"p{number}" for number in range(30)))
    reading, done = threading.Event(), threading.Event()

    def read() -> None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT id FROM accounts_project")
            cursor.fetchone()
            reading.set()
            done.wait(10)
        connections.close_all()

    thread = threading.Thread(target=read)
    thread.start()
    reading.wait(10)
    sqlite_log.keep_short()
    write("next")
    done.set()
    thread.join()
    sqlite_log.keep_short()
    write("last")
    assert Project.objects.filter(slug__in=["next", "last"]).count() == 2
    assert size() <= sqlite_log.LONG
