"""Which shape a log has (§9 of the format), told record by record so that batches add up.

Each completion and each record with a 0.45 field leaves bits; the bits of all records, or-ed in any
order, name the shape exactly as `rewyn_sdk.shapes.detect` does for the whole log.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rewyn_sdk.facts import as_list, as_object
from rewyn_sdk.shapes import EXTRAS

R45, COMPLETION, NATIVE_NUMBER, R44, R43 = 1, 2, 4, 8, 16
_EXTRAS = frozenset(EXTRAS)


def bits_of(raw: bytes, record: dict[str, Any], kind: dict[str, Any], ok: dict[str, Any]) -> int:
    """What a record says about the shape of its log. `kind` and `ok` are its own, or empty."""
    bits = R45 if not _EXTRAS.isdisjoint(record) else 0
    if kind.get("effect") != "completion":
        return bits
    bits |= COMPLETION
    if b'"native"' in raw:
        natives = [as_object(part.get("native")) for part in _parts(record, kind, ok)]
        bits |= R44 if any(natives) else 0
        numbers = (type(native.get("fingerprint")) is int for native in natives)
        bits |= NATIVE_NUMBER if any(numbers) else 0
    if "origin" in ok or "stream_origin" in record:
        return bits | R44
    return bits | (R43 if _is_r43(record, kind, ok) else 0)


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


def _is_r43(record: dict[str, Any], kind: dict[str, Any], ok: dict[str, Any]) -> bool:
    if any("item" in as_object(event) for event in as_list(record.get("events"))):
        return True
    return any(_has_tagged_id(part) for part in _parts(record, kind, ok))


def _has_tagged_id(part: dict[str, Any]) -> bool:
    identity = as_object(part.get("call", part.get("id")))
    return len(identity) == 1 and ("local" in identity or "provider" in identity)


def _parts(
    record: dict[str, Any], kind: dict[str, Any], ok: dict[str, Any]
) -> Iterator[dict[str, Any]]:
    """The parts of a completion's answer, of its kept events, and of its history."""
    yield from map(as_object, as_list(ok.get("choice")))
    for event in as_list(record.get("events")):
        yield as_object(as_object(as_object(event).get("value")).get("content"))
    request = as_object(kind.get("request"))
    for message in (*as_list(request.get("chat_history")), *as_list(request.get("messages"))):
        yield from map(as_object, as_list(as_object(message).get("content")))
