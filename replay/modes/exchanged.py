"""What is kept of a call beside what its answer says: the exchange itself, and what it cost."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from django.utils import timezone

from replay.models import Replay
from replay.providers import Call, Result
from replay.shown import cut
from runs.messages.loose import clean
from runs.models import NAME, Family
from runs.prices import cost_of
from runs.storage import segments
from runs.usage import Usage


def exchanged(result: Result, sent: Call | None) -> dict[str, Any]:
    """What went over the wire; the body as sent only where it is not what the row holds."""
    notes = [
        {"code": note.code, "path": cut(note.path), "message": cut(note.message)}
        for note in result.notes
    ]
    is_known = sent is not None and sent.request_bytes == result.request_bytes
    return {
        **({} if is_known else {"sent": segments.compress(result.request_bytes)}),
        "response": segments.compress(result.response_bytes),
        "status_code": result.status,
        "request_id": clean(result.request_id or "")[:NAME],
        "latency_ms": result.latency_ms,
        "first_token_ms": result.first_token_ms,
        "notes": notes,
    }


def price(usage: Usage, replay: Replay, models: tuple[str, ...], provider: str) -> Decimal | None:
    """What an answer of now costs, by the project's prices or the table of today."""
    return cost_of(
        usage,
        family=Family.COMPLETION,
        models=models,
        provider=provider,
        when=timezone.now(),
        overrides=replay.project.price_overrides,
    )
