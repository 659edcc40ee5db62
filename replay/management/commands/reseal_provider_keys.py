"""Seal every provider key and webhook secret anew with the first key of REWYN_SEAL_KEY."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from replay.notifications.models import Webhook
from replay.project_providers.models import ProjectProvider
from replay.project_providers.sealing import SealedOtherwise, reseal

SEALED: tuple[tuple[type[ProjectProvider] | type[Webhook], str, str], ...] = (
    (ProjectProvider, "sealed", "name"),
    (Webhook, "sealed", "public_id"),
    (Webhook, "sealed_before", "public_id"),
)
"""Which columns hold what is sealed, and how a row is called."""


class Command(BaseCommand):
    help = "Seal what projects keep secret with the first key of REWYN_SEAL_KEY."

    def handle(self, *args: Any, **options: Any) -> None:
        done, lost = 0, list[str]()
        for model, column, name in SEALED:
            rows = model._default_manager.exclude(**{column: ""}).select_related("project")
            for row in rows:
                try:
                    held = getattr(row, column)
                    anew = reseal(held)
                except SealedOtherwise:
                    lost.append(f"{row.project.slug}/{getattr(row, name)}")
                    continue
                # Somebody may have entered another meanwhile: that one stays.
                mine = model._default_manager.filter(pk=row.pk, **{column: held})
                done += mine.update(**{column: anew})
        self.stdout.write(f"Sealed {done} anew.")
        if lost:
            raise CommandError(f"No key opens those of {', '.join(lost)}; enter them again.")
