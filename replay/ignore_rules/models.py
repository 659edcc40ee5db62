"""The ignore rules of projects. Only `replay.ignore_rules.keeping` writes them."""

from __future__ import annotations

from django.db import models
from django.utils import timezone

from replay.ignore_rules.rule import MAX_NAME, MAX_PATH, MAX_PLACE
from runs.accounts.models import Project
from runs.models import NAME
from runs.own_patterns import MAX_PATTERN


class IgnoreRule(models.Model):
    """One thing that is no difference here; `rule.Rule` is what it means."""

    project = models.ForeignKey(
        Project, models.CASCADE, related_name="ignore_rules", db_index=False
    )
    name = models.CharField(max_length=MAX_NAME)
    pattern = models.CharField(max_length=MAX_PATTERN, blank=True)
    path = models.CharField(max_length=MAX_PATH, blank=True)
    tool = models.CharField(max_length=MAX_PLACE, blank=True)
    key = models.CharField(max_length=MAX_PLACE, blank=True)
    signed = models.CharField(max_length=NAME, blank=True)
    """Who added it, by name; of a program, that of its key."""
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "name"], name="one_ignore_rule_a_name"),
        ]

    def __str__(self) -> str:
        return self.name

    def as_given(self) -> dict[str, str]:
        """Its members as a person or a program gives them."""
        return {
            "name": self.name,
            "pattern": self.pattern,
            "path": self.path,
            "tool": self.tool,
            "key": self.key,
        }
