"""What happened: runs, their effects, and the segments that hold the recorded bytes.

Everything in `Run` and `Effect` is an index over the segments and can be rebuilt from them.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from django.db import models
from django.utils import timezone

from runs.accounts.models import Project, User
from runs.querysets import EffectQuerySet, RunQuerySet, VisibleRuns
from runs.storage.hashes import HashField

NAME = 200
"""Characters an id, key or name may have (the ingest limit of the same size)."""


def cost_field() -> models.DecimalField[Decimal | None, Decimal | None]:
    """US dollars, null for unknown; a cached token may cost less than a nano-dollar."""
    return models.DecimalField(null=True, max_digits=20, decimal_places=12)


class RunStatus(models.TextChoices):
    RUNNING = "running", "running"
    SUCCEEDED = "succeeded", "succeeded"
    FAILED = "failed", "failed"
    CANCELLED = "cancelled", "cancelled"
    UNKNOWN = "unknown", "unknown"


class EffectStatus(models.TextChoices):
    OK = "ok", "ok"
    ERROR = "error", "error"
    CANCELLED = "cancelled", "cancelled"
    OPEN = "open", "open"


class Family(models.TextChoices):
    """Stored values are Rig's; labels are the words of the UI."""

    COMPLETION = "completion", "model"
    TOOL = "tool", "tool"
    MEMORY = "memory", "memory"
    RETRIEVE = "retrieve", "search"
    EMBED = "embed", "embedding"
    RERANK = "rerank", "rerank"
    CUSTOM = "custom", "custom"
    UNKNOWN = "unknown", "unknown"


class SourceFormat(models.TextChoices):
    RIG_JSON = "rig", "Rig effect log"
    RIG_LINES = "rig-jsonl", "Rig effect log, JSON Lines"
    ENVELOPE = "envelope", "run envelope"


