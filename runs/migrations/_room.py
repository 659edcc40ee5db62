"""PostgreSQL need not try to compress what is compressed."""


def _keep(schema_editor, storage):
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute(f"ALTER TABLE runs_segment ALTER COLUMN data SET STORAGE {storage}")


def take_as_it_is(apps, schema_editor):
    _keep(schema_editor, "EXTERNAL")


def put_together(apps, schema_editor):
    """The way back: what is behind `data` goes into it again."""
    is_postgres = schema_editor.connection.vendor == "postgresql"
    schema_editor.execute(
        "UPDATE runs_segment SET data = CAST(data || rest AS {}) WHERE rest IS NOT NULL".format(
            "bytea" if is_postgres else "blob"
        )
    )
    _keep(schema_editor, "EXTENDED")
