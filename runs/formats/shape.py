"""Which shape a log has (§9 of the format), told record by record so that batches add up.

Each completion and each record with a 0.45 field leaves bits; the bits of all records, or-ed in any
order, name the shape exactly as `rewyn_sdk.shapes.detect` does for the whole log.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rewyn_sdk.facts import as_list, as_object
from rewyn_sdk.record import EffectRecord
from rewyn_sdk.shapes import EXTRAS

R45, COMPLETION, NATIVE_NUMBER, R44, R43 = 1, 2, 4, 8, 16
_EXTRAS = frozenset(EXTRAS)


def bits_of(record: EffectRecord) -> int:
    """What this record says about the shape of its log."""
    bits = R45 if not _EXTRAS.isdisjoint(record.value) else 0
    if record.effect != "completion":
        return bits
    bits |= COMPLETION
    if b'"native"' in record.raw:
        natives = [as_object(part.get("native")) for part in _parts(record)]
        bits |= R44 if any(natives) else 0
        numbers = (type(native.get("fingerprint")) is int for native in natives)
        bits |= NATIVE_NUMBER if any(numbers) else 0
    if "origin" in (record.ok or {}) or "stream_origin" in record.value:
        return bits | R44
    return bits | (R43 if _is_r43(record) else 0)


def name_of(bits: int, *, is_f1: bool) -> str:
    """The shape's name; `is_f1` if the header has format 1. Without completions it is R44."""
    if is_f1:
        return "F1"
    for bit, name in ((R45, "R45+"), (NATIVE_NUMBER, "R44d"), (R44, "R44")):
        if bits & bit:
            return name
    if not bits & COMPLETION:
        return "R44"
    return "R43" if bits & R43 else "D0"


def _is_r43(record: EffectRecord) -> bool:
    if any("item" in as_object(event) for event in record.events or []):
        return True
    return any(_has_tagged_id(part) for part in _parts(record))


def _has_tagged_id(part: dict[str, Any]) -> bool:
    identity = as_object(part.get("call", part.get("id")))
    return len(identity) == 1 and ("local" in identity or "provider" in identity)


def _parts(record: EffectRecord) -> Iterator[dict[str, Any]]:
    yield from map(as_object, record.choice)
    for event in record.events or []:
        yield as_object(as_object(as_object(event).get("value")).get("content"))
    for message in record.history:
        yield from map(as_object, as_list(as_object(message).get("content")))
