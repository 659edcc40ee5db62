"""Search text: derived from the effects, never the truth, and made anew by `rebuild_search`.

The words themselves are where each database indexes them: a column `words` of this table on
PostgreSQL, a table of its own beside it on SQLite. A trigger takes them away with their row.
"""

from __future__ import annotations

from django.db import models

from runs.accounts.models import Project


class SearchText(models.Model):
    """A text of one effect; see `runs.search.rows` for what the parts are."""

    run = models.ForeignKey("runs.Run", models.CASCADE, related_name="+", db_index=False)
    project = models.ForeignKey(Project, models.CASCADE, related_name="+", db_index=False)
    seq = models.PositiveIntegerField()
    portion = models.PositiveSmallIntegerField(default=0)
    part = models.PositiveIntegerField(default=0)
    is_long = models.BooleanField(default=False)
    body = models.TextField(blank=True)

    class Meta:
        app_label = "runs"
        constraints = [
            models.UniqueConstraint(
                fields=["run", "seq", "portion", "part"], name="one_text_a_part"
            ),
        ]
        indexes = [
            models.Index(
                fields=["project", "id"], name="search_newest", condition=models.Q(part=0)
            ),
        ]

    def __str__(self) -> str:
        return f"text of #{self.seq} of {self.run_id}"


class SearchState(models.Model):
    """How far the index is: one row."""

    indexed_through = models.BigIntegerField(default=0)
    """Effects up to this id are indexed, but for those in `gaps`."""
    gaps = models.JSONField(default=list)
    """[[first id, last id, when seen]]: ids that were not there yet when they were passed; their
    transaction may still commit."""
    lease_until = models.FloatField(default=0)
    """One worker at a time; in seconds since 1970."""
    turn = models.PositiveBigIntegerField(default=0)
    """Counts who had the lease: a write is only of whoever has it still."""

    class Meta:
        app_label = "runs"

    def __str__(self) -> str:
        return f"indexed through {self.indexed_through}"
