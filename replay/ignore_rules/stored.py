"""Answers that replays have kept, held against their recordings again, under other rules."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Q, QuerySet

from replay import recording
from replay.comparison import answers
from replay.comparison.compare import Comparison
from replay.comparison.comparing import judged
from replay.comparison.differences import Difference
from replay.ignore_rules.rule import Rule, of_effect
from replay.models import UNCHANGED, Answered, CallState, Replay, ReplayEffect, ReplayMode
from replay.modes import samples
from replay.recorded_calls import RecordedCall
from replay.states import FINAL
from runs.accounts.models import Project

DIFFERS = ~Q(difference__in=("", *UNCHANGED))


def replays_of(project: Project) -> QuerySet[Replay]:
    """Replays that are over and hold answers, newest first."""
    over = Replay.objects.of(project).filter(status__in=FINAL)
    return over.exclude(mode=ReplayMode.RECONSTRUCT).order_by("-pk")


def answered_in(replays: Sequence[int]) -> QuerySet[ReplayEffect]:
    """The compared answers of replays (their keys), newest replay first."""
    rows = ReplayEffect.objects.filter(replay__in=replays, state=CallState.ANSWERED)
    return rows.exclude(difference="").order_by("-replay_id", "seq")


def with_both(rows: QuerySet[ReplayEffect]) -> QuerySet[ReplayEffect]:
    """With what a comparison needs."""
    whole = rows.exclude(answer=None).exclude(effect=None)
    return whole.select_related("effect", "baseline").defer("sent", "response")


@dataclass(frozen=True, slots=True)
class Held:
    """The comparison of a row under rules, and its columns; those of its samples by their keys."""

    found: Comparison
    columns: dict[str, Any]
    samples: dict[int, dict[str, Any]] = field(default_factory=dict)


def again(row: ReplayEffect, rules: Sequence[Rule]) -> Held | None:
    """A row held against its recording again, and against the baseline it was held against, no
    other. None where there is nothing to compare."""
    effect = row.effect
    record = recording.record(effect).value if effect else None
    if record is None or effect is None or not row.answer:
        return None
    own = of_effect(rules, effect.key)
    return _all(row, record, own) if row.samples > 1 else Held(*_one(row, record, own))


def _one(
    of: Answered, record: dict[str, Any], rules: Sequence[Rule]
) -> tuple[Comparison, dict[str, Any]]:
    answer, accepted = answers.unpack(bytes(of.answer or b"")), [of.baseline] if of.baseline else []
    found, columns = judged(RecordedCall(record), answer, rules, lambda asked: accepted)
    return found, {"baseline": None, **columns}


def _all(row: ReplayEffect, record: dict[str, Any], rules: Sequence[Rule]) -> Held:
    kept, changed = samples.kept(row), {}
    for sample in kept:
        changed[sample.pk] = _one(sample, record, rules)[1]
        for name, value in changed[sample.pk].items():
            setattr(sample, name, value)
    columns = samples.together(kept)
    ignored = columns["ignored_difference"]
    found = Comparison(
        Difference(columns["difference"]),
        ignored=Difference(ignored) if ignored else None,
        rules=tuple(columns["ignored_by"]),
    )
    return Held(found, columns, changed)


def became(row: ReplayEffect, found: Comparison) -> str:
    """What rules would make of a row: `silenced`, `milder`, `restored`, or nothing (``)."""
    before, after = Difference(row.difference), found.difference
    if after.severity > before.severity:
        return "restored" if row.ignored_difference else ""
    if found.ignored is None or after == before:
        return ""
    return "milder" if after.is_change else "silenced"
