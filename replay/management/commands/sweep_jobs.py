"""One sweep, for installations that run it from a timer."""

from __future__ import annotations

from typing import Any

from replay import jobs
from runs.management.installed import InstalledCommand


class Command(InstalledCommand):
    help = "Take back replays whose worker is gone, and ring for those that wait."

    def handle(self, *args: Any, **options: Any) -> None:
        self.stdout.write(f"{jobs.sweep(fresh=True)} replays touched")
