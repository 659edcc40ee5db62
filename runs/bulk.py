"""Many rows in and one row out, fast: COPY on PostgreSQL, one prepared statement on SQLite.

The only module beside `runs/search/` whose statements differ by database. It writes what the ORM
would write for the same values and reads what the ORM would read (each field prepares its own).
"""

from __future__ import annotations

import fcntl
import json
import os
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, TypeVar

from django.db import (
    DEFAULT_DB_ALIAS,
    OperationalError,
    connection,
    connections,
    models,
    transaction,
)
from django.db.models.expressions import Col

from runs.storage.hashes import HashField

COPY_FROM = 3
"""Rows from which COPY is faster than one statement a row (measured: 12 effects in a quarter of
the time, for the server too)."""

Row = Sequence[Any]
Convert = Callable[[Any], Any]
Readers = list[tuple[int, Convert]]
"""The place of a column, and what reads its values that are not null."""
M = TypeVar("M", bound=models.Model)


@contextmanager
def turn() -> Iterator[None]:
    """A transaction that writes; on SQLite, which has one writer, after waiting for its turn.

    SQLite itself waits by sleeping longer and longer. Under load the file is then free for much of
    the time while everybody sleeps, and the unlucky sleep for a second. A lock on a file beside it
    wakes the next one at once.
    """
    if connection.vendor == "postgresql" or connection.in_atomic_block:
        with transaction.atomic():
            yield
        return
    with _writing_alone(), transaction.atomic():
        yield


@contextmanager
def single() -> Iterator[None]:
    """`turn` around one statement: alone it is a transaction of its own. In one that is going on it
    does not end that by failing."""
    if connection.in_atomic_block:
        with transaction.atomic():
            yield
    elif connection.vendor == "postgresql":
        yield
    else:
        with _writing_alone():
            yield


_mine = threading.local()


@contextmanager
def _writing_alone() -> Iterator[None]:
    if getattr(_mine, "turn", False):  # what is done on a commit, in the turn that ends with it
        yield
        return
    path = f"{connection.settings_dict['NAME']}-turn"
    try:
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:  # as the database itself says it
        raise OperationalError(f"{path}: {error.strerror}") from error
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        _mine.turn = True
        yield
    finally:
        _mine.turn = False
        os.close(file)  # and let go of


def write_log_back_beside_writers() -> None:
    """Bring what SQLite's write-ahead log holds into its file, so that the log begins anew.

    Nearly all of it while others write, the rest in a turn of its own. Whoever reads the log keeps
    it from beginning anew until the next time.
    """
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA wal_checkpoint(PASSIVE)")
        cursor.fetchall()
        with _writing_alone():
            cursor.execute("PRAGMA wal_checkpoint(PASSIVE)")
            cursor.fetchall()


def write_log_back() -> None:
    """Bring what SQLite's write-ahead log holds into its file, and the log to nothing.

    For when nobody writes. It waits for nobody: while somebody reads or writes, the log stays.
    """
    patience = connection.settings_dict["OPTIONS"]["timeout"] * 1000
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA busy_timeout = 0")
        cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        cursor.fetchall()
        cursor.execute(f"PRAGMA busy_timeout = {patience}")


def insert(
    model: type[models.Model], columns: Sequence[str], rows: Sequence[Row], *, ignore: bool = False
) -> None:
    """Insert rows given as values in the order of `columns` (field names; ids as `run_id`).

    `ignore=True` skips rows that meet a unique constraint; otherwise that is an IntegrityError.
    """
    if not rows:
        return
    prepared = list(as_stored(model, tuple(columns), rows))
    if connection.vendor == "postgresql" and len(rows) >= COPY_FROM and not ignore:
        _copy(model, columns, prepared)
        return
    sql = _statement(model, tuple(columns), ignore)
    with cursor() as one:
        one.executemany(spelled(sql), prepared)


