"""What the API's own documentation says of experiments and datasets."""

from __future__ import annotations

from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiExample, OpenApiParameter, extend_schema

from replay.comparison.differences import Difference
from replay.experiments.asked import MAX_CANDIDATES, MAX_RUNS
from replay.experiments.matrix import CLASS_CHOICES, SORTS, STATUS_CHOICES
from replay.experiments.summary import ENDS

Schema = dict[str, Any]


def _object(properties: Schema, required: list[str] | None = None) -> Schema:
    shape: Schema = {"type": "object", "properties": properties}
    return {**shape, "required": required} if required else shape


def _listed(item: Schema, **more: Any) -> Schema:
    return {"type": "array", "items": item, **more}


def _or_null(kind: str) -> Schema:
    return {"type": [kind, "null"]}


_TEXT: Schema = {"type": "string"}
_FLAG: Schema = {"type": "boolean"}
_COUNT: Schema = {"type": "integer", "minimum": 0}
_NUMBER = _or_null("number")
_TIME: Schema = {"type": "string", "format": "date-time"}
_ERROR = _object({"error": _object({"code": _TEXT, "message": _TEXT, "field": _or_null("string")})})
_CLASS: Schema = {"type": ["string", "null"], "enum": [*(one.value for one in Difference), None]}
_PERCENTILES = _object({"p50": _NUMBER, "p95": _NUMBER, "calls": _COUNT})
_TOKENS: Schema = {
    "input_tokens": _or_null("integer"),
    "output_tokens": _or_null("integer"),
    "tokens_complete": _FLAG,
    "original_input_tokens": _or_null("integer"),
    "original_output_tokens": _or_null("integer"),
    "original_tokens_complete": _FLAG,
}
_CANDIDATE: Schema = {"candidate": _COUNT, "model": _TEXT, "controls": {"type": "object"}}
GATE_ASKED = _object(
    {
        "min_same": {"type": "number", "minimum": 0, "maximum": 1},
        "max_cost_ratio": {"type": "number", "minimum": 0},
        "no_errors": _FLAG,
    }
)
CHECK = _object(
    {
        "candidate": _TEXT,
        "place": _COUNT,
        "check": _TEXT,
        "limit": {},
        "value": {},
        "passed": _FLAG,
    },
)
COLUMN = _object(
    {
        **_CANDIDATE,
        "runs": _COUNT,
        "ended": _object(dict.fromkeys(ENDS, _COUNT)),
        "calls": _COUNT,
        "classes": _object({one.value: _COUNT for one in Difference}),
        "changed": _COUNT,
        "ignored": _COUNT,
        "same_share": _NUMBER,
        "errors": _COUNT,
        "to_review": _COUNT,
        "regressions": _COUNT,
        "cost": _NUMBER,
        "cost_complete": _FLAG,
        "original_cost": _NUMBER,
        "original_cost_complete": _FLAG,
        "cost_ratio": _NUMBER,
        **_TOKENS,
        "latency_ms": _PERCENTILES,
        "original_latency_ms": _PERCENTILES,
    }
)
_LINE: Schema = {
    "id": _or_null("string"),
    "url": _or_null("string"),
    "name": _TEXT,
    "dataset": _or_null("string"),
    "finished": _FLAG,
    "created_at": _TIME,
    "finished_at": {"type": ["string", "null"], "format": "date-time"},
}
EXPERIMENT = _object(
    {
        **_LINE,
        "status": {"type": "string", "enum": ["planned", "running", *ENDS]},
        "progress": _object({"done": _COUNT, "total": _COUNT}),
        "deleted_runs": _COUNT,
        "gate": _object({"passed": _FLAG, "checks": _listed(CHECK)}),
        "candidates": _listed(COLUMN),
        "plan": {"type": "object"},
        "added": _COUNT,
    }
)
CELL = _object(
    {
        "candidate": _COUNT,
        "replay": _TEXT,
        "model": _TEXT,
        "status": _TEXT,
        "class": _CLASS,
        "changed": _COUNT,
        "ignored": _COUNT,
        "total": _COUNT,
        "cost": _NUMBER,
        "cost_complete": _FLAG,
        "original_cost": _NUMBER,
        "original_cost_complete": _FLAG,
        "cost_delta": _NUMBER,
        **_TOKENS,
        "latency_ms": _NUMBER,
        "latency_calls": _COUNT,
        "original_latency_ms": _NUMBER,
        "original_latency_calls": _COUNT,
        "error": _or_null("string"),
    }
)
LINE = _object({"run": _TEXT, "title": _TEXT, "cells": _listed(CELL)})
MATRIX = _object(
    {
        "candidates": _listed(_object(_CANDIDATE)),
        "results": _listed(LINE),
        "next": _or_null("string"),
    }
)
_OVERRIDES: Schema = {
    "temperature": {"type": "number", "minimum": 0},
    "system": _TEXT,
    "strict": _FLAG,
}
_MODELS = _listed({"type": "string", "example": "openai:gpt-5-mini"}, maxItems=MAX_CANDIDATES)
_EACH = "`provider:model`, or `recorded`: of each run its own. With the overrides beside it"
_ASKED: Schema = {
    "models": {**_MODELS, "description": _EACH},
    "candidates": _listed(
        _object({"model": _TEXT, **_OVERRIDES}, ["model"]),
        description="Instead of `models`: candidates with overrides of their own",
        maxItems=MAX_CANDIDATES,
    ),
    **_OVERRIDES,
    "plan_only": {"type": "boolean", "description": "Answer the plan; send and store nothing"},
    "max_calls": {"type": "integer", "minimum": 0,
                  "description": "Refuse (409 `plan_changed`) if the plan has more calls"},
}  # fmt: skip
QUESTION = _object(
    {
        "name": _TEXT,
        "runs": _listed(_TEXT, maxItems=MAX_RUNS, description="Ids of runs"),
        "dataset": {"type": "string", "description": "Instead of `runs`: the id of a kept set"},
        "gate": GATE_ASKED,
        **_ASKED,
    }
)
DATASET = _object({"id": _TEXT, "name": _TEXT, "runs": _COUNT, "created_at": _TIME})
_KEPT = _object({"name": _TEXT, "runs": _listed(_TEXT, maxItems=MAX_RUNS)}, ["name", "runs"])


