"""Sets of runs, and the rows, columns and cells of experiments.

A cell repeats the figures of its replay once that has ended, so that the sums of an experiment are
one query over narrow rows.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from django.db import models
from django.utils import timezone

from replay.comparison.differences import Difference
from replay.ids import new_id
from replay.questions import RECORDED
from runs.accounts.models import Project, User
from runs.models import NAME, Run, cost_field

MARK = 64
TOLD = 30
RECORDED_LABEL = "recorded model"
NOTHING_YET = -1
"""The severity of what has no answer."""


def new_dataset_id() -> str:
    return new_id("ds")


class Dataset(models.Model):
    """A set of runs with a name. A run that is deleted leaves it."""

    public_id = models.CharField(max_length=40, unique=True, default=new_dataset_id)
    project = models.ForeignKey(Project, models.CASCADE, related_name="datasets", db_index=False)
    name = models.CharField(max_length=NAME)
    created_by = models.ForeignKey(User, models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "name"], name="one_dataset_a_name"),
        ]

    def __str__(self) -> str:
        return self.name


class DatasetRun(models.Model):
    dataset = models.ForeignKey(Dataset, models.CASCADE, related_name="places", db_index=False)
    run = models.ForeignKey(Run, models.CASCADE, related_name="+")
    place = models.PositiveIntegerField()

    class Meta:
        verbose_name = "place in a dataset"
        verbose_name_plural = "places in datasets"
        constraints = [
            models.UniqueConstraint(fields=["dataset", "run"], name="a_run_once_in_a_dataset"),
        ]
        indexes = [models.Index(fields=["dataset", "place"], name="dataset_place")]

    def __str__(self) -> str:
        return f"{self.run_id} in {self.dataset_id}"


class ExperimentCandidate(models.Model):
    """A column: who is asked, and what is changed beside the model. Without a provider each run
    asks the model it was recorded with."""

    experiment = models.ForeignKey(
        "replay.Experiment", models.CASCADE, related_name="candidates", db_index=False
    )
    place = models.PositiveSmallIntegerField()
    provider = models.CharField(max_length=NAME)
    model = models.CharField(max_length=NAME)
    controls = models.JSONField(default=dict, blank=True)
    mark = models.CharField(max_length=MARK)
    """A hash of all that makes it this candidate."""

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["experiment", "place"], name="one_candidate_a_place"),
            models.UniqueConstraint(fields=["experiment", "mark"], name="a_candidate_once"),
        ]

    def __str__(self) -> str:
        return RECORDED if self.is_recorded else f"{self.provider}:{self.model}"

    @property
    def is_recorded(self) -> bool:
        return not self.provider

    @property
    def label(self) -> str:
        """The model, and behind it what else is changed."""
        changed = (
            _told(name, value)
            for name, value in self.controls.items()
            if name not in ("strict", "effects")
        )
        whom = RECORDED_LABEL if self.is_recorded else str(self)
        return " · ".join([whom, *changed])


def _told(name: str, value: Any) -> str:
    """A change in few words; of a text its beginning, which tells it from another."""
    if name == "tools_off":
        return f"without {', '.join(value)}"
    value = value["text"] if name == "message" else value
    if not isinstance(value, str):
        return f"{name.replace('_', ' ')} {value:g}"
    words = " ".join(value.split())
    return f"{name.replace('_', ' ')} “{words[:TOLD]}{'…' if len(words) > TOLD else ''}”"


class ExperimentRun(models.Model):
    """A row: one run, and the worst of its cells."""

    experiment = models.ForeignKey(
        "replay.Experiment", models.CASCADE, related_name="rows", db_index=False
    )
    run = models.ForeignKey(Run, models.CASCADE, related_name="+")
    place = models.PositiveIntegerField()
    severity = models.SmallIntegerField(default=NOTHING_YET)

    class Meta:
        verbose_name = "place in an experiment"
        verbose_name_plural = "places in experiments"
        constraints = [
            models.UniqueConstraint(fields=["experiment", "run"], name="a_run_once"),
            models.UniqueConstraint(fields=["experiment", "place"], name="one_run_a_place"),
        ]
        indexes = [
            models.Index(fields=["experiment", "-severity", "place"], name="experiment_worst"),
        ]

    def __str__(self) -> str:
        return f"{self.run_id} in {self.experiment_id}"


def _count() -> models.PositiveIntegerField[int, int]:
    return models.PositiveIntegerField(default=0)


class Cell(models.Model):
    """A run and a candidate: their replay, and what came of it."""

    experiment = models.ForeignKey("replay.Experiment", models.CASCADE, related_name="cells")
    row = models.ForeignKey(ExperimentRun, models.CASCADE, related_name="cells", db_index=False)
    candidate = models.ForeignKey(ExperimentCandidate, models.CASCADE, related_name="cells")
    replay = models.OneToOneField("replay.Replay", models.CASCADE, related_name="cell")
    ended = models.CharField(max_length=10, blank=True)
    """How its replay ended; empty while it waits or runs."""
    severity = models.SmallIntegerField(default=NOTHING_YET)
    """The worst class, as its place in `Difference`."""
    total = _count()
    changed = _count()
    ignored = _count()
    same = _count()
    equivalent = _count()
    wording = _count()
    facts = _count()
    arguments = _count()
    tool_calls = _count()
    structure = _count()
    not_recorded = _count()
    not_asked = _count()
    error = _count()
    recovered = _count()
    """Of `error` those answered where the recording failed."""
    input_tokens = models.BigIntegerField(null=True)
    output_tokens = models.BigIntegerField(null=True)
    tokens_complete = models.BooleanField(default=False)
    original_input_tokens = models.BigIntegerField(null=True)
    original_output_tokens = models.BigIntegerField(null=True)
    original_tokens_complete = models.BooleanField(default=False)
    cost = cost_field()
    cost_complete = models.BooleanField(default=False)
    original_cost = cost_field()
    original_cost_complete = models.BooleanField(default=False)
    latency_ms = models.FloatField(null=True)
    original_latency_ms = models.FloatField(null=True)
    latencies = models.JSONField(default=dict, blank=True)
    """{"replayed": {bin: calls}, "recorded": …}: see `replay.experiments.latency`."""

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["row", "candidate"], name="one_cell_a_place"),
        ]

    def __str__(self) -> str:
        return f"{self.row_id} × {self.candidate_id}"

    @property
    def difference(self) -> Difference | None:
        """The worst class that came; None of nothing."""
        return None if self.severity == NOTHING_YET else list(Difference)[self.severity]

    @property
    def cost_delta(self) -> Decimal | None:
        """How much more it cost; None unless both sides are wholly known."""
        if self.cost is None or self.original_cost is None:
            return None
        if not (self.cost_complete and self.original_cost_complete):
            return None
        return self.cost - self.original_cost


CLASSES = tuple(each.value for each in Difference)
FIGURES = (
    "total",
    "changed",
    "ignored",
    "input_tokens",
    "output_tokens",
    "tokens_complete",
    "original_input_tokens",
    "original_output_tokens",
    "original_tokens_complete",
    "cost",
    "cost_complete",
    "original_cost",
    "original_cost_complete",
    "latency_ms",
    "original_latency_ms",
)
"""What a cell repeats of its replay, by the same names."""
