"""Replays as the API shows them. Unknown is null, never zero."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from django.db.models import Count
from django.urls import reverse

from replay.comparison import answers
from replay.comparison.compare import document
from replay.comparison.differences import Difference
from replay.models import Answered, CallState, Replay, ReplayEffect, ReplaySample
from replay.shown import readable
from replay.start import Planned
from replay.totals import TOKENS, so_far
from replay.waiting import waits_for
from runs.api.shapes import dollars
from runs.models import Effect


def address(replay: Replay) -> str:
    """The page of a replay."""
    return reverse("replay:detail", args=[replay.project.slug, replay.public_id])


def replay_shape(replay: Replay) -> dict[str, Any]:
    """The whole of one replay, without its rows; of one that runs, what has come so far."""
    replay = so_far(replay)
    return {
        **replay_line(replay),
        "controls": replay.controls,
        "plan": replay.plan,
        "mismatches": replay.mismatches,
        "proof": replay.proof,
        "states": _states(replay),
        "waits": waits.as_json() if (waits := waits_for(replay)) else None,
        "attempt": replay.attempt,
    }


def replay_line(replay: Replay) -> dict[str, Any]:
    """What a list shows of a replay."""
    return {
        "id": replay.public_id,
        "url": address(replay),
        "run": replay.run.external_id,
        "mode": replay.mode,
        "model": replay.candidate or None,
        "experiment": replay.experiment.public_id if replay.experiment else None,
        "status": replay.status,
        "error": _error(replay.error_code, replay.error_text),
        "progress": {"done": replay.done, "total": replay.total},
        "identical": replay.identical,
        "faithful": replay.faithful,
        "changed": replay.changed,
        "ignored": replay.ignored,
        "mismatch_count": replay.mismatch_count,
        "calls": replay.calls,
        **_figures(replay),
        "created_at": replay.created_at,
        "started_at": replay.started_at,
        "finished_at": replay.finished_at,
    }


def planned_shape(planned: Planned) -> dict[str, Any]:
    """A plan that nobody has started."""
    return {
        "id": None,
        "url": None,
        "run": planned.question.run,
        "mode": planned.question.mode,
        "model": str(planned.candidate) if planned.candidate else None,
        "status": "planned",
        "controls": planned.question.controls.as_json(),
        "plan": planned.plan,
    }


def _figures(replay: Replay) -> dict[str, Any]:
    before = {
        "input_tokens": replay.original_input_tokens,
        "output_tokens": replay.original_output_tokens,
    }
    return {
        "usage": {**tokens(replay), "complete": replay.tokens_complete},
        "original_usage": {**before, "complete": replay.original_tokens_complete},
        "cost": dollars(replay.cost),
        "cost_complete": replay.cost_complete,
        "original_cost": dollars(replay.original_cost),
        "original_cost_complete": replay.original_cost_complete,
        "cost_delta": dollars(cost_delta(replay)),
        "latency_ms": replay.latency_ms,
        "original_latency_ms": replay.original_latency_ms,
    }


def tokens(row: Replay | Answered | Effect) -> dict[str, int | None]:
    """The parts as reported, and input and output together where both are known."""
    asked, said = row.input_tokens, row.output_tokens
    total = None if asked is None or said is None else asked + said
    return {**{name: getattr(row, name) for name in TOKENS}, "total_tokens": total}


def cost_delta(replay: Replay) -> Decimal | None:
    """How much more the replay cost; null unless both sides are wholly known."""
    if replay.cost is None or replay.original_cost is None:
        return None
    if not (replay.cost_complete and replay.original_cost_complete):
        return None
    return replay.cost - replay.original_cost


def _states(replay: Replay) -> dict[str, int]:
    counts = dict.fromkeys(CallState.values, 0)
    rows = ReplayEffect.objects.filter(replay=replay).values_list("state")
    return {**counts, **dict(rows.annotate(Count("pk")))}


def _error(code: str, text: str) -> dict[str, str] | None:
    return {"code": code, "message": text} if code else None


def row_shape(row: ReplayEffect) -> dict[str, Any]:
    """One compared effect: both sides' figures, the class, and where they differ."""
    return {
        "seq": row.seq,
        "effect_id": row.effect.effect_id if row.effect else None,
        "family": row.effect.family if row.effect else None,
        "name": row.effect.name if row.effect else None,
        "state": row.state,
        "class": row.difference or None,
        "changed": row.difference != "" and Difference(row.difference).is_change,
        "ignored": _ignored(row),
        "baseline": _baseline(row),
        "proven": row.proven or None,
        "summary": row.summary,
        "changes": row.changes,
        "notes": row.notes,
        "error": _error(row.error_code, row.error_text),
        "samples": row.samples,
        "spread": row.spread or None,
        "calls": row.calls,
        "calls_allowed": row.calls_allowed,
        "interruptions": row.interruptions,
        "again_at": row.again_at if row.state == CallState.PENDING else None,
        "recorded": _recorded(row),
        "replayed": _replayed(row),
    }


def _ignored(row: Answered) -> dict[str, Any] | None:
    """The class it would have without the ignore rules, and which these are."""
    if not row.ignored_difference:
        return None
    return {"class": row.ignored_difference, "rules": row.ignored_by}


def _baseline(row: Answered) -> dict[str, Any] | None:
    """The accepted answer it was held against, where that is nearer than the recorded one."""
    held = row.baseline
    if held is None:
        return None
    return {
        "id": held.public_id,
        "accepted_by": held.signed,
        "reason": held.reason,
        "accepted_at": held.created_at,
        "revoked": held.revoked_at is not None,
    }


def _recorded(row: ReplayEffect) -> dict[str, Any] | None:
    effect = row.effect
    if effect is None:
        return None
    return {
        "usage": tokens(effect),
        "cost": dollars(effect.cost),
        "latency_ms": effect.duration_ms,
        "first_token_ms": effect.first_token_ms,
        "finish_reason": effect.finish_reason or None,
        "model": effect.name or None,
    }


def sample_shape(sample: ReplaySample) -> dict[str, Any]:
    """One of several answers to a call."""
    return {
        "number": sample.number,
        "class": sample.difference,
        "changed": sample.is_change,
        "ignored": _ignored(sample),
        "baseline": _baseline(sample),
        "summary": sample.summary,
        "changes": sample.changes,
        "answer": readable(document(answers.unpack(bytes(sample.answer or b"")))),
        "replayed": _replayed(sample),
    }


def _replayed(row: Answered) -> dict[str, Any] | None:
    if row.status_code is None and row.answered_at is None:
        return None
    return {
        "usage": tokens(row),
        "cost": dollars(row.cost),
        "latency_ms": row.latency_ms,
        "first_token_ms": row.first_token_ms,
        "finish_reason": row.finish_reason or None,
        "model": row.model or None,
        "status_code": row.status_code,
        "request_id": row.request_id or None,
    }
