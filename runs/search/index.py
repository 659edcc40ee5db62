"""The index of the database in use, behind one interface: `insert`, `asked`, `newest`, …."""

from __future__ import annotations

from types import ModuleType

from django.db import connection

from runs.search import fts5, tsvector

Stored = tuple[int, int, int, int, int, bool, str, list[str], list[str]]
"""run, project, seq, portion, part, is_long, body, words, scope"""
LONG = "long"
"""In the scope of a text whose phrases are in its pieces."""


def here() -> ModuleType:
    return tsvector if connection.vendor == "postgresql" else fts5


def of_project(project_id: int) -> str:
    return f"p{project_id}"


def of_run(run_id: int) -> str:
    return f"r{run_id}"


def of_pieces(run_id: int, seq: int, portion: int) -> str:
    """The pieces of one long text."""
    return f"e{run_id}s{seq}n{portion}"
