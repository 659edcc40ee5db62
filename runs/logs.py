"""A run as the file it came from: the log (each record's very bytes), its lines, the envelope.

All are streamed, one segment in memory at a time.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from runs.formats import jsonbytes
from runs.messages.loose import cut_name
from runs.models import NAME, Effect, LabelKind, Run, RunLabel
from runs.storage import segments

EMPTY_HEADER = b'{"handlers":[],"signature":{},"hooks":[],"required":{}}'
"""What Rig requires of a header; for a run that was sent without one."""


def as_json(run: Run) -> Iterator[bytes]:
    """The effect log as one JSON document: header and records byte for byte as received."""
    parts = segments.read_parts(run.pk)
    yield b'{"header":' + parts.get("header", EMPTY_HEADER) + b',"records":['
    yield from _separated(data for _, data in segments.iter_records(run.pk))
    yield b"]"
    for name, data in _members(parts.get("log_extra", b"{}")).items():
        yield b"," + jsonbytes.quoted(name) + b":" + data
    yield b"}"


def as_lines(run: Run) -> Iterator[bytes]:
    """The log as JSON Lines: the lines it came as, or, for a document, one line a record."""
    parts = segments.read_parts(run.pk)
    headers = [tuple(pair) for pair in json.loads(parts.get("header_lines", b"[]"))]
    if not headers:
        yield b'{"header":' + jsonbytes.minified(parts.get("header", EMPTY_HEADER)) + b"}\n"
    for place, (effect, data) in enumerate(segments.iter_records(run.pk)):
        while headers and headers[0][0] <= place:
            yield headers.pop(0)[1].encode() + b"\n"
        line = segments.read_source(effect)
        yield (line if line is not None else jsonbytes.minified(data)) + b"\n"
    for _, text in headers:
        yield text.encode() + b"\n"


def as_envelope(run: Run) -> Iterator[bytes]:
    """The body of `POST /api/v1/runs` that gives this run again: run, log, times, wire."""
    yield b'{"run":' + _run_object(run) + b',"log":'
    yield from as_json(run)
    yield b',"times":{'
    yield from _separated(_times(run))
    yield b'},"wire":{'
    yield from _separated(_wire(run))
    yield b"}}"


def _separated(pieces: Iterator[bytes]) -> Iterator[bytes]:
    first = True
    for piece in pieces:
        yield piece if first else b"," + piece
        first = False


def _members(data: bytes) -> dict[str, bytes]:
    document = jsonbytes.Document(data)
    return {name: document.original(raw) for name, raw in document.members().items()}


def _run_object(run: Run) -> bytes:
    """What the sender said of the run, with what the server knows laid under and over it."""
    said = _members(segments.read_parts(run.pk).get("envelope", b"{}"))
    tags = RunLabel.objects.filter(run=run, kind=LabelKind.TAG).order_by("pk")
    known: dict[str, Any] = {
        "id": run.external_id,
        "agent": run.agent,
        "agent_version": run.agent_version,
        "environment": run.environment,
        "name": run.name,
        "session_id": run.session_id,
        "user_id": run.end_user,
        "parent_run_id": run.parent_run_id,
        "forked_from": run.forked_from,
        "tags": list(tags.values_list("value", flat=True)),
        "status": run.ledger.get("given", {}).get("status"),
    }
    if "finished" in run.ledger:
        known["status"] = run.status
        if "ended_at" not in said:
            known["ended_at"] = run.ended_at and run.ended_at.isoformat()
    given = {
        name: json.dumps(_whole(value, said.get(name))).encode()
        for name, value in known.items()
        if value
    }
    return jsonbytes.object_of(said | given)


def _whole(kept: Any, said: bytes | None) -> Any:
    """A name or tags of the row, each whole where the sender's was too long for its column."""
    value = None if said is None else jsonbytes.read(said)
    texts = [one for one in (value if isinstance(value, list) else [value]) if isinstance(one, str)]
    whole = {cut_name(text, NAME): text for text in texts if len(text) > NAME}
    if isinstance(kept, list):
        return [whole.get(one, one) for one in kept]
    return whole.get(kept, kept)


def _times(run: Run) -> Iterator[bytes]:
    effects = Effect.objects.filter(run=run).exclude(
        started_at=None, duration_ms=None, first_token_ms=None
    )
    columns = ("effect_id", "started_at", "duration_ms", "first_token_ms")
    for effect_id, started_at, duration, first in effects.order_by("seq").values_list(*columns):
        times = {
            "started_at": started_at and started_at.isoformat(),
            "duration_ms": duration,
            "first_token_ms": first,
        }
        yield jsonbytes.quoted(effect_id) + b":" + json.dumps(times).encode()


def _wire(run: Run) -> Iterator[bytes]:
    effects = Effect.objects.filter(run=run).exclude(wire_segment=None).order_by("wire_segment_id")
    for effect in effects.only("effect_id", *segments.WIRE_COLUMNS).iterator(chunk_size=500):
        data = segments.read_wire(effect)
        assert data is not None
        yield jsonbytes.quoted(effect.effect_id) + b":" + data
