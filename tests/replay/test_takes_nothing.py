"""A database that takes nothing (its disk is full, or it is read-only): what only reads is answered
as ever, and what would write is told why, by pages too; nothing is half-stored."""

from __future__ import annotations

import errno
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from django.apps import apps
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import InternalError, OperationalError, connection
from django.test import Client
from everything import QUERIES, address_of, routes
from psycopg import errors
from sessions import browser_of

from runs import bulk
from runs.accounts import keys
from runs.accounts.models import ApiKey
from runs.models import Run

pytestmark = pytest.mark.django_db(transaction=True)


@contextmanager
def takes_nothing() -> Iterator[None]:
    """The database refuses each statement that writes, as one that is read-only does."""
    name, on, off = {
        "sqlite": ("PRAGMA query_only", "ON", "OFF"),
        "postgresql": ("SET default_transaction_read_only", "ON", "OFF"),
    }[connection.vendor]
    with connection.cursor() as cursor:
        cursor.execute(f"{name} = {on}")
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            cursor.execute(f"{name} = {off}")


def rows() -> dict[str, int]:
    """How many there are of everything."""
    return {model.__name__: model._base_manager.count() for model in apps.get_models()}


def looked_at(ask: Callable, there: dict, *, api: bool) -> dict[str, int]:
    """How each route that can be looked at answers."""
    return {
        name: ask(address_of(name, there), QUERIES.get(name, {})).status_code
        for name in routes("GET", api=api)
    }


def test_every_page_is_shown_as_ever(everything, ada):
    ask = browser_of(ada, raise_request_exception=False).get
    with takes_nothing():
        shown = looked_at(ask, everything, api=False)
    broken = {name for name, status in shown.items() if status >= 500}
    assert broken <= {"readyz"}  # where no worker can be rung for, it says so, as below
    assert shown == looked_at(ask, everything, api=False)
    assert sum(status == 200 for status in shown.values()) > 45


def test_the_api_reads_as_ever(everything, api_key):
    client = Client(raise_request_exception=False, headers={"authorization": f"Bearer {api_key}"})

    def ask(address, query):
        keys.forget_cached()  # each is the first for some seconds, which notes that the key is used
        return client.get(address, query)

    with takes_nothing():
        read = looked_at(ask, everything, api=True)
    assert [name for name, status in read.items() if status >= 500] == []
    assert ApiKey.objects.get().last_used_at is None
    assert read == looked_at(ask, everything, api=True)
    assert ApiKey.objects.get().last_used_at is not None


SENT = {
    "accounts:account": {"name": "Ada"},
    "accounts:projects": {"name": "Another", "slug": "another"},
    "accounts:keys": {"name": "CI", "scope": "read", "expires": ""},
    "runs:comments": {"text": "is this right?"},
    "runs:views": {"name": "Mine", "query": "sort=-cost"},
    "replay:new": {"model": "openai:gpt-b"},
    "replay:comments": {"text": "is this right?"},
    "replay:datasets": {"name": "Others", "run": "run-1"},
    "replay:bounds": {"watched": "cost.day", "most": "2"},
}


@pytest.mark.parametrize("fragment", [False, True])
def test_a_page_that_would_write_says_why_nothing_was_stored(everything, ada, fragment):
    browser = browser_of(ada, raise_request_exception=False)
    headers = {"HX-Request": "true"} if fragment else {}
    before, told = rows(), {}
    with takes_nothing():
        for name, sent in SENT.items():
            page = browser.post(address_of(name, everything), sent, headers=headers)
            told[name] = page.status_code, page.headers.get("Retry-After"), saying(page.text)
    assert told == dict.fromkeys(SENT, (503, "5", True))
    assert rows() == before


def saying(page: str) -> bool:
    return (
        "<h1>The database can only be read now</h1>" in page
        and "Nothing of what you sent was stored" in page
    )


def test_the_api_that_would_write_says_why(everything, api_key):
    client = Client(headers={"authorization": f"Bearer {api_key}"})
    before, sent = rows(), {"text": "is this right?"}
    with takes_nothing():
        address = "/api/v1/runs/run-1/effects/1/comments"
        answer = client.post(address, sent, content_type="application/json")
    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (503, "unavailable")
    assert error["message"].startswith("The database can only be read now; nothing of this")
    assert rows() == before


def test_signing_in_says_why_it_does_not_work(project, make_member):
    make_member("owner", "ada@example.com")
    client = Client(raise_request_exception=False)
    with takes_nothing():
        assert client.get("/sign-in").status_code == 200
        sent = {"email": "ada@example.com", "password": "correct horse battery"}
        page = client.post("/sign-in", sent)
    assert (page.status_code, saying(page.text)) == (503, True)


def full_sqlite() -> OperationalError:
    error = OperationalError("database or disk is full")
    error.__cause__ = said = sqlite3.OperationalError("database or disk is full")
    said.sqlite_errorcode = sqlite3.SQLITE_FULL
    return error


def broken_sqlite() -> OperationalError:
    error = OperationalError("disk I/O error")
    error.__cause__ = said = sqlite3.OperationalError("disk I/O error")
    said.sqlite_errorcode = sqlite3.SQLITE_IOERR | 3 << 8  # of a write
    return error


def of_postgresql(kind: type, cause: type[errors.Error]) -> Exception:
    error = kind("…")
    error.__cause__ = cause("…")
    return error


AWAY = "The database is busy or away"
TROUBLES = [
    (full_sqlite(), "The disk is full"),
    (broken_sqlite(), "The disk of the database cannot be written to"),
    (of_postgresql(OperationalError, errors.DiskFull), "The disk is full"),
    (
        of_postgresql(InternalError, errors.ReadOnlySqlTransaction),
        "The database can only be read now",
    ),
    (OperationalError("server closed the connection"), AWAY),
    (OSError(errno.ENOSPC, "No space left on device"), "The disk is full"),
]


@pytest.mark.parametrize(("error", "why"), TROUBLES, ids=lambda one: type(one).__name__)
def test_what_the_driver_says_is_told_in_words(project, ada, api_key, monkeypatch, error, why):
    def refuse(*args, **named):
        raise error

    monkeypatch.setattr(bulk, "turn", refuse)
    monkeypatch.setattr(bulk, "insert", refuse)
    monkeypatch.setattr("runs.comments.writing.write", refuse)
    keyed = Client(headers={"authorization": f"Bearer {api_key}"}, raise_request_exception=False)
    body = b'{"run":{"id":"r9"},"log":{"header":{},"records":[]}}'
    answer = keyed.generic("POST", "/api/v1/runs", body, content_type="application/json")
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "unavailable")
    stored = "" if why == AWAY else "; nothing of this was stored"  # it may have been
    assert answer.json()["error"]["message"] == f"{why}{stored}. Send it again later."
    browser = browser_of(ada, raise_request_exception=False)
    file = SimpleUploadedFile("a.json", b'{"header":{},"records":[]}')
    page = browser.post("/p/acme/import", {"files": [file]}, headers={"HX-Request": "true"})
    assert f"not taken: {why[0].lower()}{why[1:]}; send it again" in page.text
    assert not Run.objects.exists()
