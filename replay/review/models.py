"""Divergences and what people decided of them. Only `replay.review` writes these tables."""

from __future__ import annotations

from django.db import models
from django.utils import timezone

from replay.comparison.differences import Difference
from replay.ids import new_id
from runs.accounts.models import Project, User
from runs.models import NAME, Run

REASON = 2000
"""Characters of a reason."""
HASH = 32
MINIMUM = Difference.FACTS
"""From which class on a difference is a divergence, where a project says nothing else."""


def new_divergence_id() -> str:
    return new_id("dv")


def new_baseline_id() -> str:
    return new_id("bl")


class ReviewRules(models.Model):
    """How a project reviews. Whoever writes anything of its review updates `turn` first, so that
    they do it one after the other."""

    project = models.OneToOneField(Project, models.CASCADE, related_name="+")
    minimum = models.CharField(max_length=12, default=MINIMUM)
    turn = models.BigIntegerField(default=0)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(
                    minimum__in=[each.value for each in Difference if each.is_change]
                ),
                name="known_minimum_class",
            ),
        ]

    def __str__(self) -> str:
        return f"from {self.minimum} up"


class State(models.TextChoices):
    OPEN = "open", "open"
    ACCEPTED = "accepted", "accepted"
    REGRESSION = "regression", "regression"
    IGNORED = "ignored", "ignored"
    RESOLVED = "resolved", "resolved: it does not differ any more"


VERDICTS = (State.ACCEPTED, State.REGRESSION, State.IGNORED)
COUNTED = (State.OPEN, *VERDICTS)


class Cluster(models.Model):
    """Divergences with one cause (`clusters.digest`), and how many there are in each state."""

    project = models.ForeignKey(Project, models.CASCADE, related_name="+", db_index=False)
    digest = models.CharField(max_length=HASH)
    difference = models.CharField(max_length=12)
    severity = models.PositiveSmallIntegerField()
    agent = models.CharField(max_length=NAME, blank=True)
    effect_key = models.CharField(max_length=NAME, blank=True)
    cause = models.JSONField(default=list)
    version = models.PositiveIntegerField(default=0)
    """Goes up with each verdict in it: what a verdict says it has seen."""
    assignee = models.ForeignKey(User, models.SET_NULL, null=True, related_name="+")
    open_count = models.PositiveIntegerField(default=0)
    accepted_count = models.PositiveIntegerField(default=0)
    regression_count = models.PositiveIntegerField(default=0)
    ignored_count = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "digest"], name="one_cluster_a_cause"),
        ]
        indexes = [
            models.Index(fields=["project", "severity", "id"], name="cluster_order"),
            models.Index(
                fields=["project", "severity", "id"],
                name="cluster_open",
                condition=models.Q(open_count__gt=0),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.difference} in {self.agent or self.effect_key}"

    @property
    def total(self) -> int:
        return sum(getattr(self, f"{state}_count") for state in COUNTED)

    @property
    def label(self) -> str:
        return Difference(self.difference).label


class Divergence(models.Model):
    """A difference that somebody should look at: one of an effect of a replay."""

    public_id = models.CharField(max_length=40, unique=True, default=new_divergence_id)
    project = models.ForeignKey(Project, models.CASCADE, related_name="+", db_index=False)
    cluster = models.ForeignKey(Cluster, models.CASCADE, related_name="members", db_index=False)
    run = models.ForeignKey(Run, models.CASCADE, related_name="divergences")
    replay = models.ForeignKey("replay.Replay", models.CASCADE, related_name="+", db_index=False)
    row = models.ForeignKey("replay.ReplayEffect", models.SET_NULL, null=True, related_name="+")
    seq = models.PositiveIntegerField()
    difference = models.CharField(max_length=12)
    summary = models.CharField(max_length=NAME * 2, blank=True)
    fingerprint = models.CharField(max_length=HASH)
    """What differs, hashed: a retry that gives the same changes nothing here."""
    is_current = models.BooleanField(default=True)
    """False once a retry gave another answer; its verdict stays."""
    state = models.CharField(max_length=10, choices=State.choices, default=State.OPEN)
    version = models.PositiveIntegerField(default=0)
    decision = models.ForeignKey(
        "replay.ReviewEvent", models.SET_NULL, null=True, related_name="covered"
    )
    """The verdict that holds."""
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["replay", "seq"],
                name="one_current_divergence_an_effect",
                condition=models.Q(is_current=True),
            ),
            models.CheckConstraint(
                condition=models.Q(state__in=State.values), name="known_divergence_state"
            ),
        ]
        indexes = [
            models.Index(fields=["cluster", "state", "id"], name="divergence_member"),
            models.Index(fields=["cluster", "id"], name="divergence_of_cluster"),
            models.Index(fields=["project", "state", "id"], name="divergence_state"),
            models.Index(fields=["project", "id"], name="divergence_project"),
            models.Index(fields=["replay", "seq"], name="divergence_replay"),
        ]

    def __str__(self) -> str:
        return self.public_id

    @property
    def label(self) -> str:
        return Difference(self.difference).label


