"""What the API's own documentation says of replays."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import OpenApiExample, OpenApiParameter, extend_schema

from replay.comparison.differences import Difference
from replay.models import CallState, Proven, ReplayMode, ReplayStatus
from replay.questions import MAX_MODELS, MAX_SAMPLES, MAX_TEMPERATURE
from replay.totals import TOKENS

Schema = dict[str, Any]


def _object(properties: Schema, required: list[str] | None = None) -> Schema:
    shape: Schema = {"type": "object", "properties": properties}
    return {**shape, "required": required} if required else shape


def _listed(item: Schema) -> Schema:
    return {"type": "array", "items": item}


def _or_null(kind: str) -> Schema:
    return {"type": [kind, "null"]}


_TEXT: Schema = {"type": "string"}
_COUNT: Schema = {"type": "integer", "minimum": 0}
_FLAG: Schema = {"type": "boolean"}
_ERROR = _object({"error": _object({"code": _TEXT, "message": _TEXT, "field": _or_null("string")})})
_TOKENS = {name: _or_null("integer") for name in (*TOKENS, "total_tokens")}
_USAGE = _object({**_TOKENS, "complete": _FLAG})
_SIDE: Schema = {
    "type": ["object", "null"],
    "properties": {
        "usage": _object(_TOKENS),
        "cost": _or_null("number"),
        "latency_ms": _or_null("number"),
        "first_token_ms": _or_null("number"),
        "finish_reason": _or_null("string"),
        "model": _or_null("string"),
    },
}
_MISMATCH = _object(
    {
        "kind": {"type": "string", "enum": [
            "content_changed", "not_recorded", "not_asked", "altered", "header", "error"]},
        "text": _TEXT,
        "seq": _or_null("integer"),
        "effect_id": _TEXT,
        "path": {"type": "string", "description": "JSON Pointer into the recorded side"},
        "expected": {},
        "found": {},
        "at_seq": _or_null("integer"),
        "at_path": _TEXT,
        "explained": _FLAG,
    }
)  # fmt: skip
WAITS: Schema = {
    "type": ["object", "null"],
    "description": "What keeps it from asking its next call, and until when where that is known",
    "properties": {
        "code": {"type": "string", "enum": [
            "worker", "place", "minute", "again", "stopping", "late"]},
        "message": _TEXT,
        "until": {"type": ["string", "null"], "format": "date-time"},
    },
}  # fmt: skip
REPLAY = _object(
    {
        "id": _or_null("string"),
        "url": _or_null("string"),
        "run": _TEXT,
        "mode": {"type": "string", "enum": ReplayMode.values},
        "model": {"type": ["string", "null"], "description": "`provider:model`"},
        "experiment": _or_null("string"),
        "status": {"type": "string", "enum": ReplayStatus.values},
        "error": {"type": ["object", "null"]},
        "progress": _object({"done": _COUNT, "total": _COUNT}),
        "controls": {"type": "object"},
        "plan": {"type": "object"},
        "identical": _or_null("boolean"),
        "faithful": _or_null("boolean"),
        "changed": _COUNT,
        "ignored": {**_COUNT, "description": "Differences that ignore rules took or made milder"},
        "mismatches": _listed(_MISMATCH),
        "mismatch_count": _COUNT,
        "proof": {"type": ["object", "null"]},
        "states": _object(dict.fromkeys(CallState.values, _COUNT)),
        "waits": WAITS,
        "calls": _COUNT,
        "usage": _USAGE,
        "original_usage": {"type": "object"},
        "cost": _or_null("number"),
        "cost_complete": _FLAG,
        "original_cost": _or_null("number"),
        "original_cost_complete": _FLAG,
        "cost_delta": _or_null("number"),
        "latency_ms": _or_null("number"),
        "original_latency_ms": _or_null("number"),
        "attempt": _COUNT,
        "created_at": {"type": "string", "format": "date-time"},
        "started_at": {"type": ["string", "null"], "format": "date-time"},
        "finished_at": {"type": ["string", "null"], "format": "date-time"},
    }
)
EXPERIMENT = _object({"experiment": _or_null("string"), "replays": _listed(REPLAY)})
IGNORED: Schema = {
    "type": ["object", "null"],
    "description": "What it would be without the ignore rules named here",
    "properties": {
        "class": {"type": "string", "enum": [d.value for d in Difference]},
        "rules": _listed(_TEXT),
    },
}
BASELINE: Schema = {
    "type": ["object", "null"],
    "description": "The accepted answer it was held against, and who accepted it and why",
    "properties": {
        "id": _TEXT,
        "accepted_by": _TEXT,
        "reason": _TEXT,
        "accepted_at": {"type": "string", "format": "date-time"},
        "revoked": {**_FLAG, "description": "Whether it has ended since"},
    },
}
ROW = _object(
    {
        "seq": _COUNT,
        "effect_id": _or_null("string"),
        "family": _or_null("string"),
        "name": _or_null("string"),
        "state": {"type": "string", "enum": CallState.values},
        "class": {"type": ["string", "null"], "enum": [*(d.value for d in Difference), None]},
        "changed": _FLAG,
        "ignored": IGNORED,
        "baseline": BASELINE,
        "proven": {"type": ["string", "null"], "enum": [*Proven.values, None]},
        "summary": _TEXT,
        "changes": _listed(_object({"path": _TEXT, "recorded": {}, "replayed": {}})),
        "notes": _listed(_object({"code": _TEXT, "path": _TEXT, "message": _TEXT})),
        "error": {"type": ["object", "null"]},
        "samples": {**_COUNT, "description": "How often it is asked"},
        "spread": {
            "type": ["object", "null"],
            "additionalProperties": _COUNT,
            "description": "Class → how many of the samples; the row is the worst",
        },
        "calls": _COUNT,
        "calls_allowed": _COUNT,
        "interruptions": _COUNT,
        "again_at": {"type": ["string", "null"], "format": "date-time"},
        "recorded": _SIDE,
        "replayed": _SIDE,
    }
)
SAMPLE = _object(
    {
        "number": _COUNT,
        "class": {"type": "string", "enum": [d.value for d in Difference]},
        "changed": _FLAG,
        "ignored": IGNORED,
        "baseline": BASELINE,
        "summary": _TEXT,
        "changes": _listed(_object({"path": _TEXT, "recorded": {}, "replayed": {}})),
        "answer": {"type": "object"},
        "replayed": _SIDE,
    }
)
QUESTION = _object(
    {
        "run": {"type": "string", "description": "The run's id"},
        "mode": {"type": "string", "enum": ["reconstruct", "prompt"],
                 "description": "Left out: it follows from what is changed"},
        "models": {**_listed({"type": "string", "example": "openai:gpt-5-mini"}),
                   "maxItems": MAX_MODELS,
                   "description": "Left out: the model that was recorded"},
        "temperature": {"type": "number", "minimum": 0, "maximum": MAX_TEMPERATURE},
        "system": {"type": "string", "description": "Takes the place of the system text"},
        "top_p": {"type": "number", "minimum": 0, "maximum": 1},
        "max_tokens": {"type": "integer", "minimum": 1},
        "message": {**_object({"effect": _COUNT, "index": _COUNT, "text": _TEXT},
                              ["effect", "index", "text"]),
                    "description": "A message of a call's history (from 0), and its new text"},
        "tools_off": {**_listed(_TEXT), "description": "Tools that are not offered"},
        "dangling": {"type": "string", "enum": ["drop", "supply"],
                     "description": "What becomes of tool calls without a result"},
        "dangling_result": {"type": "string", "description": "The result to supply for them"},
        "effects": {**_listed({"type": "integer", "minimum": 1}),
                    "description": "Positions of the model calls to replay; left out: all"},
        "samples": {"type": "integer", "minimum": 1, "maximum": MAX_SAMPLES,
                    "description": "How often each call is asked; each answer is kept"},
        "strict": {"type": "boolean", "description": "Stop at the first answer that differs"},
        "plan_only": {"type": "boolean", "description": "Answer the plan; send and store nothing"},
        "max_calls": {"type": "integer", "minimum": 0,
                      "description": "Refuse (409 `plan_changed`) if the plan has more calls"},
    },
    ["run"],
)  # fmt: skip


def _page(item: Schema, cursor: str) -> Schema:
    return _object({"results": _listed(item), "next": _or_null(cursor)})


_REFUSALS: dict[Any, Any] = {404: _ERROR, 422: _ERROR}
_LIMIT = OpenApiParameter("limit", int, description="Rows of one answer")

list_replays = extend_schema(
    operation_id="list_replays",
    tags=["replays"],
    parameters=[
        OpenApiParameter("run", str, description="Only replays of this run"),
        OpenApiParameter("experiment", str),
        OpenApiParameter("status", str, enum=ReplayStatus.values),
        OpenApiParameter("mode", str, enum=ReplayMode.values),
        OpenApiParameter("cursor", str, description="`next` of the answer before"),
        _LIMIT,
    ],
    responses={200: _page(REPLAY, "string"), 404: _ERROR, 422: _ERROR},
)
start_replays = extend_schema(
    operation_id="start_replay",
    tags=["replays"],
    description=(
        "Start a replay, or several with as many models (an experiment). The answer holds the "
        "plan: what is recorded, what is live, how many calls, what they may cost. Asking again "
        "while the same question is being replayed gives that replay (200)."
    ),
    request={"application/json": QUESTION},
    responses={200: REPLAY, 201: {"oneOf": [REPLAY, EXPERIMENT]}, **_REFUSALS},
    examples=[
        OpenApiExample("Reconstruct", {"run": "demo-1"}, request_only=True),
        OpenApiExample(
            "Another model", {"run": "demo-1", "models": ["openai:gpt-5-mini"]}, request_only=True
        ),
    ],
)
get_replay = extend_schema(
    operation_id="get_replay", tags=["replays"], responses={200: REPLAY, 404: _ERROR}
)
list_rows = extend_schema(
    operation_id="list_replay_effects",
    tags=["replays"],
    parameters=[
        OpenApiParameter("after", int, description="Rows behind this position"),
        OpenApiParameter("changed", bool, description="Only what differs"),
        OpenApiParameter("ignored", bool, description="Only what ignore rules say something of"),
        _LIMIT,
    ],
    responses={200: _page(ROW, "integer"), **_REFUSALS},
)
list_samples = extend_schema(
    operation_id="list_replay_samples",
    tags=["replays"],
    description="Every answer to a call that is asked several times, in the order they were asked.",
    responses={200: _object({"results": _listed(SAMPLE)}), 404: _ERROR},
)
cancel_replay = extend_schema(
    operation_id="cancel_replay",
    tags=["replays"],
    request=None,
    description="Stop it; answers that have come stay. Cancelling what is over changes nothing.",
    responses={200: REPLAY, 404: _ERROR},
)
retry_replay = extend_schema(
    operation_id="retry_replay",
    tags=["replays"],
    request=None,
    description="Ask again for what has no answer; stored answers are kept.",
    responses={200: REPLAY, 404: _ERROR, 409: _ERROR},
)
_COMPARED: Schema = {
    "type": ["object", "null"],
    "properties": {
        "seq": _COUNT,
        "family": _TEXT,
        "name": _or_null("string"),
        "status": _TEXT,
        "cost": _or_null("number"),
        "duration_ms": _or_null("number"),
    },
}
COMPARISON = _object(
    {
        "a": _TEXT,
        "b": _TEXT,
        "rows": _COUNT,
        "changed": _COUNT,
        "ignored": _COUNT,
        "asked_otherwise": _COUNT,
        "classes": {"type": "object", "additionalProperties": _COUNT},
        "complete": _FLAG,
        "results": _listed(
            _object(
                {
                    "row": _COUNT,
                    "class": {
                        "type": ["string", "null"],
                        "enum": [*(d.value for d in Difference), None],
                    },
                    "changed": _FLAG,
                    "ignored": IGNORED,
                    "summary": _TEXT,
                    "asked_otherwise": _or_null("string"),
                    "a": _COMPARED,
                    "b": _COMPARED,
                }
            )
        ),
        "next": _or_null("integer"),
    }
)
compare_runs = extend_schema(
    operation_id="compare_runs",
    tags=["replays"],
    description=(
        "Two runs side by side, their effects paired by what they asked. A row that only one has "
        "is `not_asked` (only in A) or `not_recorded` (only in B)."
    ),
    parameters=[
        OpenApiParameter("a", str, required=True, description="A run's id"),
        OpenApiParameter("b", str, required=True, description="The id of the other"),
        OpenApiParameter("after", int, description="Rows behind this one"),
        OpenApiParameter("changed", bool, description="Only what differs"),
        OpenApiParameter("ignored", bool, description="Only what ignore rules say something of"),
        OpenApiParameter("class", str, enum=[*(d.value for d in Difference), "unclassed"]),
        _LIMIT,
    ],
    responses={200: COMPARISON, **_REFUSALS},
)
