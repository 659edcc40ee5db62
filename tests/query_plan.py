"""How the database in use would read what it is asked."""

from django.db import connection


def plan(statement: str) -> str:
    """The plan in one line. PostgreSQL would read so small a table whole, so it may not."""
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off")
        explain = "EXPLAIN QUERY PLAN" if connection.vendor == "sqlite" else "EXPLAIN"
        cursor.execute(f"{explain} {statement}")
        return " ".join(str(row[-1]) for row in cursor.fetchall())
