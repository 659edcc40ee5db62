"""What a retry of an experiment would ask: said before it is asked."""

from __future__ import annotations

from dataclasses import dataclass

from django.conf import settings
from django.db.models import Count, Sum

from replay.experiments.summary import Summary
from replay.models import CallState, Replay, ReplayEffect, ReplaySample
from replay.questions import Controls
from replay.states import replay_move


@dataclass(frozen=True, slots=True)
class Left:
    """Calls to make if each is answered at once, and with every try, in how many replays."""

    replays: int
    calls: int
    at_most: int


def left_to_ask(found: Summary) -> Left:
    """By three queries, however many replays there are."""
    mine = Replay.objects.filter(
        experiment=found.experiment, status__in=replay_move("retry").sources
    ).visible()
    planned = mine.order_by().values_list("cell__candidate").annotate(Count("pk"), Sum("total"))
    answered = dict(
        ReplayEffect.objects.filter(replay__in=mine.values("pk"), state=CallState.ANSWERED)
        .order_by()
        .values_list("replay__cell__candidate")
        .annotate(Count("pk"))
    )
    stored = ReplaySample.objects.filter(row__replay__in=mine.values("pk"))
    there = stored.exclude(row__state=CallState.ANSWERED).count()
    times = {
        column.candidate.pk: Controls.of_json(column.candidate.controls).samples
        for column in found.columns
    }
    replays, asked = 0, 0
    for candidate, count, total in planned:
        replays += count
        asked += max(total - answered.get(candidate, 0), 0) * times.get(candidate, 1)
    calls = max(asked - there, 0)
    return Left(replays, calls, calls * settings.REPLAY_CALL_ATTEMPTS)
