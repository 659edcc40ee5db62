"""The recorded run as a replay reads it: header, records in order, one effect's record."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
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
    """Every record of a run in order, one segment in memory at a time."""
    for effect, data in segments.iter_records(run.pk):
        yield Recorded(effect, data, _value(data))


def record(effect: Effect) -> Recorded:
    data = segments.read(effect)
    return Recorded(effect, data, _value(data))


_KEPT = 64
_KEPT_BYTES = 64 * 1024
_known: OrderedDict[tuple[int, int, int], dict[str, Any]] = OrderedDict()
_lock = threading.Lock()


def read_only(effect: Effect) -> dict[str, Any]:
    """The value of a record, empty where there is none; nobody may alter it.

    Every candidate of an experiment asks the same calls: a few of usual length stay as they were
    read. A segment never changes once written.
    """
    place = effect.segment_id, effect.offset, effect.length
    with _lock:
        if place in _known:
            _known.move_to_end(place)
            return _known[place]
    value = record(effect).value or {}
    if effect.length <= _KEPT_BYTES:
        with _lock:
            _known[place] = value
            while len(_known) > _KEPT:
                _known.popitem(last=False)
    return value


def forget_kept(runs: object = None) -> None:
    """Empty this process's values: when runs are deleted for good."""
    with _lock:
        _known.clear()


def _value(data: bytes) -> dict[str, Any] | None:
    try:
        value = parse(data) if data else None
    except DecodeError:
        return None
    return value if isinstance(value, dict) else None