def insert_returning(
    model: type[models.Model], columns: Sequence[str], row: Row, *, ignore: bool = False
) -> int | None:
    """Insert one row and return its id; None if `ignore` and a unique constraint was met."""
    [values] = as_stored(model, tuple(columns), [row])
    sql = _statement(model, tuple(columns), ignore) + " RETURNING id"
    with cursor() as one:
        found = one.execute(spelled(sql), values).fetchone()
    return None if found is None else int(found[0])


def find(model: type[models.Model], columns: Sequence[str], **equal: Any) -> Row | None:
    """The named columns of one row that has these values, or None.

    What `values_list(…).filter(…).first()` gives, with the SQL made once: on the way of every
    request the ORM's making of it costs more than the query.
    """
    sql = _select(model, tuple(columns), tuple(equal))
    with cursor() as one:
        row: Row | None = one.execute(spelled(sql), list(equal.values())).fetchone()
    return None if row is None else _read(readers_by_name(model, tuple(columns)), row)


def get(model: type[M], **equal: Any) -> M | None:
    """The one object that has these values, or None; as quick as `find`."""
    row = find(model, columns_of(model), **equal)
    return None if row is None else model.from_db("default", columns_of(model), row)


def fetch(sql: str, values: Row) -> list[Row]:
    """The rows of a query whose SQL is at hand, `%s` where a value goes, as the driver has them."""
    with cursor() as one:
        rows: list[Row] = one.execute(spelled(sql), values).fetchall()
    return rows


def read_all(readers: Readers, rows: Sequence[Row]) -> Sequence[Row]:
    """Rows with the values of some columns read from the form the database gives them in."""
    return [_read(readers, row) for row in rows] if readers else rows


def _read(readers: Readers, row: Row) -> Row:
    values = list(row)
    for place, read in readers:
        if values[place] is not None:
            values[place] = read(values[place])
    return values


@lru_cache(64)
def readers_by_name(model: type[models.Model], columns: tuple[str, ...]) -> Readers:
    fields: list[Any] = [model._meta.get_field(name) for name in columns]
    return readers_of([field.get_col(model._meta.db_table) for field in fields])


def readers_of(columns: Iterable[Any]) -> Readers:
    """For the columns (or expressions) whose values the database gives in another form."""
    found = ((place, _reader(column)) for place, column in enumerate(columns))
    return [(place, read) for place, read in found if read is not None]


def _reader(column: Any) -> Convert | None:
    is_time = isinstance(column, Col) and isinstance(column.output_field, models.DateTimeField)
    if is_time and connection.vendor == "sqlite":
        return _utc  # what is worked out of a column comes as text
    converts = [*connection.ops.get_db_converters(column), *column.get_db_converters(connection)]

    def read(value: Any) -> Any:
        for convert in converts:
            value = convert(value, column, connection)
        return value

    return read if converts else None


def _utc(value: datetime) -> datetime:
    """As the ORM reads it; the driver has made a time of it."""
    return value.replace(tzinfo=UTC)


@lru_cache(64)
def columns_of(model: type[models.Model]) -> tuple[str, ...]:
    return tuple(field.attname for field in model._meta.concrete_fields)


def update(model: type[models.Model], columns: Sequence[str], rows: Sequence[Row]) -> None:
    """Set `columns` of many rows: each row is the new values followed by its id."""
    if not rows:
        return
    quote = connection.ops.quote_name
    names = [column_of(model, name) for name in columns]
    sets = ", ".join(f"{quote(name)} = %s" for name in names)
    sql = f"UPDATE {quote(model._meta.db_table)} SET {sets} WHERE {quote('id')} = %s"
    with connection.cursor() as cursor:
        cursor.executemany(sql, list(as_stored(model, (*columns, "id"), rows)))


@contextmanager
def cursor() -> Iterator[Any]:
    """The driver's own cursor: what Django wraps around it costs as much as a small statement.

    On PostgreSQL it leaves it to the server to bind the values. Where queries are counted,
    it is Django's.
    """
    database: Any = connections[DEFAULT_DB_ALIAS]  # the proxy looks this up at each attribute
    if database.queries_logged:
        with database.cursor() as counted:
            yield _Counted(counted)
        return
    database.close_if_health_check_failed()  # a request's first query finds a server restarted
    database.ensure_connection()
    with database.wrap_database_errors:
        if database.vendor == "postgresql":
            import psycopg

            yield psycopg.Cursor(database.connection)
        else:
            yield sqlite3.Cursor(database.connection)


