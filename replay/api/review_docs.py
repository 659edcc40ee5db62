"""What the API's own documentation says of reviews."""

from __future__ import annotations

from drf_spectacular.utils import OpenApiParameter, extend_schema

from replay.api.baseline_docs import LINE as BASELINE
from replay.api.docs import _COUNT, _ERROR, _FLAG, _TEXT, Schema, _listed, _object, _or_null, _page
from replay.comparison.differences import Difference
from replay.review.models import COUNTED, VERDICTS, State

_CLASS: Schema = {"type": "string", "enum": [each.value for each in Difference]}
_MOMENT: Schema = {"type": ["string", "null"], "format": "date-time"}
_LINE: Schema = {
    "id": _TEXT,
    "run": _TEXT,
    "replay": _TEXT,
    "experiment": _or_null("string"),
    "model": {"type": ["string", "null"], "description": "`provider:model`"},
    "seq": _COUNT,
    "class": _CLASS,
    "agent": _or_null("string"),
    "effect_key": _or_null("string"),
    "state": {"type": "string", "enum": State.values},
    "current": {**_FLAG, "description": "False once a retry gave another answer"},
    "reason": _or_null("string"),
    "decided_by": _or_null("string"),
    "decided_at": _MOMENT,
}
DIVERGENCE = _object(
    {
        **_LINE,
        "url": _TEXT,
        "summary": _TEXT,
        "version": _COUNT,
        "cluster": _object(
            {"id": _TEXT, "version": _COUNT, "cause": _listed(_TEXT), "open": _COUNT}
        ),
        "created_at": {"type": "string", "format": "date-time"},
    }
)
VERDICT = _object(
    {
        "verdict": {"type": "string", "enum": [str(one) for one in VERDICTS]},
        "reason": {"type": "string", "description": "Why; kept with the verdict"},
        "of": {
            "type": "string",
            "enum": ["one", "cluster"],
            "description": "This divergence alone, or all open ones of its cluster",
        },
        "experiment": {
            "type": "string",
            "description": "With `of` cluster: only those of its open ones that this one found",
        },
        "version": {
            "type": "integer",
            "description": (
                "The version that was looked at, of the divergence or of its cluster: 409 when "
                "somebody decided since. Left out: only what is open"
            ),
        },
        "baseline": {
            "type": "boolean",
            "description": "Whether accepted answers become baselines (they do)",
        },
    },
    ["verdict"],
)
EXPORT = _object(
    {
        "project": _TEXT,
        "minimum_class": _CLASS,
        "counts": _object({str(state): _COUNT for state in COUNTED}),
        "replays": {
            "type": ["object", "null"],
            "additionalProperties": _COUNT,
            "description": "Status → number of the replays asked about; null where none is named",
        },
        "passed": {
            "type": ["boolean", "null"],
            "description": "Nothing is open or a regression, and all replays asked about succeeded;"
            " null where only some states were asked for",
        },
        "verdicts": _listed(_object({**_LINE, "cluster": _TEXT})),
        "baselines": _listed(_object(BASELINE)),
    }
)
_FILTERS = [
    OpenApiParameter("state", str, enum=State.values),
    OpenApiParameter("class", str, enum=[each.value for each in Difference]),
    OpenApiParameter("agent", str),
    OpenApiParameter("run", str, description="Only those of this run"),
    OpenApiParameter("replay", str, description="Only those of this replay"),
    OpenApiParameter("experiment", str, description="Only those of this experiment"),
    OpenApiParameter("cluster", int, description="Only those of this cluster"),
]
list_divergences = extend_schema(
    operation_id="list_divergences",
    tags=["review"],
    description="Differences that somebody should look at, or has, newest first.",
    parameters=[
        *_FILTERS,
        OpenApiParameter("cursor", str, description="`next` of the answer before"),
        OpenApiParameter("limit", int, description="Rows of one answer"),
    ],
    responses={200: _page(DIVERGENCE, "string"), 404: _ERROR, 422: _ERROR},
)
give_verdict = extend_schema(
    operation_id="give_verdict",
    tags=["review"],
    description="Judge a divergence or its cluster. A key signs with its own name.",
    request={"application/json": VERDICT},
    responses={
        200: _object({**DIVERGENCE["properties"], "decided": _COUNT}),
        404: _ERROR,
        409: _ERROR,
        422: _ERROR,
    },
)
export_verdicts = extend_schema(
    operation_id="export_verdicts",
    tags=["review"],
    description="Every verdict, the baselines, and how many are in each state, for CI to check.",
    parameters=_FILTERS,
    responses={200: EXPORT, 404: _ERROR, 422: _ERROR},
)
