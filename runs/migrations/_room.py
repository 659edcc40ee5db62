"""How PostgreSQL keeps what only ever grows at its end, or is compressed already."""

GROWING = (
    *("runs_effect_pkey", "one_effect_a_position", "one_effect_an_id"),
    *("runs_runlabel_pkey", "one_label_a_run", "runs_segment_pkey"),
)
"""Indexes by the key of a run or of a row. A tenth of each page is kept free for what comes
between, as if that were the rule."""


def _statements(storage: str, fill: str):
    yield f"ALTER TABLE runs_segment ALTER COLUMN data SET STORAGE {storage}"
    for index in GROWING:
        yield f"ALTER INDEX {index} {fill}"


def _execute(schema_editor, statements):
    if schema_editor.connection.vendor == "postgresql":
        for statement in statements:
            schema_editor.execute(statement)


def take_less(apps, schema_editor):
    _execute(schema_editor, _statements("EXTERNAL", "SET (fillfactor = 100)"))


def take_more(apps, schema_editor):
    schema_editor.execute(
        "UPDATE runs_segment SET data = CAST(data || rest AS {}) WHERE rest IS NOT NULL".format(
            "bytea" if schema_editor.connection.vendor == "postgresql" else "blob"
        )
    )
    _execute(schema_editor, _statements("EXTENDED", "RESET (fillfactor)"))
