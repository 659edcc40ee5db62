"""What would happen: replays, one row per replayed effect, and experiments of several replays."""

from __future__ import annotations

from django.db import models
from django.utils import timezone

from replay.comparison.differences import Difference
from replay.ids import new_experiment_id, new_replay_id
from replay.states import ACTIVE, FINAL
from runs.accounts.models import ApiKey, Project, User
from runs.models import NAME, Effect, Run, cost_field

FINGERPRINT = 64
MESSAGE = 2000
"""Characters kept of an error's text; the provider's whole words stay in the response bytes."""


class ReplayMode(models.TextChoices):
    RECONSTRUCT = "reconstruct", "reconstruct: answered from the log, no provider"
    PROMPT = "prompt", "prompt: every recorded prompt is sent again"
    EXECUTE = "execute", "re-execute: your code runs against the recording"


class ReplayStatus(models.TextChoices):
    PLANNED = "planned", "planned"
    QUEUED = "queued", "queued"
    RUNNING = "running", "running"
    CANCELLING = "cancelling", "cancelling"
    SUCCEEDED = "succeeded", "succeeded"
    PARTIAL = "partial", "partial"
    FAILED = "failed", "failed"
    CANCELLED = "cancelled", "cancelled"


class Experiment(models.Model):
    """Runs × candidates. Rows, columns and cells are in `replay.experiments.models`."""

    public_id = models.CharField(max_length=40, unique=True, default=new_experiment_id)
    project = models.ForeignKey(Project, models.CASCADE, related_name="experiments", db_index=False)
    name = models.CharField(max_length=NAME, blank=True)
    dataset = models.ForeignKey(
        "replay.Dataset", models.SET_NULL, null=True, related_name="experiments"
    )
    asked_runs = models.PositiveIntegerField(null=True)
    """Over how many runs, those that somebody deleted since too; null: older than this."""
    gate = models.JSONField(default=dict, blank=True)
    """What it is held to: `min_same`, `max_cost_ratio`, `no_errors`."""
    fingerprint = models.CharField(max_length=FINGERPRINT, blank=True)
    """Of the question as it was asked, until it is answered."""
    created_by = models.ForeignKey(User, models.SET_NULL, null=True, related_name="+")
    created_key = models.ForeignKey(ApiKey, models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(default=timezone.now)
    finished_at = models.DateTimeField(null=True)
    """When the last replay of it ended; null while one waits or runs."""

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["project", "fingerprint"],
                condition=models.Q(finished_at=None) & ~models.Q(fingerprint=""),
                name="one_active_experiment_a_question",
            ),
        ]
        indexes = [models.Index(fields=["project", "id"], name="experiment_project")]

    def __str__(self) -> str:
        return self.public_id


class ReplayQuerySet(models.QuerySet["Replay"]):
    def of(self, project: Project) -> ReplayQuerySet:
        return self.filter(project=project).visible()

    def visible(self) -> ReplayQuerySet:
        """Without those of runs that somebody deleted a moment ago."""
        return self.filter(run__deleted_at=None)

    def for_list(self) -> ReplayQuerySet:
        """Newest first, without the columns no list shows."""
        return self.select_related("run").defer("plan", "proof", "mismatches").order_by("-pk")


