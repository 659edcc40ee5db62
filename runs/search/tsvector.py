"""The index on PostgreSQL: a column `words` of `SearchText`, made here word by word.

No text search configuration has a say: what a word is, is decided in `runs.search.words`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from django.db import connection, transaction

from runs.search.query import Clause
from runs.search.words import BREAK

Row = tuple[int, int, int, int, int, bool, str, list[str], list[str]]
FOUND = "t.id, t.run_id, t.seq, t.portion, t.part, t.is_long"
_MATCH = "t.words @@ %s::tsquery"
WINDOW = 4_000
"""Keys looked through at once for a phrase, which is looked for in each text that has its words."""


def insert(rows: Sequence[Row]) -> None:
    """Insert rows: run, project, seq, portion, part, is_long, body, words, scope."""
    values: list[Any] = [
        (*columns, is_long, body, _vector(words, scope, placed=not is_long))
        for *columns, is_long, body, words, scope in rows
    ]
    with connection.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO runs_searchtext"
            " (run_id, project_id, seq, portion, part, is_long, body, words)"
            " VALUES (%s, %s, %s, %s, %s, %s, %s, %s::tsvector)",
            values,
        )


def asked(scopes: Sequence[str], clauses: Sequence[Clause], singles: Sequence[Clause] = ()) -> str:
    """The query for texts of all `scopes` that have all the clauses.

    A long text needs only the `singles`, if any; its phrases are for the caller to look for.
    """
    wanted = _all(clauses)
    if singles:
        wanted = f"({wanted}) | ({_all(singles)} & '@long')"
    return " & ".join([*(f"'@{scope}'" for scope in scopes), f"({wanted})"])


def newest(wanted: str, low: int, high: int, limit: int, project_id: int, *, few: bool) -> Any:
    """Texts with keys from `low` up to but without `high`, the newest first.

    Of a `few` the words are read row by row; of many the word index is asked.
    """
    if few:
        sql = (
            f"SELECT {FOUND} FROM (SELECT * FROM runs_searchtext WHERE project_id = %s AND part = 0"
            " AND id >= %s AND id < %s ORDER BY id DESC OFFSET 0) t"
            f" WHERE {_MATCH} ORDER BY t.id DESC LIMIT %s"
        )
        return _rows(sql, [project_id, low, high, wanted, limit])
    sql = (
        f"SELECT {FOUND} FROM runs_searchtext t WHERE {_MATCH} AND t.id >= %s AND t.id < %s"
        " ORDER BY t.id DESC LIMIT %s"
    )
    return _by_index(sql, [wanted, low, high, limit])


def in_order(wanted: str, after: tuple[int, int], limit: int) -> Any:
    """Texts behind a (position, part), in the order of their run."""
    sql = (
        f"WITH found AS MATERIALIZED (SELECT {FOUND} FROM runs_searchtext t"
        f" WHERE {_MATCH} AND (t.seq, t.part) > (%s, %s))"
        " SELECT * FROM found ORDER BY seq, part LIMIT %s"
    )
    return _by_index(sql, [wanted, *after, limit])


def runs(wanted: str, limit: int) -> set[int] | None:
    """Keys of the runs with a hit; None where there are more than `limit` hits."""
    sql = f"SELECT t.run_id FROM runs_searchtext t WHERE {_MATCH} LIMIT %s"
    found = _by_index(sql, [wanted, limit + 1])
    return {key for (key,) in found} if len(found) <= limit else None


def of_keys(keys: Iterable[int]) -> tuple[str, list[Any]]:
    """A condition on the run of the query it is put in: it is one of `keys`, which are one value.
    Of thousands each by itself takes longer to write down than to look up."""
    return "runs_run.id = ANY(%s)", [[*keys]]


def of_listed_run(clauses: Sequence[Clause]) -> tuple[str, list[Any]]:
    """A condition on the run of the query it is put in: a text that is not long has the clauses."""
    sql = (
        "EXISTS (SELECT 1 FROM runs_searchtext t WHERE t.run_id = runs_run.id AND t.part = 0"
        f" AND {_MATCH})"
    )
    return sql, [_all(clauses)]


def _by_index(sql: str, values: list[Any]) -> Any:
    """Rows that the word index finds, alone or together with that of the keys. Reading a word
    vector costs far more than the planner thinks, so no scan of all or along the keys is right."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off; SET LOCAL enable_indexscan = off")
        cursor.execute(sql, values)
        found = cursor.fetchall()
        # The transaction may be a caller's.
        cursor.execute("SET LOCAL enable_seqscan = on; SET LOCAL enable_indexscan = on")
        return found


def _rows(sql: str, values: list[Any]) -> Any:
    with connection.cursor() as cursor:
        cursor.execute(sql, values)
        return cursor.fetchall()


def _all(clauses: Sequence[Clause]) -> str:
    return " & ".join(f"({_spelled(clause)})" for clause in clauses)


def _spelled(clause: Clause) -> str:
    # Words hold letters, digits and symbols only, so nothing in them is syntax inside quotes.
    return " <-> ".join(f"'{word}'" for word in clause.words) + (":*" if clause.is_start else "")


def _vector(words: Sequence[str], scope: Sequence[str], *, placed: bool) -> str:
    places: dict[str, list[str]] = {}
    for place, word in enumerate(words, 1):
        places.setdefault(word, []).append(str(place))
    places.pop(BREAK, None)
    found = [f"'{w}':{','.join(at)}" if placed else f"'{w}'" for w, at in places.items()]
    return " ".join([*found, *(f"'@{name}'" for name in scope)])
