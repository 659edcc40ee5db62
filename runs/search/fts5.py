"""The index on SQLite: a full-text table beside `SearchText`, one row for one row.

Its tokenizer only splits at spaces: what a word is, is decided in `runs.search.words`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from django.db import connection

from runs.search.query import Clause
from runs.search.words import BREAK

Row = tuple[int, int, int, int, int, bool, str, list[str], list[str]]
FOUND = "f.rowid, t.run_id, t.seq, t.portion, t.part, t.is_long"
# CROSS: the index is read, and only what it finds is looked up.
_FROM = "runs_searchwords f CROSS JOIN runs_searchtext t ON t.id = f.rowid"
_MATCH = "runs_searchwords MATCH %s"
WINDOW = 20_000
"""Keys looked through at once."""


def insert(rows: Sequence[Row]) -> None:
    """Insert rows: run, project, seq, portion, part, is_long, body, words, scope."""
    with connection.cursor() as cursor:
        for *columns, is_long, body, words, scope in rows:
            cursor.execute(
                "INSERT INTO runs_searchtext"
                " (run_id, project_id, seq, portion, part, is_long, body)"
                " VALUES (%s, %s, %s, %s, %s, %s, %s) RETURNING id",
                [*columns, is_long, body],
            )
            [key] = cursor.fetchone()
            # Words of a head come in no order: nothing of it is a phrase.
            text = (f" {BREAK} " if is_long else " ").join(words)
            cursor.execute(
                "INSERT INTO runs_searchwords (rowid, words, scope) VALUES (%s, %s, %s)",
                [key, text, " ".join(scope)],
            )


def asked(scopes: Sequence[str], clauses: Sequence[Clause], singles: Sequence[Clause] = ()) -> str:
    """The query for texts of all `scopes` that have all the clauses.

    A long text needs only the `singles`, if any; its phrases are for the caller to look for.
    """
    wanted = _all(clauses)
    if singles:
        wanted = f'({wanted}) OR ({_all(singles)} AND scope : "long")'
    return " AND ".join([*(f'scope : "{scope}"' for scope in scopes), f"({wanted})"])


def newest(wanted: str, low: int, high: int, limit: int, project_id: int, *, few: bool) -> Any:
    """Texts with keys from `low` up to but without `high`, the newest first."""
    return _rows(
        f"SELECT {FOUND} FROM {_FROM} WHERE {_MATCH} AND f.rowid >= %s AND f.rowid < %s"
        " ORDER BY f.rowid DESC LIMIT %s",
        [wanted, low, high, limit],
    )


def in_order(wanted: str, after: tuple[int, int], limit: int) -> Any:
    """Texts behind a (position, part), in the order of their run."""
    return _rows(
        f"SELECT {FOUND} FROM {_FROM} WHERE {_MATCH} AND (t.seq, t.part) > (%s, %s)"
        " ORDER BY t.seq, t.part LIMIT %s",
        [wanted, *after, limit],
    )


def runs(wanted: str, limit: int) -> set[int] | None:
    """Keys of the runs with a hit; None where there are more than `limit` hits."""
    found = _rows(f"SELECT t.run_id FROM {_FROM} WHERE {_MATCH} LIMIT %s", [wanted, limit + 1])
    return {key for (key,) in found} if len(found) <= limit else None


def of_keys(keys: Iterable[int]) -> tuple[str, list[Any]]:
    """A condition on the run of the query it is put in: it is one of `keys`, which are one value.
    Of thousands each by itself takes longer to write down than to look up."""
    return "runs_run.id IN (SELECT value FROM json_each(%s))", [json.dumps([*keys])]


def of_listed_run(clauses: Sequence[Clause]) -> tuple[str, list[Any]]:
    """A condition on the run of the query it is put in: a text that is not long has the clauses.

    The start of a word is looked for in the run's own words: the index would first gather every
    text that has any word of that start, for each run anew.
    """
    whole = [clause for clause in clauses if not clause.is_start]
    starts = [clause for clause in clauses if clause.is_start]
    in_words = " AND instr(' ' || runs_searchwords.words, %s) > 0" * len(starts)
    sql = (
        "EXISTS (SELECT 1 FROM runs_searchwords"
        f" WHERE runs_searchwords MATCH ('scope : r' || runs_run.id || %s){in_words})"
    )
    match = f" AND {_all(whole)}" if whole else ""
    return sql, [match, *(f" {' '.join(clause.words)}" for clause in starts)]


def _rows(sql: str, values: list[Any]) -> Any:
    with connection.cursor() as cursor:
        cursor.execute(sql, values)
        return cursor.fetchall()


def _all(clauses: Sequence[Clause]) -> str:
    return f"words : ({' AND '.join(map(_spelled, clauses))})"


def _spelled(clause: Clause) -> str:
    # Words hold letters, digits and symbols only, so nothing in them is syntax inside quotes.
    return f'"{" ".join(clause.words)}"{" *" if clause.is_start else ""}'