class Replay(models.Model):
    """Run × candidate. The row is the truth of the job; the broker only rings."""

    public_id = models.CharField(max_length=40, unique=True, default=new_replay_id)
    project = models.ForeignKey(Project, models.CASCADE, related_name="replays")
    run = models.ForeignKey(Run, models.CASCADE, related_name="replays")
    experiment = models.ForeignKey(
        Experiment, models.SET_NULL, null=True, related_name="replays", db_index=False
    )
    mode = models.CharField(max_length=12, choices=ReplayMode.choices)
    provider = models.CharField(max_length=NAME, blank=True)
    model = models.CharField(max_length=NAME, blank=True)
    controls = models.JSONField(default=dict, blank=True)
    """What was asked for beside the model: temperature, system, effects, strict."""
    plan = models.JSONField(default=dict, blank=True)
    fingerprint = models.CharField(max_length=FINGERPRINT)
    created_by = models.ForeignKey(User, models.SET_NULL, null=True, related_name="+")
    created_key = models.ForeignKey(ApiKey, models.SET_NULL, null=True, related_name="+")

    status = models.CharField(max_length=10, choices=ReplayStatus.choices)
    attempt = models.PositiveIntegerField(default=0)
    """Goes up with every claim: the fence of everything a worker writes."""
    lost_workers = models.PositiveSmallIntegerField(default=0)
    heartbeat_at = models.DateTimeField(null=True)
    rung_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField(default=timezone.now)
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)
    error_code = models.CharField(max_length=60, blank=True)
    error_text = models.CharField(max_length=MESSAGE, blank=True)

    done = models.PositiveIntegerField(default=0)
    total = models.PositiveIntegerField(default=0)
    identical = models.BooleanField(null=True)
    faithful = models.BooleanField(null=True)
    changed = models.PositiveIntegerField(default=0)
    ignored = models.PositiveIntegerField(default=0)
    """Rows whose difference ignore rules took away, or made milder."""
    mismatches = models.JSONField(default=list, blank=True)
    """At most `results.KEPT_MISMATCHES`; `mismatch_count` says how many there are."""
    mismatch_count = models.PositiveIntegerField(default=0)
    proof = models.JSONField(null=True)

    calls = models.PositiveIntegerField(default=0)
    input_tokens = models.BigIntegerField(null=True)
    output_tokens = models.BigIntegerField(null=True)
    cache_read_tokens = models.BigIntegerField(null=True)
    cache_write_tokens = models.BigIntegerField(null=True)
    reasoning_tokens = models.BigIntegerField(null=True)
    tokens_complete = models.BooleanField(default=False)
    cost = cost_field()
    cost_complete = models.BooleanField(default=False)
    latency_ms = models.FloatField(null=True)
    original_input_tokens = models.BigIntegerField(null=True)
    original_output_tokens = models.BigIntegerField(null=True)
    original_tokens_complete = models.BooleanField(default=False)
    original_cost = cost_field()
    original_cost_complete = models.BooleanField(default=False)
    original_latency_ms = models.FloatField(null=True)

    objects = ReplayQuerySet.as_manager()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(status__in=ReplayStatus.values), name="known_replay_status"
            ),
            models.CheckConstraint(
                condition=models.Q(status__in=FINAL, finished_at__isnull=False)
                | (~models.Q(status__in=FINAL) & models.Q(finished_at=None)),
                name="final_means_finished",
            ),
            models.CheckConstraint(
                condition=models.Q(mode=ReplayMode.RECONSTRUCT, provider="", model="")
                | (models.Q(mode=ReplayMode.PROMPT) & ~models.Q(model=""))
                | models.Q(mode=ReplayMode.EXECUTE),
                name="a_model_where_prompts_are_sent",
            ),
            models.UniqueConstraint(
                fields=["run", "fingerprint"],
                condition=models.Q(status__in=ACTIVE),
                name="one_active_replay_a_question",
            ),
        ]
        indexes = [
            models.Index(fields=["project", "id"], name="replay_project"),
            models.Index(fields=["experiment", "status", "id"], name="replay_of_experiment"),
            models.Index(
                fields=["status", "heartbeat_at"],
                name="replay_active",
                condition=models.Q(status__in=ACTIVE),
            ),
        ]

    def __str__(self) -> str:
        return self.public_id

    @property
    def is_final(self) -> bool:
        return self.status in FINAL

    @property
    def candidate(self) -> str:
        """`provider:model` as the API takes it; empty for a reconstruction."""
        return f"{self.provider}:{self.model}" if self.model else ""