def _page(item: Schema) -> Schema:
    return _object({"results": _listed(item), "next": _or_null("string")})


_REFUSALS: dict[Any, Any] = {404: _ERROR, 422: _ERROR}
_PAGED = [
    OpenApiParameter("cursor", str, description="`next` of the answer before"),
    OpenApiParameter("limit", int, description="Rows of one answer"),
]
_GATE = [
    OpenApiParameter("min_same", float, description="Least share of calls same or equivalent"),
    OpenApiParameter("max_cost_ratio", float, description="Most cost, as a multiple of recorded"),
    OpenApiParameter("no_errors", bool, description="No call failed or is unanswered"),
]
_TAGS = ["experiments"]

list_experiments = extend_schema(
    operation_id="list_experiments",
    tags=_TAGS,
    parameters=_PAGED,
    responses={200: _page(_object(_LINE)), 422: _ERROR},
)
start_experiment = extend_schema(
    operation_id="start_experiment",
    tags=_TAGS,
    description=(
        "Replay each run with each candidate. The answer holds the plan: how many calls, what they "
        "may cost, what cannot be carried over. Asking again while the same runs and candidates "
        "are being replayed gives that experiment (200)."
    ),
    request={"application/json": QUESTION},
    responses={200: EXPERIMENT, 201: EXPERIMENT, 409: _ERROR, **_REFUSALS},
    examples=[
        OpenApiExample(
            "Two models, held to a gate",
            {
                "runs": ["demo-1", "demo-2"],
                "models": ["openai:gpt-5-mini", "anthropic:claude-haiku-4-5"],
                "gate": {"min_same": 0.9, "max_cost_ratio": 1.0, "no_errors": True},
            },
            request_only=True,
        )
    ],
)
get_experiment = extend_schema(
    operation_id="get_experiment",
    tags=_TAGS,
    description="Status, sums per candidate, and the gate. A parameter replaces what was kept.",
    parameters=_GATE,
    responses={200: EXPERIMENT, **_REFUSALS},
)
get_matrix = extend_schema(
    operation_id="get_experiment_matrix",
    tags=_TAGS,
    parameters=[
        OpenApiParameter("sort", str, enum=SORTS),
        OpenApiParameter("class", str, enum=CLASS_CHOICES, description="The worst of some cell"),
        OpenApiParameter("status", str, enum=STATUS_CHOICES, description="Of that same cell"),
        OpenApiParameter("candidate", int, description="Whose cell it has to be"),
        *_PAGED,
    ],
    responses={200: MATRIX, **_REFUSALS},
)
cancel_experiment = extend_schema(
    operation_id="cancel_experiment",
    tags=_TAGS,
    request=None,
    description="Stop it; answers that have come stay. Stopping what is over changes nothing.",
    responses={200: EXPERIMENT, 404: _ERROR},
)
retry_experiment = extend_schema(
    operation_id="retry_experiment",
    tags=_TAGS,
    request=None,
    description="Ask again for what has no answer; stored answers are kept.",
    responses={200: EXPERIMENT, 404: _ERROR, 409: _ERROR},
)
add_candidates = extend_schema(
    operation_id="add_experiment_candidates",
    tags=_TAGS,
    description="More columns for the same runs. Candidates that are there are not asked again.",
    request={"application/json": _object(_ASKED)},
    responses={200: EXPERIMENT, 201: EXPERIMENT, **_REFUSALS},
)
export_experiment = extend_schema(
    operation_id="export_experiment",
    tags=_TAGS,
    parameters=[OpenApiParameter("format", str, enum=["json", "csv"])],
    responses={
        (200, "application/json"): EXPERIMENT,
        (200, "text/csv"): OpenApiTypes.STR,
        404: _ERROR,
        422: _ERROR,
    },
)
list_datasets = extend_schema(
    operation_id="list_datasets",
    tags=_TAGS,
    parameters=_PAGED,
    responses={200: _page(DATASET), 422: _ERROR},
)
keep_dataset = extend_schema(
    operation_id="keep_dataset",
    tags=_TAGS,
    request={"application/json": _KEPT},
    responses={201: DATASET, 409: _ERROR, **_REFUSALS},
)
get_dataset = extend_schema(
    operation_id="get_dataset",
    tags=_TAGS,
    responses={
        200: _object({**DATASET["properties"], "run_ids": _listed(_TEXT)}),
        404: _ERROR,
    },
)
rename_dataset = extend_schema(
    operation_id="rename_dataset",
    tags=_TAGS,
    description="Another name, runs that join and runs that leave: all of it or nothing.",
    request={
        "application/json": _object(
            {"name": _TEXT, "add": _listed(_TEXT), "remove": _listed(_TEXT)}
        )
    },
    responses={200: DATASET, 409: _ERROR, **_REFUSALS},
)
delete_dataset = extend_schema(
    operation_id="delete_dataset",
    tags=_TAGS,
    description="The set goes; its runs, and experiments made of it, stay.",
    responses={204: None, 404: _ERROR},
)
