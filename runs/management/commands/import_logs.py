"""manage.py import_logs FILE… --agent NAME: take effect logs in from files."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, cast

from django.conf import settings
from django.core.management.base import CommandError
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from runs import ingest
from runs.accounts.models import Project
from runs.ingest import Outcome
from runs.management.installed import InstalledCommand
from runs.refusals import Refused

_NAMES = ("agent", "agent_version", "environment", "session_id", "user_id")
_IN_FOLDERS = (".effects.json", ".jsonl", ".run.json")


class Command(InstalledCommand):
    help = "Take effect logs (JSON, JSON Lines or run envelopes) in from files and folders."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
        parser.add_argument("--project", help="slug; not needed where there is only one")
        for name in _NAMES:
            parser.add_argument(f"--{name.replace('_', '-')}", default="")

    def handle(self, *args: Any, **options: Any) -> None:
        project = _project(options["project"])
        files = list(_files(options["files"]))
        names = {name: options[name] for name in _NAMES}
        failed = stored = 0
        console = Console(file=cast(IO[str], self.stderr), highlight=False)
        with _progress(console) as progress:
            for file in progress.track(files, description="Importing"):
                try:
                    stored += _take(project, file, names).stored
                except (Refused, OSError) as problem:
                    failed += 1
                    console.print(f"{file}: {problem}", markup=False, soft_wrap=True)
        done = len(files) - failed
        self.stdout.write(f"{done} of {len(files)} files imported, {stored} new effects")
        if failed:
            raise CommandError(f"{failed} of {len(files)} files were not imported", returncode=1)


def _project(slug: str | None) -> Project:
    projects = Project.objects.all()
    if slug:
        projects = projects.filter(slug=slug)
    found = list(projects[:2])
    if len(found) == 1:
        return found[0]
    if slug or not found:
        raise CommandError(f"There is no project {slug or 'yet'}.")
    raise CommandError("There are several projects; say which with --project.")


def _files(paths: list[Path]) -> Iterator[Path]:
    """The files named, and the logs (by their names) in the folders named."""
    for path in paths:
        if path.is_dir():
            yield from sorted(f for f in path.rglob("*") if f.name.endswith(_IN_FOLDERS))
        else:
            yield path


def _take(project: Project, file: Path, names: dict[str, str]) -> Outcome:
    limit = settings.INGEST_MAX_DECODED_BYTES
    if file.stat().st_size > limit:
        raise Refused("too_large", f"The file has more than {limit:,} bytes.")
    outcome = ingest.accept_log(project, file.read_bytes(), **names)
    if outcome.rejected:
        first = outcome.rejected[0]
        count = len(outcome.rejected)
        raise Refused(first.code, f"{count} effects refused; effect {first.id}: {first.message}")
    return outcome


def _progress(console: Console) -> Progress:
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