class EventKind(models.TextChoices):
    VERDICT = "verdict", "verdict"
    UNDO = "undo", "taken back"
    ASSIGNED = "assigned", "assigned"
    COMMENT = "comment", "comment"
    REPLACED = "replaced", "a retry gave another answer"
    RESOLVED = "resolved", "a retry gave an answer that does not differ"
    BY_RULE = "by_rule", "compared anew under the ignore rules"
    BASELINE_REVOKED = "revoked", "no baseline any more"


class ReviewEvent(models.Model):
    """One thing that happened in a cluster, who did it and when. Added to, never changed."""

    project = models.ForeignKey(Project, models.CASCADE, related_name="+", db_index=False)
    cluster = models.ForeignKey(Cluster, models.CASCADE, related_name="events", db_index=False)
    divergence = models.ForeignKey(Divergence, models.CASCADE, null=True, related_name="+")
    """Null: of the whole cluster."""
    kind = models.CharField(max_length=10, choices=EventKind.choices)
    verdict = models.CharField(max_length=10, blank=True)
    reason = models.CharField(max_length=REASON, blank=True)
    count = models.PositiveIntegerField(default=0)
    """How many divergences it changed."""
    detail = models.JSONField(default=dict)
    """`before`: the state a verdict on one replaced; `whom`: who was assigned, by name; `rules`:
    the ignore rules that changed one, and `difference` what it is under them."""
    undoes = models.OneToOneField("self", models.CASCADE, null=True, related_name="undone_by")
    comment = models.ForeignKey("runs.Comment", models.CASCADE, null=True, related_name="+")
    user = models.ForeignKey(User, models.SET_NULL, null=True, related_name="+", db_index=False)
    signed = models.CharField(max_length=NAME, blank=True)
    """The name as it was then; of a program, that of its key."""
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        indexes = [
            models.Index(fields=["cluster", "id"], name="review_history"),
            models.Index(
                fields=["user", "project", "id"],
                name="review_own_verdicts",
                condition=models.Q(kind="verdict"),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.verdict}".strip()


class BaselineQuerySet(models.QuerySet["Baseline"]):
    def holding(self) -> BaselineQuerySet:
        """Those that nobody revoked."""
        return self.filter(revoked_at=None)


class Baseline(models.Model):
    """An accepted answer to one request. It goes with the run it was made from."""

    public_id = models.CharField(max_length=40, unique=True, default=new_baseline_id)
    project = models.ForeignKey(Project, models.CASCADE, related_name="+", db_index=False)
    run = models.ForeignKey(Run, models.CASCADE, related_name="baselines")
    divergence = models.ForeignKey(Divergence, models.CASCADE, related_name="baselines")
    event = models.ForeignKey(ReviewEvent, models.CASCADE, related_name="baselines")
    """The verdict that accepted it."""
    effect_key = models.CharField(max_length=NAME)
    request_hash = models.CharField(max_length=HASH)
    answer_hash = models.CharField(max_length=HASH)
    answer = models.BinaryField()
    """As `ReplayEffect.answer`."""
    reason = models.CharField(max_length=REASON, blank=True)
    signed = models.CharField(max_length=NAME, blank=True)
    created_at = models.DateTimeField(default=timezone.now)
    revoked_at = models.DateTimeField(null=True)
    revoked_by = models.CharField(max_length=NAME, blank=True)

    objects = BaselineQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["project", "effect_key", "request_hash", "answer_hash"],
                name="one_baseline_an_answer",
                condition=models.Q(revoked_at=None),
            ),
        ]
        indexes = [models.Index(fields=["project", "id"], name="baseline_project")]

    def __str__(self) -> str:
        return self.public_id
