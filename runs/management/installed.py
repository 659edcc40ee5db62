"""Commands that work on an installation: said in one line where there is none."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import Error, connection
from django.db.migrations.executor import MigrationExecutor

NAME_IT = "Set REWYN_HOME or DATABASE_URL as the installation's start has them"


class InstalledCommand(BaseCommand):
    """A command that needs a database that is there and up to date; CommandError without it."""

    requires_system_checks: list[str] = []  # they read every page's code, which takes a second

    def execute(self, *args: Any, **options: Any) -> str | None:
        require_installation()
        return super().execute(*args, **options)


def require_installation() -> None:
    """Raises CommandError where the database is missing, away or not migrated; makes nothing."""
    require_database()
    if pending_migrations():
        raise CommandError(
            f"{database()} is empty or older than this code. {NAME_IT}, "
            "or bring it up to date with `make run` or `manage.py migrate`."
        )


def require_database() -> None:
    """Raises CommandError where a SQLite file is missing or another database does not answer."""
    name = str(connection.settings_dict["NAME"])
    if connection.vendor == "sqlite" and not Path(name).exists():
        _leave_nothing()
        raise CommandError(f"There is no {database()}. {NAME_IT}, or start one with `make run`.")
    require_answer()


def _leave_nothing() -> None:
    """Take away the home that the settings made when this process began, and only that."""
    home: Path = settings.REWYN_HOME
    if home not in settings.FOLDERS_MADE:
        return
    (home / "secret_key").unlink(missing_ok=True)
    with suppress(OSError):  # not empty: somebody else has begun to use it
        for folder in (settings.STATIC_ROOT, *settings.FOLDERS_MADE):
            folder.rmdir()


def require_answer() -> None:
    """Raises CommandError where the database cannot be opened."""
    try:
        connection.ensure_connection()
    except Error as error:
        why = str(error).strip().splitlines()[0]
        raise CommandError(f"{database()} cannot be opened ({why}). {NAME_IT}.") from error


def pending_migrations() -> bool:
    try:
        executor = MigrationExecutor(connection)
    except Error as error:
        raise CommandError(f"{database()} is no database of ours ({error}). {NAME_IT}.") from error
    return bool(executor.migration_plan(executor.loader.graph.leaf_nodes()))


def database() -> str:
    """What a person calls the database, without its password."""
    named = connection.settings_dict
    where = f" on {named['HOST']}" if named["HOST"] else ""
    return f"database {named['NAME']}{where}"
