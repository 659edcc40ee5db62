"""What a row keeps of the new answer: the other side of a comparison."""

from __future__ import annotations

import json

from replay.comparison.compare import Failed, Side
from replay.dialects import Answer
from replay.dialects.answers import call_of
from replay.models import CallState, ReplayEffect
from runs.storage import segments


def replayed_side(row: ReplayEffect) -> Side:
    """What the replay got for this row; None while there is nothing."""
    if row.state == CallState.ANSWERED and row.answer:
        return unpack(bytes(row.answer))
    if row.state == CallState.FAILED:
        return Failed(row.error_code, row.error_text)
    return None


def pack(answer: Answer) -> bytes:
    """What a comparison needs of an answer, compressed."""
    kept = {
        "text": answer.text,
        "calls": [[call.id, call.name, call.arguments_text] for call in answer.calls],
        "reasoning": answer.reasoning,
        "refusal": answer.refusal,
        "finish_reason": answer.finish_reason,
    }
    return segments.compress(json.dumps(kept).encode())


def unpack(data: bytes) -> Answer:
    kept = json.loads(segments.decompress(data))
    calls = tuple(call_of(name, identity, written) for identity, name, written in kept.pop("calls"))
    return Answer(calls=calls, **kept)
