from django.db import migrations

import runs.storage.hashes


def change(to: str, using: str):
    """Of PostgreSQL's column. SQLite's may hold both: rows of before keep their digits."""

    def run(apps, schema_editor):
        if schema_editor.connection.vendor == "postgresql":
            schema_editor.execute(
                f"ALTER TABLE runs_effect ALTER COLUMN content_hash TYPE {to} USING {using}"
            )

    return run


def to_digits_on_sqlite(apps, schema_editor):
    if schema_editor.connection.vendor == "sqlite":
        schema_editor.execute(
            "UPDATE runs_effect SET content_hash = lower(hex(content_hash))"
            " WHERE typeof(content_hash) = 'blob'"
        )


to_bytes = change("bytea", "decode(content_hash, 'hex')")
to_digits = change("varchar(32)", "encode(content_hash, 'hex')")


class Migration(migrations.Migration):
    dependencies = [
        ("runs", "0011_indexes_that_tell_the_other_filters"),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[
                migrations.RunPython(to_bytes, to_digits),
                migrations.RunPython(migrations.RunPython.noop, to_digits_on_sqlite),
            ],
            state_operations=[
                migrations.AlterField(
                    model_name="effect",
                    name="content_hash",
                    field=runs.storage.hashes.HashField(max_length=16),
                ),
            ],
        ),
    ]