class Run(models.Model):
    project = models.ForeignKey(Project, models.CASCADE, related_name="runs", db_index=False)
    external_id = models.CharField(max_length=NAME)
    source = models.CharField(max_length=20, choices=SourceFormat.choices)
    shape = models.CharField(max_length=8, blank=True)
    """Which of the spec's §9 shapes the log has: D0, F1, R43, R44, R44d, R45+."""
    is_replay = models.BooleanField(default=False)

    agent = models.CharField(max_length=NAME, blank=True)
    agent_version = models.CharField(max_length=NAME, blank=True)
    environment = models.CharField(max_length=NAME, blank=True)
    name = models.CharField(max_length=NAME, blank=True)
    session_id = models.CharField(max_length=NAME, blank=True)
    end_user = models.CharField(max_length=NAME, blank=True)
    parent_run_id = models.CharField(max_length=NAME, blank=True)
    forked_from = models.CharField(max_length=NAME, blank=True)
    metadata = models.JSONField(default=dict, blank=True)

    status = models.CharField(max_length=10, choices=RunStatus.choices)
    started_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    received_at = models.DateTimeField(default=timezone.now)
    updated_at = models.DateTimeField(default=timezone.now)
    """When the last news of this run came in."""
    sort_at = models.DateTimeField()
    """coalesce(started_at, received_at): what time-ordered lists go by."""
    duration_ms = models.FloatField(null=True)
    clock_suspect = models.BooleanField(default=False)
    """A time that cannot be (end before start); marked, never reordered by."""

    effect_count = models.PositiveIntegerField(default=0)
    model_count = models.PositiveIntegerField(default=0)
    tool_count = models.PositiveIntegerField(default=0)
    memory_count = models.PositiveIntegerField(default=0)
    search_count = models.PositiveIntegerField(default=0)
    error_count = models.PositiveIntegerField(default=0)
    last_seq = models.PositiveIntegerField(default=0)

    input_tokens = models.BigIntegerField(null=True)
    output_tokens = models.BigIntegerField(null=True)
    cache_read_tokens = models.BigIntegerField(null=True)
    cache_write_tokens = models.BigIntegerField(null=True)
    reasoning_tokens = models.BigIntegerField(null=True)
    total_tokens = models.BigIntegerField(null=True)
    tokens_complete = models.BooleanField(default=False)
    cost = cost_field()
    cost_complete = models.BooleanField(default=False)

    models_used = models.CharField(max_length=400, blank=True)
    """Comma-separated for display; `RunLabel` is what filters use."""
    title = models.CharField(max_length=300, blank=True)
    """First user text."""
    output_text = models.CharField(max_length=300, blank=True)
    error_text = models.CharField(max_length=300, blank=True)
    error_seq = models.PositiveIntegerField(null=True)
    to_review = models.PositiveIntegerField(default=0)
    """Open divergences; kept by `replay`."""
    comment_count = models.PositiveIntegerField(default=0)
    """Kept by `runs.comments`."""

    header_rank = models.PositiveIntegerField(default=0)
    """How much of the run the header's sender knew; a lower one does not replace it."""
    warnings = models.JSONField(default=list, blank=True)
    """[{"code", "message", "path"}] of what was taken but is odd."""
    ledger = models.JSONField(default=dict, blank=True)
    """What `runs.ingest` remembers to keep this row the same whatever order batches come in."""
    bytes_received = models.BigIntegerField(default=0)
    bytes_stored = models.BigIntegerField(default=0)
    deleted_at = models.DateTimeField(null=True)
    """When somebody deleted it: from then on nobody sees it, and soon it is gone."""

    objects = VisibleRuns()
    everything = RunQuerySet.as_manager()
    """With the deleted ones that can still be brought back: for `runs.curate`."""

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "external_id"], name="one_run_an_id"),
        ]
        indexes = [
            models.Index(fields=["project", "sort_at", "id"], name="run_started"),
            # Behind its own order each has the others' columns: where all three are asked for,
            # each passes many runs, and only the few that pass all are read.
            models.Index(
                fields=["project", "agent", "sort_at", "id", "status", "environment"],
                name="run_agent",
            ),
            models.Index(
                fields=["project", "status", "sort_at", "id", "agent", "environment"],
                name="run_status",
            ),
            models.Index(
                fields=["project", "environment", "sort_at", "id", "agent", "status"],
                name="run_environment",
            ),
            models.Index(
                fields=["project", "session_id", "sort_at", "id"],
                name="run_session",
                condition=~models.Q(session_id=""),
            ),
            models.Index(
                fields=["project", "end_user", "sort_at", "id"],
                name="run_end_user",
                condition=~models.Q(end_user=""),
            ),
            models.Index(
                fields=["project", "agent_version", "sort_at", "id"],
                name="run_version",
                condition=~models.Q(agent_version=""),
            ),
            models.Index(
                fields=["project", "sort_at", "id"],
                name="run_with_errors",
                condition=models.Q(error_count__gt=0),
            ),
            models.Index(
                fields=["project", "sort_at", "id"],
                name="run_to_review",
                condition=models.Q(to_review__gt=0),
            ),
            models.Index(
                fields=["project", "sort_at", "id"],
                name="run_commented",
                condition=models.Q(comment_count__gt=0),
            ),
            models.Index(
                fields=["project", "sort_at", "id"],
                name="run_replays",
                condition=models.Q(is_replay=True),
            ),
            models.Index(fields=["project", "cost", "id"], name="run_cost"),
            models.Index(fields=["project", "duration_ms", "id"], name="run_duration"),
            models.Index(fields=["project", "total_tokens", "id"], name="run_tokens"),
            models.Index(fields=["project", "effect_count", "id"], name="run_effects"),
            models.Index(
                fields=["deleted_at"],
                name="run_deleted",
                condition=models.Q(deleted_at__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return self.external_id

    @property
    def heading(self) -> str:
        """What a person calls this run: its name, else what it was asked first."""
        return heading_of(self)


def heading_of(run: Any) -> str:
    """The heading of a run, or of a row with these columns of one."""
    heading: str = run.name or run.title or run.external_id
    return heading


class SavedView(models.Model):
    """A state of the run list under a name: somebody's own, or the project's (no owner)."""

    project = models.ForeignKey(Project, models.CASCADE, related_name="+")
    owner = models.ForeignKey(User, models.CASCADE, related_name="+", null=True)
    name = models.CharField(max_length=80)
    query = models.CharField(max_length=2000, blank=True)
    """What the address of the list says, without a place in it."""
    is_default = models.BooleanField(default=False)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "owner", "name"], name="one_view_a_name"),
            models.UniqueConstraint(
                fields=["project", "name"],
                name="one_shared_view_a_name",
                condition=models.Q(owner=None),
            ),
            models.UniqueConstraint(
                fields=["project", "owner"],
                name="one_default_view_each",
                condition=models.Q(is_default=True),
            ),
            models.UniqueConstraint(
                fields=["project"],
                name="one_default_view",
                condition=models.Q(is_default=True, owner=None),
            ),
        ]

    def __str__(self) -> str:
        return self.name


