"""Make an API key from the shell; its token is printed once."""

from __future__ import annotations

from argparse import ArgumentParser
from datetime import timedelta
from typing import Any

from django.core.management.base import CommandError
from django.utils import timezone

from runs.accounts import keys
from runs.accounts.models import Project, Scope
from runs.management.installed import InstalledCommand
from runs.messages.loose import is_blank


class Command(InstalledCommand):
    help = "Make an API key of a project and print it; only its hash is kept."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("project", help="the project's address (slug)")
        parser.add_argument("--name", default="made by command")
        parser.add_argument("--scope", choices=Scope.values, default=Scope.INGEST.value)
        parser.add_argument("--days", type=int, help="days until it expires (default: never)")

    def handle(self, *args: Any, **options: Any) -> None:
        project = Project.objects.filter(slug=options["project"]).first()
        if project is None:
            raise CommandError(f"there is no project {options['project']!r}")
        if is_blank(options["name"]):
            raise CommandError("a key has a name that can be seen")
        days = options["days"]
        _, token = keys.mint(
            project=project,
            name=options["name"][:200],
            scope=Scope(options["scope"]),
            expires_at=timezone.now() + timedelta(days=days) if days else None,
        )
        self.stdout.write(token)