class _Counted:
    """Django's cursor, as far as it is used here, taking the driver's marks."""

    def __init__(self, cursor: Any) -> None:
        self.cursor = cursor

    def execute(self, sql: str, values: Row) -> Any:
        self.cursor.execute(sql.replace("?", "%s"), values)
        return self.cursor

    def executemany(self, sql: str, rows: Sequence[Row]) -> None:
        self.cursor.executemany(sql.replace("?", "%s"), rows)


@lru_cache(64)
def spelled(sql: str) -> str:
    """The statement with the marks of this database's driver; a percent sign of its own is
    doubled in it."""
    if connection.vendor == "postgresql":
        return sql
    return "%".join(part.replace("%s", "?") for part in sql.split("%%"))


def _copy(model: type[models.Model], columns: Sequence[str], rows: Iterable[Row]) -> None:
    quote = connection.ops.quote_name
    names = ", ".join(quote(column_of(model, name)) for name in columns)
    with (
        connection.cursor() as cursor,
        cursor.copy(f"COPY {quote(model._meta.db_table)} ({names}) FROM STDIN") as copy,
    ):
        for row in rows:
            copy.write_row(row)


def column_of(model: type[models.Model], name: str) -> str:
    column: str = getattr(model._meta.get_field(name), "column", name)
    return column


@lru_cache(64)
def _statement(model: type[models.Model], columns: tuple[str, ...], ignore: bool) -> str:
    quote = connection.ops.quote_name
    names = ", ".join(quote(column_of(model, name)) for name in columns)
    marks = ", ".join(["%s"] * len(columns))
    skip = " ON CONFLICT DO NOTHING" if ignore else ""
    return f"INSERT INTO {quote(model._meta.db_table)} ({names}) VALUES ({marks}){skip}"


@lru_cache(64)
def _select(model: type[models.Model], columns: tuple[str, ...], equal: tuple[str, ...]) -> str:
    quote = connection.ops.quote_name
    names = ", ".join(quote(column_of(model, name)) for name in columns)
    tests = " AND ".join(f"{quote(column_of(model, name))} = %s" for name in equal)
    return f"SELECT {names} FROM {quote(model._meta.db_table)} WHERE {tests} LIMIT 1"


def as_stored(
    model: type[models.Model], columns: tuple[str, ...], rows: Iterable[Row]
) -> Iterable[Row]:
    converts = _converts(model, columns)
    if not converts:
        yield from rows
        return
    for row in rows:
        values = list(row)
        for place, convert in converts:
            if values[place] is not None:
                values[place] = convert(values[place])
        yield values


@lru_cache(256)
def _converts(
    model: type[models.Model], columns: tuple[str, ...]
) -> tuple[tuple[int, Convert], ...]:
    """The columns whose values the database takes in another form, with what makes it."""
    found = []
    for place, name in enumerate(columns):
        convert = _convert(model._meta.get_field(name))
        if convert is not None:
            found.append((place, convert))
    return tuple(found)


def sqlite_moment(value: datetime) -> str:
    """As the ORM writes it; most are in UTC, for which this is a tenth of its work."""
    if value.tzinfo is UTC:
        return str(value.replace(tzinfo=None))
    return str(connection.ops.adapt_datetimefield_value(value))


def _compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


def _convert(field: Any) -> Convert | None:
    ops = connection.ops
    if isinstance(field, models.JSONField):
        return _compact
    if isinstance(field, HashField):
        return bytes.fromhex
    if connection.vendor == "postgresql":
        return None
    if isinstance(field, models.DateTimeField):
        return sqlite_moment
    if isinstance(field, models.DecimalField):
        return lambda v: ops.adapt_decimalfield_value(v, field.max_digits, field.decimal_places)
    return None
