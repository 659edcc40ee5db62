"""Make the search index anew from the recordings."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError

from runs.management.installed import InstalledCommand
from runs.search import indexing


class Command(InstalledCommand):
    help = "Make the search index anew from the recordings. Searches go on meanwhile."

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            count = indexing.rebuild()
        except indexing.Busy as error:
            raise CommandError(str(error)) from None
        self.stdout.write(f"{count:,} effects are searched.")
