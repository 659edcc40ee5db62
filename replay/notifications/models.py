"""Webhooks and what they are sent, bounds, and what waits in somebody's inbox.

Only `replay.notifications` writes these tables.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from django.db import models
from django.utils import timezone

from replay.ids import new_id
from replay.review.models import COUNTED
from runs.accounts.models import Project, User
from runs.models import NAME

URL = 500
SAID = 500
"""Characters kept of an answer."""
KEY = 160


def new_webhook_id() -> str:
    return new_id("wh")


def new_bound_id() -> str:
    return new_id("bd")


class Webhook(models.Model):
    """An address that is told of chosen events of a project."""

    public_id = models.CharField(max_length=40, unique=True, default=new_webhook_id)
    project = models.ForeignKey(Project, models.CASCADE, related_name="webhooks")
    url = models.CharField(max_length=URL)
    origin = models.CharField(max_length=URL, blank=True)
    """Where this server answered whoever made it: links in what is sent begin with it, unless the
    operator names another (`BASE_URL`)."""
    events = models.JSONField(default=list)
    is_active = models.BooleanField(default=True)
    sealed = models.TextField()
    """`project_providers.sealing`; shown once, when it is made."""
    sealed_before = models.TextField(blank=True)
    """The secret it took the place of, which signs as well until `before_until`."""
    before_until = models.DateTimeField(null=True)
    failing_since = models.DateTimeField(null=True)
    """The first failure since it last took something."""
    failures = models.PositiveIntegerField(default=0)
    """Events in a row that were given up."""
    switched_off_at = models.DateTimeField(null=True)
    """When it was switched off for failing."""
    created_by = models.ForeignKey(User, models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return self.public_id

    @property
    def host(self) -> str:
        """Its receiver, without what the path and the query may tell."""
        return urlsplit(self.url).netloc


class DeliveryState(models.TextChoices):
    WAITING = "waiting", "waiting"
    SENDING = "sending", "sending"
    DELIVERED = "delivered", "delivered"
    GIVEN_UP = "given_up", "given up"


LEFT = (DeliveryState.WAITING, DeliveryState.SENDING)


class Delivery(models.Model):
    """One event for one webhook. The row is the truth: it is written with what happened, and sent
    by whoever takes it."""

    webhook = models.ForeignKey(Webhook, models.CASCADE, related_name="deliveries", db_index=False)
    event_id = models.CharField(max_length=40)
    """The same in every attempt, and for every webhook that is told."""
    kind = models.CharField(max_length=40)
    key = models.CharField(max_length=KEY)
    """What happened, so that it is told once however often it is noticed."""
    body = models.TextField()
    """JSON, in ASCII: the bytes that are signed and sent."""
    state = models.CharField(
        max_length=10, choices=DeliveryState.choices, default=DeliveryState.WAITING
    )
    attempts = models.PositiveIntegerField(default=0)
    """Goes up whenever somebody takes it: the fence of what they write."""
    tries = models.PositiveSmallIntegerField(default=0)
    """Attempts since it was last put in the queue."""
    next_at = models.DateTimeField(null=True)
    """When it may be taken: its turn, or the end of the lease of who has it."""
    tried_at = models.DateTimeField(null=True)
    took_ms = models.FloatField(null=True)
    status_code = models.PositiveSmallIntegerField(null=True)
    said = models.CharField(max_length=SAID, blank=True)
    """How the answer began, or why there was none."""
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        verbose_name_plural = "deliveries"
        constraints = [
            models.UniqueConstraint(fields=["webhook", "key"], name="an_event_once_a_webhook"),
            models.CheckConstraint(
                condition=models.Q(state__in=DeliveryState.values), name="known_delivery_state"
            ),
            models.CheckConstraint(
                condition=models.Q(state__in=LEFT, next_at__isnull=False)
                | (~models.Q(state__in=LEFT) & models.Q(next_at=None)),
                name="what_is_left_has_a_turn",
            ),
        ]
        indexes = [
            models.Index(fields=["webhook", "id"], name="delivery_log"),
            models.Index(
                fields=["webhook", "next_at"],
                name="delivery_due",
                condition=models.Q(state__in=LEFT),
            ),
            models.Index(fields=["created_at"], name="delivery_age"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.event_id}"


class Measure(models.TextChoices):
    ERROR_RATE = "error_rate", "error rate"
    COST = "cost", "cost"


class Window(models.TextChoices):
    HOUR = "hour", "the last hour"
    DAY = "day", "a day"


class Bound(models.Model):
    """What a project's runs, or those of one agent, should stay under."""

    public_id = models.CharField(max_length=40, unique=True, default=new_bound_id)
    project = models.ForeignKey(Project, models.CASCADE, related_name="bounds", db_index=False)
    measure = models.CharField(max_length=10, choices=Measure.choices)
    agent = models.CharField(max_length=NAME, blank=True)
    """Empty: all runs."""
    window = models.CharField(max_length=4, choices=Window.choices)
    most = models.DecimalField(max_digits=20, decimal_places=6)
    """A share from 0 to 1, or US dollars."""
    least_runs = models.PositiveIntegerField(default=1)
    """Of fewer runs no share is taken."""
    checked_at = models.DateTimeField(default=timezone.now)
    """Goes up with each look: of two who look at once, one does."""
    next_at = models.DateTimeField(default=timezone.now)
    seen = models.JSONField(default=dict, blank=True)
    """The figures of the last look."""
    over_since = models.DateTimeField(null=True)
    told_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["project", "measure", "agent", "window"], name="one_bound_a_window"
            ),
            models.CheckConstraint(
                condition=models.Q(measure=Measure.ERROR_RATE, window__in=Window.values)
                | models.Q(measure=Measure.COST, window=Window.DAY),
                name="cost_is_of_a_day",
            ),
        ]
        indexes = [models.Index(fields=["next_at"], name="bound_due")]

    def __str__(self) -> str:
        return f"{self.measure} over {self.most}"

    @property
    def most_text(self) -> str:
        """The bound as people write it: dollars, or percent."""
        most = self.most if self.measure == Measure.COST else self.most * 100
        return f"{most.normalize():f}"

    @property
    def standing(self) -> str:
        """How the last look came out, in a word or two: what is not known is not "under"."""
        if not self.seen:
            return "not looked at yet"
        if self.seen["over"]:
            return "over"
        if self.measure == Measure.COST:
            return "under" if self.seen["cost_complete"] else "unknown"
        return "under" if self.seen["runs"] >= self.least_runs else "too few runs"

    @property
    def label(self) -> str:
        return f"{self.get_measure_display()} of {self.agent or 'all agents'}"


