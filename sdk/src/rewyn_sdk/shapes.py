"""Which of the five shapes a log has: the first rule that fits (§9 of the format)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from rewyn_sdk.facts import as_list, as_object, request_history
from rewyn_sdk.record import EffectRecord

SHAPES = ("D0", "F1", "R43", "R44", "R44d", "R45+")
EXTRAS = (
    "purpose",
    "turn",
    "started_ms",
    "first_item_ms",
    "finished_ms",
    "reviewed",
    "disposition",
    "decided_by",
)


def detect(header: dict[str, Any], records: Sequence[EffectRecord]) -> str:
    """The shape's name, one of SHAPES. A log without completions passes for R44."""
    if header.get("format") == 1:
        return "F1"
    if any(extra in record.value for record in records for extra in EXTRAS):
        return "R45+"
    completions = [record for record in records if record.effect == "completion"]
    if not completions:
        return "R44"
    natives = [as_object(part.get("native")) for c in completions for part in _parts(c)]
    if any(type(native.get("fingerprint")) is int for native in natives):
        return "R44d"
    if any(natives) or any(_has_origin(record) for record in completions):
        return "R44"
    return "R43" if any(_is_r43(record) for record in completions) else "D0"


def _has_origin(record: EffectRecord) -> bool:
    return "origin" in (record.ok or {}) or "stream_origin" in record.value


def _is_r43(record: EffectRecord) -> bool:
    if any("item" in as_object(event) for event in record.events or []):
        return True
    return any(_has_tagged_id(part) for part in _parts(record))


def _has_tagged_id(part: dict[str, Any]) -> bool:
    identity = as_object(part.get("call", part.get("id")))
    return len(identity) == 1 and ("local" in identity or "provider" in identity)


def _parts(record: EffectRecord) -> Iterator[dict[str, Any]]:
    """The parts of a completion's answer, of its kept events, and of its history."""
    yield from map(as_object, record.choice)
    for event in record.events or []:
        yield as_object(as_object(as_object(event).get("value")).get("content"))
    for message in request_history(record.request):
        yield from map(as_object, as_list(as_object(message).get("content")))