class CallState(models.TextChoices):
    PENDING = "pending", "not asked yet"
    IN_FLIGHT = "in_flight", "in flight"
    INTERRUPTED = "interrupted", "interrupted"
    ANSWERED = "answered", "answered"
    FAILED = "failed", "failed"


class Proven(models.TextChoices):
    """What a reconstruction can say of an effect."""

    PROVEN = "proven", "a later request repeats it exactly"
    UNPROVEN = "unproven", "no later request mentions it"
    EXPLAINED = "explained", "changed on its way by a hook or layer"
    CONTRADICTED = "contradicted", "a later request repeats it otherwise"
    BROKEN = "broken", "missing or altered"


class ReplayEffectQuerySet(models.QuerySet["ReplayEffect"]):
    def changed(self) -> ReplayEffectQuerySet:
        """Rows beyond `equivalent`: what `Replay.changed` counts."""
        return self.exclude(difference__in=("", *UNCHANGED))

    def ignored(self) -> ReplayEffectQuerySet:
        """Rows that ignore rules say something of: what `Replay.ignored` counts."""
        return self.exclude(ignored_difference="")

    def for_list(self) -> ReplayEffectQuerySet:
        """In order, with the recorded effect, without the bodies."""
        rows = self.select_related("effect", "baseline")
        return rows.defer("sent", "response", "answer", "baseline__answer").order_by("seq")


UNCHANGED = tuple(difference.value for difference in Difference if not difference.is_change)
DIFFERENCE_CHOICES = [(difference.value, difference.label) for difference in Difference]


class Answered(models.Model):
    """What came back, and how it differs: of a row, and of each of its samples."""

    difference = models.CharField(max_length=12, choices=DIFFERENCE_CHOICES, blank=True)
    """Empty until there is something to compare."""
    ignored_difference = models.CharField(max_length=12, choices=DIFFERENCE_CHOICES, blank=True)
    """What it would be without the ignore rules of its project; empty where they change nothing."""
    ignored_by = models.JSONField(default=list, blank=True)
    """The names of these rules, as they were then."""
    summary = models.CharField(max_length=NAME * 2, blank=True)
    changes = models.JSONField(default=list, blank=True)
    """[{"path", "recorded", "replayed"}]: the first changed JSON pointers, values shortened."""
    cause = models.JSONField(null=True)
    """What the class is about (`replay.review.clusters`); null where that was not kept."""
    request_hash = models.CharField(max_length=FINGERPRINT, blank=True)
    """Of what was recorded as asked; kept where the answer differs."""
    baseline = models.ForeignKey("replay.Baseline", models.SET_NULL, null=True, related_name="+")
    """The accepted answer this one was held against, instead of the recorded one."""
    notes = models.JSONField(default=list, blank=True)
    """[{"code", "path", "message"}]: what could not be carried over as recorded."""
    answered_at = models.DateTimeField(null=True)

    status_code = models.PositiveSmallIntegerField(null=True)
    request_id = models.CharField(max_length=NAME, blank=True)
    model = models.CharField(max_length=NAME, blank=True)
    """Who answered, as the provider names it."""
    finish_reason = models.CharField(max_length=40, blank=True)
    input_tokens = models.BigIntegerField(null=True)
    output_tokens = models.BigIntegerField(null=True)
    cache_read_tokens = models.BigIntegerField(null=True)
    cache_write_tokens = models.BigIntegerField(null=True)
    reasoning_tokens = models.BigIntegerField(null=True)
    cost = cost_field()
    latency_ms = models.FloatField(null=True)
    first_token_ms = models.FloatField(null=True)

    response = models.BinaryField(null=True)
    """The body as received, zstd."""
    answer = models.BinaryField(null=True)
    """What of the answer is compared and shown, JSON, zstd."""

    class Meta:
        abstract = True

    @property
    def is_change(self) -> bool:
        return bool(self.difference) and Difference(self.difference).is_change


