"""Queries of the ORM whose SQL is made once: for what every page asks.

Making the SQL of a query costs ten times what the query does. `prepared` has it made the first
time, with a mark in the place of each value, and from then on puts the values in.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import wraps
from types import SimpleNamespace
from typing import Any, ParamSpec, TypeVar

from django.core.exceptions import EmptyResultSet
from django.db import DEFAULT_DB_ALIAS, connection
from django.db.models import Model, QuerySet

from runs import bulk

P = ParamSpec("P")
M = TypeVar("M", bound=Model)
T = TypeVar("T")

MOST_KEPT = 200
"""Queries of one function: they take some 50 KB each."""
_NUMBER, _TEXT = 31_973, "\x02value %d\x03"
_MOMENT = datetime(1904, 2, 29, 1, 1, 1, 111111, tzinfo=UTC)
"""What marks are made of: no query has them by itself, and the smallest of columns could."""


def prepared(make: Callable[P, QuerySet[M, T]]) -> Callable[P, list[T]]:
    """`make` gives a queryset; the function that it becomes gives what that one finds, as a list.

    Values are given by position, each a number, a text or a time (never None), and each stands in
    the query as it was given: `make` may not look at them. What alters the query itself (its
    columns, which filters it has) is given by name; how many values there are may differ too. Of
    more than some queries those made first are forgotten. Prefetching is not done.
    """
    kept: dict[tuple[Any, ...], _Query] = {}

    @wraps(make)
    def ask(*values: Any, **shape: Any) -> list[T]:
        form = (len(values), *shape.items())
        query = kept.get(form)
        if query is None:
            marks = [_mark(place, value) for place, value in enumerate(values)]
            query = kept[form] = _Query(make(*marks, **shape), marks)
            for oldest in [*kept][:-MOST_KEPT]:
                kept.pop(oldest, None)  # another thread may have done so
        return query.rows(values)

    return ask


def read(queryset: QuerySet[M, T]) -> list[T]:
    """What a queryset finds that differs each time: its rows are read faster, at least."""
    return _Query(queryset, []).rows([])


class _Query:
    """A compiled query: its SQL, where its values go, and how its rows are read."""

    def __init__(self, asked: QuerySet[Any, Any], marks: Sequence[Any]) -> None:
        self.asked: Any = asked
        self.compiler: Any = self.asked.query.get_compiler(DEFAULT_DB_ALIAS)
        try:
            self.sql, params = self.compiler.as_sql()
        except EmptyResultSet:  # it can find nothing
            self.sql = ""
            return
        self.params = list(params)
        self.places = list(_places(self.params, [_adapted(mark) for mark in marks]))
        select = self.compiler.select[: self.compiler.col_count]
        self.readers = bulk.readers_of(column for column, *_ in select)

    def rows(self, values: Sequence[Any]) -> list[Any]:
        if not self.sql:
            return []
        params = list(self.params)
        for place, number, kind in self.places:
            params[place] = kind(_adapted(values[number]))
        found = _Found(self, bulk.fetch(self.sql, params))
        query = self.asked
        stand_in = SimpleNamespace(
            db=DEFAULT_DB_ALIAS,
            model=query.model,
            query=found,
            _fields=query._fields,
            _known_related_objects=query._known_related_objects,
        )
        return list(query._iterable_class(stand_in))


class _Found:
    """Rows that were found, in the place of the query and its compiler: Django's iterables make
    objects, tuples or values of them."""

    def __init__(self, query: _Query, rows: list[Any]) -> None:
        self.compiler, self.readers, self.rows = query.compiler, query.readers, rows

    def __getattr__(self, name: str) -> Any:
        return getattr(self.compiler if name in _OF_COMPILER else self.compiler.query, name)

    def get_compiler(self, *args: Any, **options: Any) -> _Found:
        return self

    def execute_sql(self, **options: Any) -> list[Any]:
        return self.rows

    def results_iter(
        self, results: Any = None, *, tuple_expected: bool = False, **options: Any
    ) -> Iterable[Sequence[Any]]:
        rows = bulk.read_all(self.readers, self.rows)
        return map(tuple, rows) if tuple_expected else rows


_OF_COMPILER = {"select", "klass_info", "annotation_col_map"}


def _mark(place: int, value: Any) -> Any:
    if isinstance(value, datetime):
        return _MOMENT + timedelta(days=place)
    if isinstance(value, Decimal):
        return _NUMBER + place + Decimal("0.25")
    if isinstance(value, float):
        return _NUMBER + place + 0.5
    return _TEXT % place if isinstance(value, str) else _NUMBER + place


def _adapted(value: Any) -> Any:
    if isinstance(value, datetime):
        return connection.ops.adapt_datetimefield_value(value)
    return value


def _places(params: list[Any], marks: list[Any]) -> Iterator[tuple[int, int, Callable[[Any], Any]]]:
    """Where each value goes, which one, and as what."""
    numbers = {mark: number for number, mark in enumerate(marks)}
    found = {numbers[param] for param in params if _is_of(param, numbers)}
    assert len(found) == len(marks), "a value does not stand in the query as it is"
    for place, param in enumerate(params):
        if _is_of(param, numbers):
            as_it_is = isinstance(param, datetime | Decimal)
            yield place, numbers[param], _itself if as_it_is else type(param)


def _is_of(param: Any, marks: Mapping[Any, int]) -> bool:
    return isinstance(param, Hashable) and param in marks


def _itself(value: Any) -> Any:
    return value