class LabelKind(models.TextChoices):
    TAG = "tag", "tag"
    MODEL = "model", "model"
    TOOL = "tool", "tool"


class RunLabel(models.Model):
    """A tag, model or tool of a run: the side table that filters join."""

    run = models.ForeignKey(Run, models.CASCADE, related_name="labels", db_index=False)
    project = models.ForeignKey(Project, models.CASCADE, related_name="+", db_index=False)
    kind = models.CharField(max_length=6, choices=LabelKind.choices)
    value = models.CharField(max_length=NAME)
    sort_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["run", "kind", "value"], name="one_label_a_run"),
        ]
        indexes = [
            models.Index(fields=["project", "kind", "value", "sort_at", "run"], name="label_value"),
        ]

    def __str__(self) -> str:
        return f"{self.kind}:{self.value}"


class SegmentKind(models.TextChoices):
    RECORDS = "records", "records"
    WIRE = "wire", "wire"
    SOURCE = "source", "source lines"
    RUN = "run", "about the run"


class Segment(models.Model):
    """Consecutive byte strings of one run, compressed together."""

    run = models.ForeignKey(Run, models.CASCADE, related_name="segments")
    kind = models.CharField(max_length=8, choices=SegmentKind.choices)
    data = models.BinaryField()
    rest = models.BinaryField(null=True)
    """Behind `data`: together they are what was compressed (see `segments.split`)."""
    raw_size = models.PositiveIntegerField()
    parts = models.JSONField(null=True)
    """What is in here beside the items: {name: [offset, length]}. The newest of a name counts.

    `header`: the log header's bytes as received. `header_lines`: those of JSON Lines, a JSON list
    of [records before it, line]. `log_extra`: members of the log beside header and records, one
    object. `envelope`: the `run` object as received. They share their words with the records, so
    compressed with them they cost almost nothing.
    """

    def __str__(self) -> str:
        return f"{self.kind} {self.pk} of {self.run_id}"


SHORT_REQUEST = 160
"""Bytes of a model call's record that may say nothing of what was asked; the shortest message is
longer."""


