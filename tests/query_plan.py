"""How the database in use would read what it is asked."""

from django.db import connection


def shrink(table: str) -> None:
    """Build the indexes of a table anew: PostgreSQL, which knows nothing else of a table that was
    just filled, goes by their size, and those swell with what earlier tests rolled back."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute(f"REINDEX TABLE {table}")


def count(table: str) -> None:
    """Tell PostgreSQL what a table holds, where its plan should be that of many rows."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute(f"ANALYZE {table}")


def plan(statement: str) -> str:
    """The plan in one line. PostgreSQL would read or sort so small a table whole, so it may not
    where it can do otherwise: what it knows of the table depends on when it last looked."""
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            for way in ("seqscan", "bitmapscan", "sort", "incremental_sort"):
                cursor.execute(f"SET LOCAL enable_{way} = off")
        explain = "EXPLAIN QUERY PLAN" if connection.vendor == "sqlite" else "EXPLAIN"
        cursor.execute(f"{explain} {statement}")
        return " ".join(str(row[-1]) for row in cursor.fetchall())
