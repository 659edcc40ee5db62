"""Make a large store of a small one: rows of runs, labels and effects copied inside the database.

Each copy of a run has an id of its own and stands some minutes earlier; copies share the segments
of the run they are made of, so that lists, indexes and windows are as large as they would be and
the disk is not.
"""

from __future__ import annotations

import sqlite3
from typing import Any

MINUTES = 37
"""Between a copy and the next: copies of one run lie all over the list."""
_SHIFTED = {"started_at", "ended_at", "received_at", "updated_at", "sort_at"}


def multiply(database: str, copies: int) -> int:
    """Copy every run of `database` (a SQLite file or a PostgreSQL URL); how many there are."""
    is_postgres = database.startswith("postgres")
    db: Any = _postgres(database) if is_postgres else sqlite3.connect(database, timeout=60)
    steps = {table: _largest(db, table) for table in ("runs_run", "runs_runlabel", "runs_effect")}
    for number in range(1, copies + 1):
        for table in steps:
            db.execute(_copy(db, table, number, steps, is_postgres))
        db.commit()
    # Copies are not indexed for search, which would take half an hour: reading is what is measured,
    # beside a worker that has nothing to do.
    db.execute("UPDATE runs_searchstate SET indexed_through = (SELECT max(id) FROM runs_effect)")
    if is_postgres:
        for table in steps:
            db.execute(f"SELECT setval('{table}_id_seq', (SELECT max(id) FROM {table}))")
    db.commit()
    if is_postgres:  # what autovacuum has done where runs came in over days
        db.autocommit = True
        db.execute("VACUUM")
    db.execute("ANALYZE")
    db.commit()
    count = int(db.execute("SELECT count(*) FROM runs_run").fetchone()[0])
    db.close()
    return count


def _postgres(url: str) -> Any:
    import psycopg

    return psycopg.connect(url)


def _largest(db: Any, table: str) -> int:
    return int(db.execute(f"SELECT max(id) FROM {table}").fetchone()[0])


def _copy(db: Any, table: str, number: int, steps: dict[str, int], is_postgres: bool) -> str:
    columns = [c[0] for c in db.execute(f"SELECT * FROM {table} LIMIT 0").description]
    minutes = number * MINUTES
    values = []
    for name in columns:
        if name == "id":
            values.append(f"id + {number * steps[table]}")
        elif name == "run_id":
            values.append(f"run_id + {number * steps['runs_run']}")
        elif name == "external_id":
            values.append(f"external_id || '-{number}'")
        elif name in _SHIFTED:
            values.append(_earlier(name, minutes, is_postgres))
        else:
            values.append(f'"{name}"')
    names = ", ".join(f'"{name}"' for name in columns)
    return (
        f"INSERT INTO {table} ({names}) SELECT {', '.join(values)} FROM {table}"
        f" WHERE id <= {steps[table]}"
    )


def _earlier(name: str, minutes: int, is_postgres: bool) -> str:
    if is_postgres:
        return f"{name} - interval '{minutes} minutes'"
    return f"strftime('%Y-%m-%d %H:%M:%f', {name}, '-{minutes} minutes') || '000'"
