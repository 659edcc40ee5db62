"""Runs and effects as the API shows them. Unknown is null."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from runs.models import Effect, LabelKind, Run, RunLabel

RUN_IN_LIST = (
    "agent",
    "agent_version",
    "environment",
    "name",
    "session_id",
    "parent_run_id",
    "forked_from",
    "is_replay",
    "status",
    "started_at",
    "ended_at",
    "received_at",
    "updated_at",
    "duration_ms",
    "clock_suspect",
    "error_count",
    "error_text",
    "error_seq",
    "cost_complete",
    "title",
    "output_text",
    "to_review",
    "comment_count",
)
WARNING = ("code", "message", "seq")
TOKENS = ("input", "output", "cache_read", "cache_write", "reasoning", "total")
EFFECT = (
    "seq",
    "depth",
    "scope",
    "family",
    "key",
    "name",
    "response_model",
    "inferred",
    "provider",
    "api",
    "status",
    "stream",
    "finish_reason",
    "started_at",
    "duration_ms",
    "first_token_ms",
    "counted",
    "summary",
    "request_size",
    "response_size",
    "content_hash",
    "redactions",
)
USAGE = tuple(f"{name}_tokens" for name in TOKENS)
EFFECT_ROW = ("effect_id", "parent_id", "cost", "wire_segment_id", *EFFECT, *USAGE)
"""The columns `effect` needs: rows of them cost half of what whole effects do."""

LISTED = (
    *("id", "external_id", "sort_at", "end_user", "models_used", "cost", "tokens_complete"),
    *(f"{family}_count" for family in ("effect", "model", "tool", "memory", "search")),
    *USAGE,
    *RUN_IN_LIST,
)
"""The columns `run_in_list` needs: rows of them cost half of what whole runs do."""


def run_in_list(run: Any, slug: str) -> dict[str, Any]:
    """`run` is a Run, or a named tuple of the columns `LISTED`."""
    return {
        "id": run.external_id,
        "url": f"/p/{slug}/runs/{run.external_id}",
        "user_id": run.end_user,
        **{name: getattr(run, name) for name in RUN_IN_LIST},
        "models": run.models_used.split(", ") if run.models_used else [],
        "effects": {
            "total": run.effect_count,
            "completion": run.model_count,
            "tool": run.tool_count,
            "memory": run.memory_count,
            "retrieve": run.search_count,
        },
        "usage": {**_tokens(run), "complete": run.tokens_complete},
        "cost": dollars(run.cost),
    }


def run_alone(run: Run, slug: str) -> dict[str, Any]:
    labels = RunLabel.objects.filter(run=run).order_by("pk").values_list("kind", "value")
    by_kind: dict[str, list[str]] = {kind: [] for kind in LabelKind.values}
    for kind, value in labels:
        by_kind[kind].append(value)
    return {
        **run_in_list(run, slug),
        "source": run.source,
        "shape": run.shape,
        "models": sorted(by_kind[LabelKind.MODEL]),
        "tools": sorted(by_kind[LabelKind.TOOL]),
        "tags": by_kind[LabelKind.TAG],
        "metadata": run.metadata,
        "warnings": [{name: w.get(name) for name in WARNING} for w in run.warnings],
        "last_seq": run.last_seq,
        "bytes_received": run.bytes_received,
        "bytes_stored": run.bytes_stored,
    }


def effect(row: Sequence[Any]) -> dict[str, Any]:
    """One effect, from a row of the columns `EFFECT_ROW`."""
    effect_id, parent_id, cost, wire_segment, *others = row
    return {
        "id": effect_id,
        "parent_id": parent_id or None,
        **dict(zip(EFFECT, others, strict=False)),
        "usage": dict(zip(USAGE, others[len(EFFECT) :], strict=True)),
        "cost": dollars(cost),
        "has_wire": wire_segment is not None,
    }


def row_of(effect: Effect) -> tuple[Any, ...]:
    """The columns `EFFECT_ROW` of a whole effect."""
    return tuple(getattr(effect, name) for name in EFFECT_ROW)


def dollars(cost: Decimal | None) -> float | None:
    return None if cost is None else float(cost)


def _tokens(row: Any) -> dict[str, int | None]:
    return {name: getattr(row, name) for name in USAGE}
