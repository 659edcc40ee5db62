"""What the API's own documentation says of baselines."""

from __future__ import annotations

from drf_spectacular.utils import OpenApiParameter, extend_schema

from replay.api.docs import _COUNT, _ERROR, _TEXT, Schema, _object, _or_null, _page
from replay.comparison.differences import Difference

_MOMENT: Schema = {"type": "string", "format": "date-time"}
LINE: Schema = {
    "id": _TEXT,
    "run": _TEXT,
    "seq": _COUNT,
    "divergence": _TEXT,
    "effect_key": _TEXT,
    "request_hash": _TEXT,
    "answer_hash": _TEXT,
    "reason": _TEXT,
    "accepted_by": _TEXT,
    "accepted_at": _MOMENT,
}
_LISTED: Schema = {
    **LINE,
    "url": {**_TEXT, "description": "The page of the divergence it came from"},
    "cluster": _TEXT,
    "model": {"type": ["string", "null"], "description": "`provider:model`"},
    "class": {"type": "string", "enum": [each.value for each in Difference]},
    "summary": {**_TEXT, "description": "What differed from the recording"},
    "revoked_by": _or_null("string"),
    "revoked_at": {"type": ["string", "null"], "format": "date-time"},
    "revoked_reason": _or_null("string"),
}
_WHOLE = _object(
    {
        **_LISTED,
        "answer": {"type": "object", "description": "`text`, `refusal`, `calls`, `finish_reason`"},
    }
)
list_baselines = extend_schema(
    operation_id="list_baselines",
    tags=["review"],
    description="Accepted answers that later replays are held against, newest first.",
    parameters=[
        OpenApiParameter("revoked", bool, description="true: with those that were revoked"),
        OpenApiParameter("run", str, description="Only those made from this run"),
        OpenApiParameter("cursor", str, description="`next` of the answer before"),
        OpenApiParameter("limit", int, description="Rows of one answer"),
    ],
    responses={200: _page(_object(_LISTED), "string"), 404: _ERROR, 422: _ERROR},
)
get_baseline = extend_schema(
    operation_id="get_baseline",
    tags=["review"],
    description="A baseline with the accepted answer.",
    responses={200: _WHOLE, 404: _ERROR},
)
revoke_baseline = extend_schema(
    operation_id="revoke_baseline",
    tags=["review"],
    description="End a baseline: later replays are held against the recording again.",
    request={"application/json": _object({"reason": {**_TEXT, "description": "Why; it is kept"}})},
    responses={200: _WHOLE, 404: _ERROR, 409: _ERROR, 422: _ERROR},
)