class NoticeKind(models.TextChoices):
    ASSIGNED = "assigned", "assigned"
    WEBHOOK_OFF = "webhook_off", "a webhook was switched off"


class Notice(models.Model):
    """Something that waits for a person beside mentions, which `runs` keeps."""

    user = models.ForeignKey(User, models.CASCADE, related_name="+", db_index=False)
    project = models.ForeignKey(Project, models.CASCADE, related_name="+")
    kind = models.CharField(max_length=12, choices=NoticeKind.choices)
    cluster = models.ForeignKey("replay.Cluster", models.CASCADE, null=True, related_name="+")
    webhook = models.ForeignKey(Webhook, models.CASCADE, null=True, related_name="+")
    signed = models.CharField(max_length=NAME, blank=True)
    """Who did it, by the name they had then."""
    created_at = models.DateTimeField(default=timezone.now)
    read_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(kind=NoticeKind.ASSIGNED, cluster__isnull=False)
                | models.Q(kind=NoticeKind.WEBHOOK_OFF, webhook__isnull=False),
                name="notice_is_about_something",
            ),
        ]
        indexes = [
            models.Index(fields=["user", "project", "id"], name="notice_inbox"),
            models.Index(
                fields=["user", "project"],
                name="notice_unread",
                condition=models.Q(read_at=None),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} for {self.user_id}"

    @property
    def state(self) -> str:
        """In which list the review page shows the cluster, where none of it is open."""
        assert self.cluster is not None
        counts = ((name, getattr(self.cluster, f"{name}_count")) for name in COUNTED)
        return next((name for name, count in counts if count), COUNTED[0])