class Effect(models.Model):
    run = models.ForeignKey(Run, models.CASCADE, related_name="effects", db_index=False)
    seq = models.PositiveIntegerField()
    """Position in the log, fixed when it was dispatched; the first is 1."""
    effect_id = models.CharField(max_length=NAME)
    """Text: Rig's ids go to 2^64-1, past a signed 64-bit column."""
    parent_id = models.CharField(max_length=NAME, blank=True)
    """The `effect_id` of the dispatch that made this one; it may not be here (yet)."""
    depth = models.PositiveSmallIntegerField(default=0)
    scope = models.CharField(max_length=NAME, blank=True)
    family = models.CharField(max_length=10, choices=Family.choices)
    key = models.CharField(max_length=NAME)
    name = models.CharField(max_length=NAME, blank=True)
    """What was asked: model, tool or operation."""
    response_model = models.CharField(max_length=NAME, blank=True)
    """The model that says it answered, such as a dated version of the one asked."""
    inferred = models.BooleanField(default=False)
    """Name and provider are those of other effects under the same key; this one had none."""
    provider = models.CharField(max_length=NAME, blank=True)
    api = models.CharField(max_length=NAME, blank=True)
    """The origin's API name (`openai.chat`, `anthropic.messages`): the dialect."""
    status = models.CharField(max_length=10, choices=EffectStatus.choices)
    stream = models.BooleanField(default=False)
    finish_reason = models.CharField(max_length=40, blank=True)

    started_at = models.DateTimeField(null=True)
    duration_ms = models.FloatField(null=True)
    first_token_ms = models.FloatField(null=True)

    input_tokens = models.BigIntegerField(null=True)
    output_tokens = models.BigIntegerField(null=True)
    cache_read_tokens = models.BigIntegerField(null=True)
    cache_write_tokens = models.BigIntegerField(null=True)
    reasoning_tokens = models.BigIntegerField(null=True)
    total_tokens = models.BigIntegerField(null=True)
    cost = cost_field()
    recorded_cost = cost_field()
    """What the log itself says it cost; used where the price table does not know the model."""
    counted = models.BooleanField(default=False)
    """Its tokens and cost are part of the run's sums."""

    summary = models.CharField(max_length=NAME, blank=True)
    request_size = models.PositiveIntegerField(default=0)
    response_size = models.PositiveIntegerField(default=0)
    content_hash = HashField(max_length=16)
    """blake2b-128 of the record's bytes as stored."""
    redactions = models.JSONField(null=True)
    """[{"path": JSON pointer, "rule": name, "hmac": keyed hash of the original}] or null."""
    original_hash = models.CharField(max_length=32, blank=True)
    """Keyed hash of a redacted record's bytes as received."""

    segment = models.ForeignKey(Segment, models.CASCADE, related_name="+", db_index=False)
    offset = models.PositiveIntegerField()
    length = models.PositiveIntegerField()
    wire_segment = models.ForeignKey(
        Segment, models.CASCADE, related_name="+", null=True, db_index=False
    )
    wire_offset = models.PositiveIntegerField(null=True)
    wire_length = models.PositiveIntegerField(null=True)
    source_segment = models.ForeignKey(
        Segment, models.CASCADE, related_name="+", null=True, db_index=False
    )
    """The JSON Lines line a continuation came as; the record itself is stored expanded."""
    source_offset = models.PositiveIntegerField(null=True)
    source_length = models.PositiveIntegerField(null=True)

    objects = EffectQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["run", "seq"], name="one_effect_a_position"),
            models.UniqueConstraint(fields=["run", "effect_id"], name="one_effect_an_id"),
        ]
        indexes = [
            models.Index(
                fields=["run", "seq"],
                name="effect_errors",
                condition=models.Q(status__in=["error", "cancelled"]),
            ),
            models.Index(
                fields=["run", "parent_id"],
                name="effect_nested",
                condition=~models.Q(parent_id=""),
            ),
            # Almost empty: a plan looks through all calls of many runs for those that say nothing.
            models.Index(
                fields=["run", "seq"],
                name="effect_short_calls",
                condition=models.Q(family="completion", request_size__lte=SHORT_REQUEST),
            ),
        ]

    def __str__(self) -> str:
        return f"#{self.seq} {self.name or self.key}"


class Attachment(models.Model):
    """A medium of a project's records, kept once for its pages; segments hold what was recorded."""

    project = models.ForeignKey(Project, models.CASCADE, related_name="+", db_index=False)
    digest = models.CharField(max_length=64)
    """blake2b-256 of `data`, hexadecimal."""
    size = models.PositiveIntegerField()
    data = models.BinaryField()
    """As it was before it became base64; pictures and sound are compressed in themselves."""

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "digest"], name="one_attachment_a_content"),
        ]

    def __str__(self) -> str:
        return self.digest


class AttachmentUse(models.Model):
    """A run has a medium somewhere in its records."""

    run = models.ForeignKey(Run, models.CASCADE, related_name="+", db_index=False)
    attachment = models.ForeignKey(Attachment, models.CASCADE, related_name="+")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["run", "attachment"], name="one_use_a_run"),
        ]

    def __str__(self) -> str:
        return f"{self.attachment_id} in {self.run_id}"


class Tombstone(models.Model):
    """A deleted run's id, refused for a while so that a late sender does not bring it back."""

    project = models.ForeignKey(Project, models.CASCADE, related_name="+", db_index=False)
    external_id = models.CharField(max_length=NAME)
    expires_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "external_id"], name="one_tombstone_an_id"),
        ]

    def __str__(self) -> str:
        return self.external_id


from runs.comments.models import Comment, Mention  # noqa: E402, F401  (of this app)
from runs.search.models import SearchState, SearchText  # noqa: E402, F401  (of this app)
