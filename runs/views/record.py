"""A stored record cut into members, each with the very bytes it has."""

from __future__ import annotations

from runs.formats.jsonbytes import Document
from runs.messages import exact
from runs.messages.loose import obj
from runs.models import Effect
from runs.steps.stretch import Row
from runs.storage import segments


def members_of(data: bytes) -> dict[str, bytes]:
    """The members of a JSON object as bytes. Raises Refused for what is no object."""
    document = Document(data)
    return {name: document.original(piece) for name, piece in document.members().items()}


def record_of(effect: Effect | Row) -> dict[str, object]:
    """The decoded record, digits kept; empty if its bytes are no JSON."""
    try:
        data = segments.read_span(effect.segment_id, effect.offset, effect.length)
        return obj(exact.loads(data))
    except ValueError:
        return {}
