"""An answer held against what was recorded and what was accepted, as the columns of its row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from replay.comparison import answers
from replay.comparison.compare import Comparison, Side, compare
from replay.dialects.answer import Answer
from replay.ignore_rules.rule import Rule
from replay.recorded_calls import RecordedCall
from replay.review import baselines, clusters
from replay.review.models import Baseline
from replay.shown import both_shown, cut
from runs.messages.loose import clean
from runs.models import NAME

Accepted = Callable[[str], Sequence[Baseline]]
"""The accepted answers to a request, by its hash."""


def judged(
    call: RecordedCall, answer: Answer, rules: Sequence[Rule], accepted: Accepted
) -> tuple[Comparison, dict[str, Any]]:
    """How an answer differs, from the recorded one or from one that somebody accepted."""
    side, schema = call.side, call.schema
    found = compare(side, answer, schema, rules)
    if found.is_settled:
        return found, compared(found, side, answer)
    asked = call.request_hash
    held, by = baselines.mildest(found, accepted(asked), answer, schema, rules)
    other = answers.unpack(bytes(by.answer)) if by else side
    return held, {**compared(held, other, answer), "baseline": by, "request_hash": asked}


def compared(found: Comparison, recorded: Side, replayed: Side) -> dict[str, Any]:
    """The columns that tell a comparison."""
    changes = []
    for change in found.changes:
        before, after = both_shown(change.recorded, change.replayed)
        changes.append({"path": cut(change.path), "recorded": before, "replayed": after})
    summary = found.summary or found.difference.label
    return {
        "difference": found.difference,
        "ignored_difference": found.ignored or "",
        "ignored_by": list(found.rules),
        "summary": clean(summary)[: NAME * 2],
        "changes": changes,
        "cause": clusters.cause(found, *(found.sides or (recorded, replayed))),
    }
