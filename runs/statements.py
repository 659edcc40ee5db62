"""Small statements whose SQL is made once: rows by their columns' values, one UPDATE, new rows.

What the ORM would do, without its making of the SQL, which costs ten times what the database takes
for a statement so small. For what is asked or written for every call of a replay; all else is the
ORM's, and a query of more than one table is `runs.prepared`'s.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any, TypeVar

from django.db import connection, models

from runs.bulk import (
    Row,
    as_stored,
    column_of,
    columns_of,
    cursor,
    insert,
    read_all,
    readers_by_name,
    spelled,
    sqlite_moment,
)

NOTHING: Mapping[str, Any] = {}
M = TypeVar("M", bound=models.Model)


def rows(
    model: type[models.Model], columns: Sequence[str], *, order: str = "", **equal: Any
) -> list[Row]:
    """The named columns of all rows that have these values (a tuple: one of these, None: none).

    What `values_list(…).filter(…).order_by(order)` gives, with the SQL made once.
    """
    names = tuple(columns)
    tests, values = _asked(equal)
    sql = _select_all(model, names, tests, order)
    with cursor() as one:
        found = one.execute(spelled(sql), values).fetchall()
    return list(read_all(readers_by_name(model, names), found))


def objects(
    model: type[M], columns: Sequence[str] = (), *, order: str = "", **equal: Any
) -> list[M]:
    """All objects that have these values, as quick as `rows`; without `columns` whole."""
    names = _in_order(model, tuple(columns)) if columns else columns_of(model)
    found = rows(model, names, order=order, **equal)
    return [model.from_db("default", names, row) for row in found]


def change(
    model: type[models.Model],
    where: Mapping[str, Any],
    values: Mapping[str, Any] = NOTHING,
    *,
    add: Mapping[str, int] = NOTHING,
    unless_set: Mapping[str, Any] = NOTHING,
    within: tuple[str, int, str] | None = None,
) -> int:
    """Change the rows that have the values of `where` and give their number: one UPDATE, its SQL
    made once.

    `values` are set, `add` is added to what is there, `unless_set` fills what is null. In `where` a
    tuple means one of these, None means null, and `fk__column` is a column of the row that `fk`
    points to. `within` is a column, a number and another column: the first and the number together
    must not be more than the second.
    """
    tests, asked = _asked(where)
    names = tuple(values)
    sql = _update_where(model, names, tuple(add), tuple(unless_set), within, tests)
    given = [_plain(one) for some in (values, add, unless_set) for one in some.values()]
    [new] = as_stored(model, (*names, *add, *unless_set), [given])
    with cursor() as one:
        count: int = one.execute(spelled(sql), [*new, *asked]).rowcount
    return count


def create_like(one: models.Model, columns: Sequence[str], rows: Iterable[Row]) -> None:
    """Insert rows like a new object but for these columns; one that is there already is left."""
    model = type(one)
    names = _without_id(model)
    like, places = [_plain(getattr(one, name)) for name in names], [names.index(c) for c in columns]
    made = []
    for row in rows:
        values = like.copy()
        for place, value in zip(places, row, strict=True):
            values[place] = value
        made.append(values)
    insert(model, names, made, ignore=True)


def create(objects: Sequence[models.Model], *, ignore: bool = False) -> None:
    """Insert new objects of one model without learning their ids, as `insert` does."""
    if objects:
        model = type(objects[0])
        names = _without_id(model)
        rows = [[_plain(getattr(one, name)) for name in names] for one in objects]
        insert(model, names, rows, ignore=ignore)


def _plain(one: Any) -> Any:
    """A value as drivers take it: the text of an enumeration's member, the key of an object."""
    if isinstance(one, str):
        return one if type(one) is str else str.__str__(one)
    return one.pk if isinstance(one, models.Model) else one


Tests = tuple[tuple[str, int | None], ...]
"""What is compared, and with how many values one of which it has to be; None: it has to be null."""


def _asked(equal: Mapping[str, Any]) -> tuple[Tests, list[Any]]:
    tests: list[tuple[str, int | None]] = []
    values: list[Any] = []
    for name, value in equal.items():
        some = value if isinstance(value, tuple) else (value,)
        tests.append((name, None if value is None else len(some)))
        values += [_compared(one) for one in some if value is not None]
    return tuple(tests), values


def _compared(one: Any) -> Any:
    """A value as the column it is held against has it."""
    if isinstance(one, datetime) and connection.vendor == "sqlite":
        return sqlite_moment(one)
    return _plain(one)


@lru_cache(64)
def _in_order(model: type[models.Model], columns: tuple[str, ...]) -> tuple[str, ...]:
    """Objects are made of values in the order in which the model declares them."""
    return tuple(name for name in columns_of(model) if name in columns)


@lru_cache(256)
def _select_all(
    model: type[models.Model], columns: tuple[str, ...], tests: Tests, order: str
) -> str:
    quote = connection.ops.quote_name
    names = ", ".join(quote(column_of(model, name)) for name in columns)
    by = f" ORDER BY {quote(column_of(model, order))}" if order else ""
    return f"SELECT {names} FROM {quote(model._meta.db_table)}{_where(model, tests)}{by}"


@lru_cache(256)
def _update_where(
    model: type[models.Model],
    values: tuple[str, ...],
    add: tuple[str, ...],
    unless_set: tuple[str, ...],
    within: tuple[str, int, str] | None,
    tests: Tests,
) -> str:
    def quoted(name: str) -> str:
        return connection.ops.quote_name(column_of(model, name))

    sets = [f"{quoted(name)} = %s" for name in values]
    sets += [f"{quoted(name)} = {quoted(name)} + %s" for name in add]
    sets += [f"{quoted(name)} = COALESCE({quoted(name)}, %s)" for name in unless_set]
    where = _where(model, tests)
    if within is not None:
        where += f" AND {quoted(within[0])} + {within[1]:d} <= {quoted(within[2])}"
    table = connection.ops.quote_name(model._meta.db_table)
    return f"UPDATE {table} SET {', '.join(sets)}{where}"


def _where(model: type[models.Model], tests: Tests) -> str:
    return " WHERE " + " AND ".join(_test(model, name, count) for name, count in tests)


def _test(model: type[models.Model], name: str, count: int | None) -> str:
    quote = connection.ops.quote_name
    through, _, other = name.partition("__")
    if other:
        key: Any = model._meta.get_field(through)
        table, mine = quote(key.related_model._meta.db_table), quote(key.column)
        held = f"{table}.{quote('id')} = {quote(model._meta.db_table)}.{mine}"
        also = _test(key.related_model, other, count)
        return f"EXISTS (SELECT 1 FROM {table} WHERE {held} AND {also})"
    column = f"{quote(model._meta.db_table)}.{quote(column_of(model, name))}"
    if not count:
        return f"{column} IS NULL" if count is None else "1 = 0"
    return f"{column} = %s" if count == 1 else f"{column} IN ({', '.join(['%s'] * count)})"


@lru_cache(64)
def _without_id(model: type[models.Model]) -> tuple[str, ...]:
    return tuple(name for name in columns_of(model) if name != "id")
