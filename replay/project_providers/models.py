"""A project's providers, and each call that one with limits let through."""

from __future__ import annotations

from decimal import Decimal

from django.db import models
from django.utils import timezone

from replay.providers.addresses import MOST_URL
from replay.providers.kinds import KINDS, Kind
from runs.accounts.models import Project, User
from runs.models import cost_field

PROVIDER_NAME = 40
VARIABLE = 100
SAID = 500


class ProjectProvider(models.Model):
    """Who can be asked as `name:model`. The key is sealed here or stays in the environment."""

    project = models.ForeignKey(Project, models.CASCADE, related_name="providers")
    name = models.CharField(max_length=PROVIDER_NAME)
    kind = models.CharField(max_length=20)
    base_url = models.CharField(max_length=MOST_URL, blank=True)
    """Empty: where its kind is."""
    key_variable = models.CharField(max_length=VARIABLE, blank=True)
    sealed = models.TextField(blank=True)
    """`project_providers.sealing`; on no page, in no answer, in no log."""
    sealed_at = models.DateTimeField(null=True)
    created_by = models.ForeignKey(User, models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(default=timezone.now)

    parallel = models.PositiveSmallIntegerField(null=True)
    per_minute = models.PositiveIntegerField(null=True)
    replay_budget = cost_field()
    day_budget = cost_field()
    """US dollars; a day is one of UTC."""
    admitted = models.PositiveBigIntegerField(default=0)
    """Goes up with each call let through: of two who count at once, one counts again."""
    day = models.DateField(null=True)
    day_spent = models.DecimalField(default=Decimal(0), max_digits=20, decimal_places=12)

    tested_at = models.DateTimeField(null=True)
    test_model = models.CharField(max_length=200, blank=True)
    test_passed = models.BooleanField(null=True)
    test_said = models.CharField(max_length=SAID, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "name"], name="one_provider_a_name"),
            models.CheckConstraint(
                condition=models.Q(key_variable="") | models.Q(sealed=""), name="one_key_at_most"
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def manner(self) -> Kind:
        return KINDS[self.kind]

    @property
    def address(self) -> str:
        """Where it is asked."""
        return self.base_url or self.manner.base_url

    @property
    def spent_today(self) -> Decimal:
        """US dollars of the calls that limits let through today, reserved ones too."""
        return self.day_spent if self.day == timezone.now().date() else Decimal(0)

    @property
    def budget_texts(self) -> dict[str, str]:
        """The budgets that are set, without the zeros that say nothing."""
        budgets = {"replay": self.replay_budget, "day": self.day_budget}
        return {name: f"{one.normalize():f}" for name, one in budgets.items() if one is not None}

    @property
    def has_limits(self) -> bool:
        limits = (self.parallel, self.per_minute, self.replay_budget, self.day_budget)
        return any(limit is not None for limit in limits)


class ProviderCall(models.Model):
    """A call that was let through; it counts as in flight until it ended or `expires_at`."""

    provider = models.ForeignKey(ProjectProvider, models.CASCADE, related_name="+", db_index=False)
    replay = models.ForeignKey("replay.Replay", models.CASCADE, related_name="+")
    started_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)
    reserved = models.DecimalField(default=Decimal(0), max_digits=20, decimal_places=12)
    """What it may cost, by the recording; counts until the cost is known."""
    cost = cost_field()
    priced = models.BooleanField(default=True)
    """False: answered, and nobody knows for how much."""

    class Meta:
        indexes = [
            models.Index(fields=["provider", "started_at"], name="provider_calls_lately"),
            models.Index(
                fields=["provider", "expires_at"],
                name="provider_calls_in_flight",
                condition=models.Q(ended_at=None),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.provider_id} at {self.started_at}"
