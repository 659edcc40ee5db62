"""Reads that are used twice."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db import models

if TYPE_CHECKING:
    from runs.accounts.models import Project
    from runs.models import Effect, Run  # noqa: F401

OF_A_ROW = (
    *("id", "external_id", "status", "updated_at", "sort_at", "is_replay", "name", "title"),
    *("agent", "agent_version", "environment", "models_used", "session_id", "end_user"),
    *("error_text", "error_seq", "error_count", "to_review", "comment_count", "effect_count"),
    *("started_at", "duration_ms", "total_tokens", "tokens_complete", "cost", "cost_complete"),
)
"""What a row of the list shows of a run: read by name, a third of the work of whole runs."""


class RunQuerySet(models.QuerySet["Run"]):
    def of(self, project: Project) -> RunQuerySet:
        """Runs of one project."""
        return self.filter(project=project)

    def for_list(self) -> RunQuerySet:
        """Without the columns no list shows."""
        return self.defer("metadata", "warnings", "ledger")


class Visible(models.Manager["Run"]):
    """All runs but those somebody deleted a moment ago."""

    def get_queryset(self) -> models.QuerySet[Run]:
        return super().get_queryset().filter(deleted_at=None)


VisibleRuns = Visible.from_queryset(RunQuerySet)


class EffectQuerySet(models.QuerySet["Effect"]):
    def after(self, seq: int, limit: int) -> EffectQuerySet:
        """The next `limit` effects behind position `seq`, in order."""
        return self.filter(seq__gt=seq).order_by("seq")[:limit]
