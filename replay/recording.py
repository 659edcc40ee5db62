"""The recorded run as a replay reads it: header, records in order, one effect's record."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from rewyn_sdk.errors import DecodeError
from rewyn_sdk.facts import as_object
from rewyn_sdk.jsontext import parse
from runs.models import Effect, Run
from runs.storage import segments


@dataclass(frozen=True, slots=True)
class Recorded:
    """One record: its row, its bytes, and its value (None where the bytes are no object)."""

    effect: Effect
    data: bytes
    value: dict[str, Any] | None

    @property
    def intact(self) -> bool:
        return content_hash(self.data) == self.effect.content_hash


def content_hash(data: bytes) -> str:
    """The hash that `Effect.content_hash` holds."""
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def header_bytes(run: Run) -> bytes:
    return segments.read_header(run.pk) or b""


def header(run: Run) -> dict[str, Any]:
    """The log's header; empty for a run that came without one."""
    return as_object(_value(header_bytes(run)))


def records(run: Run) -> Iterator[Recorded]:
    """Every record of a run in order, one segment in memory at a time, with numbers as Rig reads
    them: a log repeats what Rig read, not how a provider wrote it."""
    for effect, data in segments.iter_records(run.pk):
        yield Recorded(effect, data, _value(data, exact=False))


def record(effect: Effect) -> Recorded:
    """One record, with all digits of its numbers."""
    data = segments.read(effect)
    return Recorded(effect, data, _value(data))


def _value(data: bytes, *, exact: bool = True) -> dict[str, Any] | None:
    try:
        value = parse(data, exact=exact) if data else None
    except DecodeError:
        return None
    return value if isinstance(value, dict) else None