class ReplayEffect(Answered):
    """One recorded effect in one replay: what was asked again, and how the answer differs.

    Of a call that is asked several times it holds the worst answer (`samples`).
    """

    replay = models.ForeignKey(Replay, models.CASCADE, related_name="rows", db_index=False)
    effect = models.ForeignKey(Effect, models.CASCADE, related_name="+", null=True)
    seq = models.PositiveIntegerField()
    state = models.CharField(max_length=11, choices=CallState.choices)
    proven = models.CharField(max_length=12, choices=Proven.choices, blank=True)
    attempt = models.PositiveIntegerField(default=0)
    """The replay's attempt that may write this row."""
    calls = models.PositiveSmallIntegerField(default=0)
    calls_allowed = models.PositiveSmallIntegerField(default=0)
    interruptions = models.PositiveSmallIntegerField(default=0)
    asked_at = models.DateTimeField(null=True)
    again_at = models.DateTimeField(null=True)
    """When a call that was put off goes out again, if its replay may ask then."""
    samples = models.PositiveSmallIntegerField(default=1)
    """How often it is asked; of more than one each answer is a `ReplaySample`."""
    spread = models.JSONField(default=dict, blank=True)
    """Class → how many of the samples; empty of one."""

    error_code = models.CharField(max_length=60, blank=True)
    error_text = models.CharField(max_length=MESSAGE, blank=True)

    sent = models.BinaryField(null=True)
    """The body as sent, zstd."""

    objects = ReplayEffectQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["replay", "seq"], name="one_row_an_effect"),
            models.CheckConstraint(
                condition=models.Q(state__in=CallState.values), name="known_call_state"
            ),
            models.CheckConstraint(
                condition=models.Q(difference__in=["", *(d.value for d in Difference)]),
                name="known_difference",
            ),
            models.CheckConstraint(
                condition=~models.Q(state="failed") | ~models.Q(error_code=""),
                name="failed_says_why",
            ),
        ]
        indexes = [
            models.Index(fields=["replay", "state"], name="replay_rows_by_state"),
        ]

    def __str__(self) -> str:
        return f"#{self.seq} of {self.replay_id}"


class ReplaySample(Answered):
    """One of several answers to a call. Written once, when it came."""

    row = models.ForeignKey(ReplayEffect, models.CASCADE, related_name="kept", db_index=False)
    number = models.PositiveSmallIntegerField()
    """From 1, in the order they were asked."""

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["row", "number"], name="one_sample_a_number"),
        ]

    def __str__(self) -> str:
        return f"sample {self.number} of {self.row_id}"


class RunComparison(models.Model):
    """Two runs held against each other, kept so that a page need not do it again."""

    a = models.ForeignKey(Run, models.CASCADE, related_name="+", db_index=False)
    b = models.ForeignKey(Run, models.CASCADE, related_name="+")
    state = models.CharField(max_length=120)
    """What both runs were like then; of another state it is made anew."""
    rows = models.BinaryField()
    """[[seq in a, seq in b, class, summary, asked otherwise]], JSON, zstd."""
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["a", "b"], name="one_comparison_of_two"),
        ]

    def __str__(self) -> str:
        return f"{self.a_id} and {self.b_id}"


from replay.experiments.models import (  # noqa: E402, F401  (of this app)
    Cell,
    Dataset,
    DatasetRun,
    ExperimentCandidate,
    ExperimentRun,
)
from replay.ignore_rules.models import (  # noqa: E402, F401  (of this app)
    IgnoreRule,
)
from replay.notifications.models import (  # noqa: E402, F401  (of this app)
    Bound,
    Delivery,
    Notice,
    Webhook,
)
from replay.project_providers.models import (  # noqa: E402, F401  (of this app)
    ProjectProvider,
    ProviderCall,
)
from replay.review.models import (  # noqa: E402, F401  (of this app)
    Baseline,
    Cluster,
    Divergence,
    ReviewEvent,
    ReviewRules,
)
