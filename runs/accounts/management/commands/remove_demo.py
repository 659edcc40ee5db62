"""Delete the runs the demo brought."""

from __future__ import annotations

from typing import Any

from runs import demo
from runs.accounts.models import Project
from runs.management.installed import InstalledCommand


class Command(InstalledCommand):
    help = "Delete the demo's runs; the project, its keys and every other run stay."

    def handle(self, *args: Any, **options: Any) -> None:
        projects = list(Project.objects.filter(is_demo=True))
        count = sum(demo.remove(project) for project in projects)
        said = f"The demo is removed ({count} runs)." if projects else "There is no demo here."
        self.stdout.write(said)
