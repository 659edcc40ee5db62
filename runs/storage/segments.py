"""The recorded bytes: many records packed into one compressed segment, one read back by offset."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate, pairwise

from runs.models import Effect, Segment, SegmentKind
from runs.storage.compression import compress, decompress

TARGET_BYTES = 1024 * 1024
"""A segment ends at about this size uncompressed; a larger record has one of its own."""


@dataclass(frozen=True, slots=True)
class Packed:
    """One compressed segment and where each of its items and parts lies: (offset, length)."""

    data: bytes
    raw_size: int
    spans: tuple[tuple[int, int], ...]
    parts: dict[str, tuple[int, int]]


def pack(
    items: Iterable[bytes], parts: Mapping[str, bytes] | None = None, target: int = TARGET_BYTES
) -> Iterator[Packed]:
    """Group consecutive items into segments of about `target` bytes, each compressed once.

    `parts` go behind the items of the last one (see `Segment.parts`).
    """
    group: list[bytes] = []
    size = 0
    for item in items:
        if group and size + len(item) > target:
            yield _packed(group, {})
            group, size = [], 0
        group.append(item)
        size += len(item)
    if group or parts:
        yield _packed(group, parts or {})


def _packed(group: list[bytes], parts: Mapping[str, bytes]) -> Packed:
    ends = [0, *accumulate(map(len, (*group, *parts.values())))]
    spans = [(start, end - start) for start, end in pairwise(ends)]
    named = dict(zip(parts, spans[len(group) :], strict=True))
    data = compress(b"".join((*group, *parts.values())))
    return Packed(data, ends[-1], tuple(spans[: len(group)]), named)


CHUNK = 1996
"""Bytes of the pieces in which PostgreSQL keeps a long value, in a table of its own: four of them
fill a page."""
BESIDE = 1800
"""Bytes that stay in a segment's own row there, which is whole up to 2 KB."""


def split(data: bytes) -> tuple[bytes, bytes | None]:
    """What goes into `data` and `rest` of a segment: whole pieces, and what is left of the last.

    A piece that is not whole costs PostgreSQL as much as a tenth of all pages: a whole one does
    not fit behind it. In the row it lies beside others as short.
    """
    whole = len(data) - len(data) % CHUNK
    if not whole or len(data) - whole > BESIDE:
        return data, None
    return data[:whole], data[whole:] or None


def _stored(segment_id: int) -> bytes:
    found = Segment.objects.values_list("data", "rest").get(pk=segment_id)
    return decompress(b"".join(part for part in found if part))


_KEPT_SEGMENTS = 8
_KEPT_MAX_BYTES = 4 * 1024 * 1024
_kept: OrderedDict[int, bytes] = OrderedDict()
_kept_lock = threading.Lock()


def _segment_bytes(segment_id: int) -> bytes:
    """A segment never changes once written, so a few stay unpacked for the next step's click."""
    with _kept_lock:
        if segment_id in _kept:
            _kept.move_to_end(segment_id)
            return _kept[segment_id]
    data = _stored(segment_id)
    if len(data) <= _KEPT_MAX_BYTES:
        with _kept_lock:
            _kept[segment_id] = data
            while len(_kept) > _KEPT_SEGMENTS:
                _kept.popitem(last=False)
    return data


def forget_kept() -> None:
    """Empty this process's unpacked segments (tests, and after a deletion)."""
    with _kept_lock:
        _kept.clear()


def read(effect: Effect) -> bytes:
    """The record's bytes exactly as received (or as redacted before storing)."""
    return read_span(effect.segment_id, effect.offset, effect.length)


def read_span(segment_id: int, offset: int, length: int) -> bytes:
    """`length` bytes of a segment from `offset`."""
    return _segment_bytes(segment_id)[offset : offset + length]


def read_wire(effect: Effect) -> bytes | None:
    """The recorded provider exchange of this effect (a JSON object), if one was sent."""
    if effect.wire_segment_id is None:
        return None
    assert effect.wire_offset is not None and effect.wire_length is not None
    return read_span(effect.wire_segment_id, effect.wire_offset, effect.wire_length)


WIRE_COLUMNS = ("wire_segment_id", "wire_offset", "wire_length")


def read_source(effect: Effect) -> bytes | None:
    """The line of JSON Lines this record came as, where it is not the record itself."""
    if effect.source_segment_id is None:
        return None
    assert effect.source_offset is not None and effect.source_length is not None
    return read_span(effect.source_segment_id, effect.source_offset, effect.source_length)


def read_parts(run_id: int) -> dict[str, bytes]:
    """The newest of each part of a run (see `Segment.parts`), where it has one."""
    found: dict[str, bytes] = {}
    held = Segment.objects.filter(run_id=run_id).exclude(parts=None).order_by("-pk")
    for pk, parts in held.values_list("pk", "parts"):
        for name, (offset, length) in (parts or {}).items():
            if name not in found:
                found[name] = read_span(pk, offset, length)
    return found


def read_header(run_id: int) -> bytes | None:
    """The log header's bytes as received, None if none was sent."""
    return read_parts(run_id).get("header")


def iter_records(run_id: int) -> Iterator[tuple[Effect, bytes]]:
    """Every effect of a run with its bytes, in order, one segment in memory at a time."""
    held: tuple[int, bytes] | None = None
    for effect in _in_order(run_id):
        if held is None or held[0] != effect.segment_id:
            held = (effect.segment_id, _stored(effect.segment_id))
        yield effect, held[1][effect.offset : effect.offset + effect.length]


def _in_order(run_id: int, chunk: int = 1000) -> Iterator[Effect]:
    """Effects by position, a query a chunk.

    No cursor stays open between two of them: on SQLite a write of this connection would find its
    snapshot stale as soon as another one has written, and fail at once.
    """
    after = -1
    while rows := list(Effect.objects.filter(run_id=run_id).after(after, chunk)):
        yield from rows
        after = rows[-1].seq


__all__ = [
    "WIRE_COLUMNS",
    "Packed",
    "SegmentKind",
    "compress",
    "decompress",
    "forget_kept",
    "iter_records",
    "pack",
    "read",
    "read_header",
    "read_parts",
    "read_source",
    "read_span",
    "read_wire",
]
