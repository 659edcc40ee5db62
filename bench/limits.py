"""The machine's own limits, measured in the same run as the product's figures beside them."""

from __future__ import annotations

import os
import sqlite3
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import zstandard

PRAGMAS = "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;"


def bare_store(bodies: Sequence[bytes]) -> float:
    """Runs a second of one process that only compresses each body and writes it.

    To PostgreSQL when DATABASE_URL says so, else to an SQLite file: one transaction a run, one row
    for the segment and twelve narrow ones. No HTTP, no parsing, no Django.
    """
    url = os.environ.get("DATABASE_URL", "")
    return _bare_postgres(url, bodies) if url.startswith("postgres") else _bare_sqlite(bodies)


def _bare_sqlite(bodies: Sequence[bytes]) -> float:
    with tempfile.TemporaryDirectory() as folder:
        db = sqlite3.connect(Path(folder) / "bare.sqlite3", isolation_level=None)
        db.executescript(PRAGMAS)
        db.execute("CREATE TABLE segment (id INTEGER PRIMARY KEY, data BLOB)")
        db.execute("CREATE TABLE effect (id INTEGER PRIMARY KEY, run INT, seq INT, name TEXT)")
        compressor, began = zstandard.ZstdCompressor(level=3), time.perf_counter()
        for number, body in enumerate(bodies):
            data = compressor.compress(body)
            db.execute("BEGIN IMMEDIATE")
            db.execute("INSERT INTO segment (data) VALUES (?)", (data,))
            rows = [(number, seq, "claude-sonnet-4-5") for seq in range(12)]
            db.executemany("INSERT INTO effect (run, seq, name) VALUES (?, ?, ?)", rows)
            db.execute("COMMIT")
        return len(bodies) / (time.perf_counter() - began)


def _bare_postgres(url: str, bodies: Sequence[bytes]) -> float:
    import psycopg

    with psycopg.connect(url, autocommit=True) as db:
        db.execute("CREATE TEMP TABLE segment (id bigserial PRIMARY KEY, data bytea)")
        db.execute("CREATE TEMP TABLE effect (id bigserial PRIMARY KEY, run int, seq int, n text)")
        compressor, began = zstandard.ZstdCompressor(level=3), time.perf_counter()
        for number, body in enumerate(bodies):
            data = compressor.compress(body)
            with db.transaction(), db.cursor() as cursor:
                cursor.execute("INSERT INTO segment (data) VALUES (%s)", (data,))
                rows = [(number, seq, "claude-sonnet-4-5") for seq in range(12)]
                cursor.executemany("INSERT INTO effect (run, seq, n) VALUES (%s, %s, %s)", rows)
        return len(bodies) / (time.perf_counter() - began)
