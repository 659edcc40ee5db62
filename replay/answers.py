"""Both sides of a compared call: what the log recorded, and what a row kept of the new answer."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from replay.compare import Failed, Side
from replay.dialects import Answer, read_outcome
from replay.dialects.answers import call_of
from replay.models import CallState, ReplayEffect
from replay.providers import ProviderError
from rewyn_sdk.facts import as_object, as_text, failure
from runs import segments


def recorded_side(record: Mapping[str, Any]) -> Side:
    """The recorded answer, or which way it failed; None where there is no outcome."""
    outcome = record.get("outcome")
    answer = read_outcome(outcome)
    if answer is not None:
        return answer
    error = failure(outcome)
    if error is None:
        return None
    return Failed(
        _code(error.get("http_status"), _kind(error)), as_text(error.get("message")) or ""
    )


def _kind(error: Mapping[str, Any]) -> str:
    kind = error.get("kind")
    return as_text(kind) or next(iter(as_object(kind)), "error")


def failed_side(error: ProviderError) -> Failed:
    return Failed(_code(error.status, error.kind), error.message)


def _code(status: Any, kind: str) -> str:
    refused = type(status) is int and not 200 <= status < 300
    return f"http_{status}" if refused else kind


def replayed_side(row: ReplayEffect) -> Side:
    """What the replay got for this row; None while there is nothing."""
    if row.state == CallState.ANSWERED and row.answer:
        return unpack(bytes(row.answer))
    if row.state == CallState.FAILED:
        return Failed(row.error_code, row.error_text)
    return None


def pack(answer: Answer) -> bytes:
    """What a comparison needs of an answer, compressed."""
    kept = {
        "text": answer.text,
        "calls": [[call.id, call.name, call.arguments_text] for call in answer.calls],
        "reasoning": answer.reasoning,
        "refusal": answer.refusal,
        "finish_reason": answer.finish_reason,
    }
    return segments.compress(json.dumps(kept).encode())


def unpack(data: bytes) -> Answer:
    kept = json.loads(segments.decompress(data))
    calls = tuple(call_of(name, identity, written) for identity, name, written in kept.pop("calls"))
    return Answer(calls=calls, **kept)


def schema_of(record: Mapping[str, Any]) -> Any:
    """The JSON Schema that the recorded request asked its answer to fit."""
    request = as_object(as_object(record.get("kind")).get("request"))
    return request.get("output_schema")
