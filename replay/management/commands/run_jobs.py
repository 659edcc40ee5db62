"""Do every queued replay in this process, without a broker."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from replay import jobs
from replay.models import Replay, ReplayStatus
from runs.management.installed import InstalledCommand


class Command(InstalledCommand):
    help = "Take back what lost its worker, then do queued replays until none is left."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--limit", type=int, default=None, help="stop after so many")

    def handle(self, *args: Any, limit: int | None, **options: Any) -> None:
        jobs.sweep()
        done = 0
        while limit is None or done < limit:
            oldest = Replay.objects.filter(status=ReplayStatus.QUEUED).order_by("pk").first()
            if oldest is None:
                break
            done += jobs.run_job(oldest.public_id)
        self.stdout.write(f"{done} replays done")
