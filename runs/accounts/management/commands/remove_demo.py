"""Delete the demo project with everything in it."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand

from runs.accounts import people


class Command(BaseCommand):
    help = "Delete the demo project: its runs, replays, keys and memberships."

    def handle(self, *args: Any, **options: Any) -> None:
        count = people.remove_demo()
        self.stdout.write("The demo is removed." if count else "There is no demo here.")
