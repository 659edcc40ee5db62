"""Comments on an effect, and the people they mention."""

from __future__ import annotations

from django.db import models
from django.utils import timezone

from runs.accounts.models import Project, User

LONGEST = 10_000
"""Characters of a comment."""


class Comment(models.Model):
    """What somebody said about an effect. `about` names what of it, such as a divergence of one
    of its replays; empty is the effect itself."""

    run = models.ForeignKey("runs.Run", models.CASCADE, related_name="comments", db_index=False)
    seq = models.PositiveIntegerField()
    about = models.CharField(max_length=60, blank=True)
    author = models.ForeignKey(User, models.SET_NULL, null=True, related_name="+")
    """Null for one that a program sent, or whose author is gone."""
    signed = models.CharField(max_length=200)
    """The author's name as it was when this was written; of a program, that of its key."""
    text = models.TextField()
    created_at = models.DateTimeField(default=timezone.now)
    edited_at = models.DateTimeField(null=True)

    class Meta:
        app_label = "runs"
        verbose_name = "comment"
        indexes = [models.Index(fields=["run", "seq", "id"], name="comment_place")]

    def __str__(self) -> str:
        return f"comment {self.pk} on #{self.seq}"


class Mention(models.Model):
    """A person named in a comment. `name` is how they were named there."""

    comment = models.ForeignKey(Comment, models.CASCADE, related_name="mentions")
    user = models.ForeignKey(User, models.CASCADE, related_name="+", db_index=False)
    project = models.ForeignKey(Project, models.CASCADE, related_name="+")
    name = models.CharField(max_length=200)
    read_at = models.DateTimeField(null=True)

    class Meta:
        app_label = "runs"
        constraints = [
            models.UniqueConstraint(fields=["comment", "user"], name="one_mention_a_comment"),
        ]
        indexes = [
            models.Index(fields=["user", "project", "id"], name="mention_inbox"),
            models.Index(
                fields=["user", "project"],
                name="mention_unread",
                condition=models.Q(read_at=None),
            ),
        ]

    def __str__(self) -> str:
        return f"@{self.name} in {self.comment_id}"
