"""The sides of a comparison as a record tells them, or a provider's error. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from replay.comparison.compare import Failed, Side
from replay.dialects import read_outcome
from replay.providers import ProviderError
from rewyn_sdk.facts import as_object, as_text, failure


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


def schema_of(record: Mapping[str, Any]) -> Any:
    """The JSON Schema that the recorded request asked its answer to fit."""
    request = as_object(as_object(record.get("kind")).get("request"))
    return request.get("output_schema")
