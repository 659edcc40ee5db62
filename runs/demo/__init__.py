"""The demo: a few recorded logs that ship with the product, loaded once, removed by one call."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from runs import curate, ingest
from runs.accounts.models import Project
from runs.models import Run

SLUG, NAME = "demo", "Demo"
LOGS = Path(__file__).parent / "logs"
EXAMPLE = LOGS / "support-triage.effects.json"
MANIFEST = Path(__file__).parent / "manifest.json"


def load(project: Project) -> int:
    """Send every demo log through the ordinary door; returns how many runs are new."""
    created = 0
    for entry in _entries():
        body = (LOGS / entry["file"]).read_bytes()
        envelope = b'{"run":' + json.dumps(entry["run"]).encode() + b',"log":' + body + b"}"
        created += ingest.accept_run(project, envelope).created
    Project.objects.filter(pk=project.pk).update(is_demo=True)
    return created


def remove(project: Project) -> int:
    """Delete the demo's runs and nothing else; how many there were. Project and keys stay."""
    ids = [entry["run"]["id"] for entry in _entries()]
    found = list(Run.objects.filter(project=project, external_id__in=ids))
    for run in found:
        curate.delete_run(run)
    Project.objects.filter(pk=project.pk).update(is_demo=False)
    return len(found)


def _entries() -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = json.loads(MANIFEST.read_text())
    return entries
