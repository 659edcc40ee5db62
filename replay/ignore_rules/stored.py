"""Answers that replays have kept, held against their recordings again, under other rules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db.models import Q, QuerySet

from replay import answers, recording
from replay.compare import Comparison
from replay.comparing import judged
from replay.dialects.answer import Answer
from replay.differences import Difference
from replay.ignore_rules.rule import Rule, of_effect
from replay.models import UNCHANGED, CallState, Replay, ReplayEffect, ReplayMode
from replay.states import FINAL
from runs.accounts.models import Project

DIFFERS = ~Q(difference__in=("", *UNCHANGED))


def replays_of(project: Project) -> QuerySet[Replay]:
    """Replays that are over and hold answers, newest first."""
    over = Replay.objects.of(project).filter(mode=ReplayMode.PROMPT, status__in=FINAL)
    return over.order_by("-pk")


def answered_in(replays: Sequence[int]) -> QuerySet[ReplayEffect]:
    """The compared answers of replays (their keys), newest replay first."""
    rows = ReplayEffect.objects.filter(replay__in=replays, state=CallState.ANSWERED)
    return rows.exclude(difference="").order_by("-replay_id", "seq")


def with_both(rows: QuerySet[ReplayEffect]) -> QuerySet[ReplayEffect]:
    """With what a comparison needs."""
    whole = rows.exclude(answer=None).exclude(effect=None)
    return whole.select_related("effect", "baseline").defer("sent", "response")


def again(row: ReplayEffect, rules: Sequence[Rule]) -> tuple[Comparison, dict[str, Any]] | None:
    """The comparison of a row under rules, and its columns; held against the baseline it was held
    against, no other. None where there is nothing to compare."""
    answer, effect = answers.replayed_side(row), row.effect
    record = recording.record(effect).value if effect else None
    if not isinstance(answer, Answer) or record is None or effect is None:
        return None
    accepted = [row.baseline] if row.baseline else []
    found, columns = judged(record, answer, of_effect(rules, effect.key), lambda asked: accepted)
    return found, {"baseline": None, **columns}


def became(row: ReplayEffect, found: Comparison) -> str:
    """What rules would make of a row: `silenced`, `milder`, `restored`, or nothing (``)."""
    before, after = Difference(row.difference), found.difference
    if after.severity > before.severity:
        return "restored" if row.ignored_difference else ""
    if found.ignored is None or after == before:
        return ""
    return "milder" if after.is_change else "silenced"
