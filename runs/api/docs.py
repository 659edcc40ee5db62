"""What the OpenAPI document says of each endpoint: parameters, answers, and the one error shape."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import (
    OpenApiParameter,
    OpenApiResponse,
    extend_schema,
    extend_schema_field,
)
from rest_framework import serializers

from runs.lists.filters import SORTS
from runs.models import EffectStatus, Family, RunStatus

Decorator = Callable[[Any], Any]


class Mistake(serializers.Serializer[Any]):
    code = serializers.CharField(help_text="A stable name to test for.")
    message = serializers.CharField()
    field = serializers.CharField(allow_null=True, help_text="The member at fault.")


class ErrorDetail(Mistake):
    errors = Mistake(  # type: ignore[assignment]
        many=True, required=False, help_text="Each mistake, where all are looked for."
    )


class Error(serializers.Serializer[Any]):
    error = ErrorDetail()


class Rejected(serializers.Serializer[Any]):
    index = serializers.IntegerField(allow_null=True)
    id = serializers.CharField(allow_null=True)
    code = serializers.CharField()
    message = serializers.CharField()
    field = serializers.CharField(allow_null=True)
    stored_hash = serializers.CharField(allow_null=True)
    sent_hash = serializers.CharField(allow_null=True)


class Effects(serializers.Serializer[Any]):
    stored = serializers.IntegerField()
    duplicate = serializers.IntegerField()
    rejected = Rejected(many=True)


class Accepted(serializers.Serializer[Any]):
    run_id = serializers.CharField()
    url = serializers.CharField()
    created = serializers.BooleanField()
    effects = Effects()
    changed = serializers.ListField(
        child=serializers.CharField(),
        required=False,
        help_text="If any: facts of a known run that were known otherwise before.",
    )


class Usage(serializers.Serializer[Any]):
    input_tokens = serializers.IntegerField(allow_null=True)
    output_tokens = serializers.IntegerField(allow_null=True)
    cache_read_tokens = serializers.IntegerField(allow_null=True)
    cache_write_tokens = serializers.IntegerField(allow_null=True)
    reasoning_tokens = serializers.IntegerField(allow_null=True)
    total_tokens = serializers.IntegerField(allow_null=True)


class UsageOfRun(Usage):
    complete = serializers.BooleanField(help_text="False: the tokens are at least these.")


class Counts(serializers.Serializer[Any]):
    total = serializers.IntegerField()
    completion = serializers.IntegerField()
    tool = serializers.IntegerField()
    memory = serializers.IntegerField()
    retrieve = serializers.IntegerField()


def one_of(values: list[str]) -> serializers.CharField:
    """A text that is one of these; named by its place, not as a component of its own."""
    schema = extend_schema_field({"type": "string", "enum": values})
    field: type[serializers.CharField] = schema(type("OneOf", (serializers.CharField,), {}))
    return field()


def _money() -> serializers.FloatField:
    return serializers.FloatField(allow_null=True, help_text="US dollars; null is unknown.")


class RunInList(serializers.Serializer[Any]):
    id = serializers.CharField()
    url = serializers.CharField()
    agent = serializers.CharField()
    agent_version = serializers.CharField()
    environment = serializers.CharField()
    name = serializers.CharField()
    session_id = serializers.CharField()
    user_id = serializers.CharField()
    parent_run_id = serializers.CharField()
    forked_from = serializers.CharField()
    is_replay = serializers.BooleanField()
    status = one_of(RunStatus.values)
    started_at = serializers.DateTimeField(allow_null=True)
    ended_at = serializers.DateTimeField(allow_null=True)
    received_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()
    duration_ms = serializers.FloatField(allow_null=True)
    clock_suspect = serializers.BooleanField()
    title = serializers.CharField()
    output_text = serializers.CharField()
    error_text = serializers.CharField()
    error_seq = serializers.IntegerField(allow_null=True)
    error_count = serializers.IntegerField()
    to_review = serializers.IntegerField()
    comment_count = serializers.IntegerField()
    models = serializers.ListField(child=serializers.CharField())
    effects = Counts()
    usage = UsageOfRun()
    cost = _money()
    cost_complete = serializers.BooleanField(help_text="False: the cost is at least this.")


class RunAlone(RunInList):
    source = serializers.CharField()  # type: ignore[assignment]
    shape = serializers.CharField()
    tools = serializers.ListField(child=serializers.CharField())
    tags = serializers.ListField(child=serializers.CharField())
    metadata = serializers.DictField()
    warnings = serializers.ListField(child=serializers.DictField())
    last_seq = serializers.IntegerField()
    bytes_received = serializers.IntegerField()
    bytes_stored = serializers.IntegerField()


class RunPage(serializers.Serializer[Any]):
    results = RunInList(many=True)
    next = serializers.CharField(allow_null=True)
    previous = serializers.CharField(allow_null=True)


class EffectInList(serializers.Serializer[Any]):
    id = serializers.CharField()
    seq = serializers.IntegerField()
    parent_id = serializers.CharField(allow_null=True)
    depth = serializers.IntegerField()
    scope = serializers.CharField()
    family = one_of(Family.values)
    key = serializers.CharField()
    name = serializers.CharField()
    response_model = serializers.CharField()
    inferred = serializers.BooleanField(help_text="The model is that of another call of this key.")
    provider = serializers.CharField()
    api = serializers.CharField()
    status = one_of(EffectStatus.values)
    stream = serializers.BooleanField()
    finish_reason = serializers.CharField()
    started_at = serializers.DateTimeField(allow_null=True)
    duration_ms = serializers.FloatField(allow_null=True)
    first_token_ms = serializers.FloatField(allow_null=True)
    counted = serializers.BooleanField(help_text="Part of the run's sums.")
    usage = Usage()
    cost = _money()
    summary = serializers.CharField()
    request_size = serializers.IntegerField()
    response_size = serializers.IntegerField()
    content_hash = serializers.CharField()
    redactions = serializers.ListField(child=serializers.DictField(), allow_null=True)
    has_wire = serializers.BooleanField()


class EffectWhole(EffectInList):
    record = serializers.DictField(help_text="The record, byte for byte.")
    wire = serializers.DictField(allow_null=True)


class EffectPage(serializers.Serializer[Any]):
    results = EffectInList(many=True)
    next = serializers.CharField(allow_null=True, help_text="`after` of the next page.")


class Me(serializers.Serializer[Any]):
    project = serializers.CharField()
    name = serializers.CharField()
    scope = serializers.CharField(help_text="A key's scope, or the role of a signed-in person.")


_MEANING = {
    400: "The body is not what it says it is: `malformed`, `invalid_utf8`, `incomplete`.",
    401: "`unauthenticated`: the key is missing, unknown, expired or revoked.",
    403: "`forbidden`: the key's scope or the person's role does not allow it.",
    404: "`not_found`: not there, or not in this key's project.",
    409: "`conflict`: nothing was stored; `effects.rejected` has both hashes of each item.",
    410: "`deleted`: the run was deleted and its id is refused for a while.",
    413: "`too_large`: the limit is in `error.limit`.",
    415: "`unsupported_encoding`: send identity, gzip or zstd.",
    422: "A field has a value that cannot be taken (`error.field`).",
    503: "`unavailable`: send it again after `Retry-After` seconds. Nothing was stored.",
}


def errors(*statuses: int) -> dict[int, OpenApiResponse]:
    """Error answers to declare; every endpoint has 401, 403 and 503."""
    every = sorted({401, 403, 503, *statuses})
    return {status: OpenApiResponse(Error, description=_MEANING[status]) for status in every}


def _query(
    name: str, kind: Any = OpenApiTypes.STR, text: str = "", **more: Any
) -> OpenApiParameter:
    return OpenApiParameter(name, kind, OpenApiParameter.QUERY, description=text, **more)


_ENCODING = OpenApiParameter(
    "Content-Encoding",
    OpenApiTypes.STR,
    OpenApiParameter.HEADER,
    enum=["identity", "gzip", "zstd"],
)
_TAKEN = {
    200: OpenApiResponse(Accepted, description="Everything in it was known."),
    201: OpenApiResponse(Accepted, description="Something in it was new."),
}
_IN = errors(400, 409, 410, 413, 415, 422)
_BODY = {"application/json": OpenApiTypes.OBJECT}


def _ingest(name: str, summary: str, *more: OpenApiParameter, **extra: Any) -> Decorator:
    return extend_schema(
        operation_id=name,
        summary=summary,
        tags=["Ingest"],
        request=_BODY,
        parameters=[_ENCODING, *more],
        responses={**_TAKEN, **_IN, **extra.pop("also", {})},
        **extra,
    )


accept_run = _ingest(
    "accept_run",
    "Send a run with its effect log, or what is new of it",
    description="`{run?, log?: {header, records}, times?, wire?}`. Idempotent, per item.",
)
append_effects = _ingest(
    "append_effects",
    "Append effects to a run",
    description="`{records?, positions?, times?, wire?}`. Batches may come in any order.",
    also=errors(404),
)
finish_run = _ingest(
    "finish_run",
    "End a run",
    description="`{run?, header?}`, or the members of `run` bare. May be empty.",
    also=errors(404),
)
accept_log = _ingest(
    "accept_log",
    "Send a bare effect log, as JSON or JSON Lines",
    *(_query(n) for n in ("agent", "agent_version", "environment", "name", "session_id")),
    _query("user_id"),
    _query("run_id", text="Without it the run's id follows from the log's content."),
)


def _read(
    name: str, summary: str, answer: Any, *parameters: OpenApiParameter, missing: bool = True
) -> Decorator:
    statuses = (404, 422) if missing else (422,)
    found = answer if isinstance(answer, dict) else {200: answer}
    return extend_schema(
        operation_id=name,
        summary=summary,
        tags=["Runs"],
        parameters=list(parameters),
        responses={**found, **errors(*statuses)},
    )


_EXACT = {
    "agent": "Exactly this agent",
    "version": "Exactly this version of the agent",
    "environment": "Exactly this environment",
    "model": "A model that was asked or answered",
    "tool": "A tool that was called",
    "tag": "A tag of the run",
    "user": "The `user_id` of the run",
    "session": "The `session_id` of the run",
}
_FILTERS = (
    _query("q", text='Some effect has all of it: words, "phrases", beginnings*'),
    *(_query(name, text=text) for name, text in _EXACT.items()),
    _query("status", text="One of them; may be given several times", enum=RunStatus.values,
           many=True, explode=True),
    _query("cost_min", OpenApiTypes.NUMBER, "US dollars, this or more; unknown costs are left out"),
    _query("cost_max", OpenApiTypes.NUMBER, "US dollars, this or less; unknown costs are left out"),
    _query("duration_min", OpenApiTypes.NUMBER, "Seconds, this or more; unknown ones are left out"),
    _query("duration_max", OpenApiTypes.NUMBER, "Seconds, this or less; unknown ones are left out"),
    _query("last", enum=["1h", "24h", "7d", "30d"], text="Started within this time up to now"),
    _query("since", OpenApiTypes.DATETIME, "Started then or later (UTC where no zone is named)"),
    _query("until", OpenApiTypes.DATETIME, "Started before then (UTC where no zone is named)"),
    _query("has_errors", enum=["yes", "no"], text="`yes`: some effect failed; `no`: none did"),
    _query("comments", enum=["yes", "no"], text="`yes`: has comments; `no`: has none"),
    _query("review", enum=["yes", "no"], text="`yes`: has divergences to review; `no`: has none"),
    _query("kind", enum=["original", "replay"], text="`replay`: made by a replay"),
    _query("sort", enum=list(SORTS), text="By what, `-` for most first; left out: newest first"),
)  # fmt: skip
list_runs = _read(
    "list_runs",
    "List runs, newest first",
    RunPage,
    *_FILTERS,
    _query("cursor", text="`next` of the page before"),
    _query("before", text="`previous` of the page behind"),
    _query("limit", OpenApiTypes.INT, "1 to 200; left out: 50"),
    missing=False,
)
read_run = _read("read_run", "Read a run", RunAlone)
list_effects = _read(
    "list_effects",
    "List a run's effects in order",
    EffectPage,
    _query("after", OpenApiTypes.INT, "Positions behind this one"),
    _query("limit", OpenApiTypes.INT, "1 to 1000; left out: 100"),
    _query("family", text=f"One or more of {', '.join(Family.values)}, separated by commas"),
)
read_effect = _read("read_effect", "Read one effect whole", EffectWhole)
read_log = _read(
    "read_log",
    "Read the effect log, byte for byte",
    {
        (200, "application/json"): OpenApiTypes.OBJECT,
        (200, "application/x-ndjson"): OpenApiTypes.STR,
    },
    _query("format", enum=["json", "jsonl"], text="`jsonl`: a record a line; left out: `json`"),
)
export_run = _read("export_run", "Read the envelope that gives this run again", OpenApiTypes.OBJECT)
me = _read("me", "Whose key this is", Me, missing=False)
delete_run = extend_schema(
    operation_id="delete_run",
    summary="Delete a run and all that hangs on it",
    tags=["Runs"],
    responses={204: None, **errors(404)},
)
