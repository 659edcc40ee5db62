"""What each database needs beside the tables to find words (see `runs.search`)."""

# Words are told apart by `runs.search.words`; the databases only index them as they are.
SQLITE = (
    "CREATE VIRTUAL TABLE runs_searchwords USING fts5"
    "(words, scope, tokenize = 'ascii', columnsize = 0, prefix = '2')",
    "CREATE TRIGGER runs_searchtext_gone AFTER DELETE ON runs_searchtext BEGIN"
    " DELETE FROM runs_searchwords WHERE rowid = old.id; END",
)
POSTGRESQL = (
    "ALTER TABLE runs_searchtext ADD COLUMN words tsvector NOT NULL",
    "CREATE INDEX runs_searchtext_words ON runs_searchtext"
    " USING gin (words) WITH (gin_pending_list_limit = 1024)",
)


def add_words(apps, schema_editor):
    for statement in POSTGRESQL if schema_editor.connection.vendor == "postgresql" else SQLITE:
        schema_editor.execute(statement)


def drop_words(apps, schema_editor):
    if schema_editor.connection.vendor == "sqlite":  # PostgreSQL drops a column with its table
        schema_editor.execute("DROP TRIGGER runs_searchtext_gone")
        schema_editor.execute("DROP TABLE runs_searchwords")
