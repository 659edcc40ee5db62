"""The checks Rig makes on a log before it replays anything (§5.1 of the format)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rewyn_sdk.canonical import canonical_json
from rewyn_sdk.errors import DecodeError, HeaderError
from rewyn_sdk.facts import FAMILIES, as_list, as_object, as_text
from rewyn_sdk.log import EffectLog
from rewyn_sdk.r44 import HANDLER
from rewyn_sdk.record import EffectRecord

_IN_TEXTS = {family: effect for effect, family in FAMILIES.items()}


def check_header(log: EffectLog) -> None:
    """Raise HeaderError, with Rig's kind, where the header contradicts the log.

    In this order: positions of stream errors ("divergence"), one family a key ("internal"), one
    descriptor a key ("internal"), descriptors for all programs ("handler_unavailable").
    """
    _check_stream_errors(log)
    _check_families(log)
    _check_descriptors(log)
    _check_programs(log)


def _check_stream_errors(log: EffectLog) -> None:
    by_id = {record.id: record for record in log.records}
    errors = as_object(log.header.get("stream_errors"))
    for text in sorted(errors, key=_as_number):
        record = by_id.get(_as_number(text))
        if record is None or not record.streams or record.events is None:
            raise HeaderError(
                f"stream errors for effect:{text} require a kept stream record", kind="divergence"
            )
        if not _positions_fit(record, as_list(errors[text])):
            raise HeaderError(
                f"invalid stream error positions for effect:{text}", kind="divergence"
            )


def _as_number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 20 else -1


def _positions_fit(record: EffectRecord, errors: list[Any]) -> bool:
    places = [as_object(error).get("item") for error in errors]
    last = len(record.events or []) + len(errors)
    before = -1
    for place in places:
        if type(place) is not int or not before < place < last:
            return False
        before = place
    return True


def _check_families(log: EffectLog) -> None:
    known: dict[str, str] = {}
    for key, family in _claims(log):
        if known.setdefault(key, family) != family:
            first, second = (_IN_TEXTS.get(name, name) for name in (known[key], family))
            raise HeaderError(
                f"replay refused: conflicting families for `{key}`: {first} and {second}",
                kind="internal",
            )


def _claims(log: EffectLog) -> Iterator[tuple[str, str]]:
    """Every (key, family) a log states, in the order Rig looks at them."""
    header = log.header
    programs = as_object(header.get("programs"))
    rows = [header.get("signature"), header.get("required")]
    rows += [as_object(programs[scope]).get("required") for scope in sorted(programs)]
    for row in rows:
        yield from ((key, str(family)) for key, family in as_object(row).items())
    for handler in _handlers(log):
        yield str(handler.get("key")), str(as_object(handler.get("family")).get("family"))
    for record in log.records:
        if record.key is not None and record.family is not None:
            yield record.key, record.family


def _handlers(log: EffectLog) -> list[dict[str, Any]]:
    return [as_object(handler) for handler in as_list(log.header.get("handlers"))]


def _check_descriptors(log: EffectLog) -> None:
    known: dict[str, str] = {}
    for handler in _handlers(log):
        key = as_text(handler.get("key")) or ""
        described = _described(handler)
        if known.setdefault(key, described) != described:
            raise HeaderError(
                f"replay refused: conflicting descriptors for `{key}`", kind="internal"
            )


def _described(handler: dict[str, Any]) -> str:
    try:
        return canonical_json(HANDLER(handler))
    except DecodeError:  # of another shape: compare it as it stands
        return canonical_json(handler)


def _check_programs(log: EffectLog) -> None:
    described = {handler.get("key") for handler in _handlers(log)}
    programs = as_object(log.header.get("programs"))
    for scope in sorted(programs):
        for key in sorted(as_object(as_object(programs[scope]).get("required"))):
            if key not in described:
                raise HeaderError(
                    f"replay refused: scope `{scope}` requires `{key}` "
                    "but its recorded descriptor is missing",
                    kind="handler_unavailable",
                )
