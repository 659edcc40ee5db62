"""Seal every provider key anew with the first key of REWYN_SEAL_KEY (rotation)."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from replay.project_providers.models import ProjectProvider
from replay.project_providers.sealing import SealedOtherwise, reseal


class Command(BaseCommand):
    help = "Seal the projects' provider keys with the first key of REWYN_SEAL_KEY."

    def handle(self, *args: Any, **options: Any) -> None:
        done, lost = 0, []
        for row in ProjectProvider.objects.exclude(sealed="").select_related("project"):
            try:
                anew = reseal(row.sealed)
            except SealedOtherwise:
                lost.append(f"{row.project.slug}/{row.name}")
                continue
            # Somebody may have entered another key meanwhile: that one stays.
            done += ProjectProvider.objects.filter(pk=row.pk, sealed=row.sealed).update(sealed=anew)
        self.stdout.write(f"Sealed {done} anew.")
        if lost:
            raise CommandError(f"No key opens those of {', '.join(lost)}; enter them again.")
