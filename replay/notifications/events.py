"""What webhooks are told of replays, experiments and regressions: ids, links and figures, and no
word of what was asked, answered or said. An unknown figure is null."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from datetime import datetime
from decimal import Decimal
from functools import wraps
from typing import Any, ParamSpec
from urllib.parse import urlencode

from django.db import DatabaseError
from django.db.models import Count, Exists, Max, OuterRef, QuerySet
from django.urls import reverse

from replay.experiments.gate import read_gate
from replay.experiments.summary import Column, summary
from replay.models import Experiment, Replay
from replay.notifications.kinds import Kind
from replay.notifications.models import Webhook
from replay.notifications.outbox import listening, put
from replay.review.models import Cluster, Divergence, ReviewEvent, State
from runs.accounts.models import Project

logger = logging.getLogger(__name__)
NAMED = 20
"""Divergences that an event names, and clusters of one replay that come again."""


P = ParamSpec("P")


def _in_nobody_s_way(tell: Callable[P, None]) -> Callable[P, None]:
    """Whatever is wrong with telling, what happened happens. Of the database's own errors the
    transaction has to end."""

    @wraps(tell)
    def told(*args: P.args, **named: P.kwargs) -> None:
        try:
            tell(*args, **named)
        except DatabaseError:
            raise
        except Exception:
            logger.exception("notifications.not_told", extra={"event": tell.__name__})

    return told


def dollars(cost: Decimal | None) -> float | None:
    return None if cost is None else float(cost)


# --- Replays -----------------------------------------------------------------------------------


def of_interest(replays: QuerySet[Replay]) -> list[int]:
    """The keys of replays whose end somebody may be told of. Those of an experiment are told of
    with it."""
    hooks = Webhook.objects.filter(project=OuterRef("project"), is_active=True)
    return list(replays.filter(Exists(hooks), experiment=None).values_list("pk", flat=True))


@_in_nobody_s_way
def replays_ended(ids: Sequence[int], at: datetime) -> None:
    """Of these replays, tell of those that ended at that very instant."""
    ended = Replay.objects.filter(pk__in=ids, finished_at=at).visible()
    for replay in ended.select_related("project", "run").defer("plan", "proof", "mismatches"):
        found = Divergence.objects.filter(replay=replay)
        if hooks := listening(replay.project_id, Kind.REPLAY_FINISHED):
            key = f"replay:{replay.pk}:{at.isoformat()}"
            put(hooks, Kind.REPLAY_FINISHED, key, _of_replay(replay, found))
        _tell_of_old_ones(replay.project, found, {"replay": replay.public_id, "experiment": None})


def _of_replay(replay: Replay, found: QuerySet[Divergence]) -> dict[str, Any]:
    slug = replay.project.slug
    return {
        "project": slug,
        "replay": replay.public_id,
        "url": reverse("replay:detail", args=[slug, replay.public_id]),
        "run": replay.run.external_id,
        "agent": replay.run.agent or None,
        "mode": replay.mode,
        "model": replay.candidate or None,
        "status": replay.status,
        "error": replay.error_code or None,
        "identical": replay.identical,
        "faithful": replay.faithful,
        "calls": replay.calls,
        "changed": replay.changed,
        "divergences": _counts(found),
        "cost": dollars(replay.cost),
        "cost_complete": replay.cost_complete,
        "original_cost": dollars(replay.original_cost),
        "original_cost_complete": replay.original_cost_complete,
        "input_tokens": replay.input_tokens,
        "output_tokens": replay.output_tokens,
        "tokens_complete": replay.tokens_complete,
        "latency_ms": replay.latency_ms,
        "original_latency_ms": replay.original_latency_ms,
        "finished_at": replay.finished_at and replay.finished_at.isoformat(),
    }


def _counts(found: QuerySet[Divergence]) -> dict[str, int]:
    """How many somebody has to look at, and how many were judged regressions."""
    now = found.filter(is_current=True, run__deleted_at=None).order_by()
    counts = dict(now.values_list("state").annotate(Count("pk")))
    return {state: counts.get(state, 0) for state in (State.OPEN.value, State.REGRESSION.value)}


# --- Experiments -------------------------------------------------------------------------------


@_in_nobody_s_way
def experiment_ended(pk: int) -> None:
    """Tell of an experiment whose last replay has ended."""
    experiment = Experiment.objects.select_related("project").get(pk=pk)
    found = Divergence.objects.filter(replay__experiment=experiment)
    if hooks := listening(experiment.project_id, Kind.EXPERIMENT_FINISHED):
        at = experiment.finished_at and experiment.finished_at.isoformat()
        data = _of_experiment(experiment, found) | {"finished_at": at}
        put(hooks, Kind.EXPERIMENT_FINISHED, f"experiment:{pk}:{at}", data)
    about = {"replay": None, "experiment": experiment.public_id}
    _tell_of_old_ones(experiment.project, found, about)


def _of_experiment(experiment: Experiment, found: QuerySet[Divergence]) -> dict[str, Any]:
    slug, sums = experiment.project.slug, summary(experiment)
    checks = sums.checks(read_gate(experiment.gate))
    return {
        "project": slug,
        "experiment": experiment.public_id,
        "url": reverse("replay:experiment", args=[slug, experiment.public_id]),
        "name": experiment.name or None,
        "status": sums.status,
        "gate_passed": bool(checks) and all(one.passed for one in checks),
        "replays": sums.cells,
        "divergences": _counts(found),
        "candidates": [_of_candidate(column) for column in sums.columns],
    }


def _of_candidate(column: Column) -> dict[str, Any]:
    return {
        "model": str(column.candidate),
        "replays": column.cells,
        "ended": column.ended,
        "calls": column.calls,
        "changed": column.sums.get("changed") or 0,
        "errors": column.errors,
        "same_share": column.same,
        "cost": dollars(column.sums.get("cost")),
        "cost_complete": column.complete.get("cost", False),
        "cost_ratio": column.cost_ratio,
    }


# --- Regressions -------------------------------------------------------------------------------


@_in_nobody_s_way
def regression_judged(event: ReviewEvent) -> None:
    """Somebody gave the verdict regression."""
    hooks = listening(event.project_id, Kind.REGRESSION_FOUND)
    if not hooks:
        return
    covered = Divergence.objects.filter(decision=event)
    about = {"found": "verdict", "by": event.signed or None, "replay": None, "experiment": None}
    data = _of_cluster(event.project, event.cluster, covered, event.count) | about
    put(hooks, Kind.REGRESSION_FOUND, f"verdict:{event.pk}", data)


def _tell_of_old_ones(
    project: Project, found: QuerySet[Divergence], about: dict[str, str | None]
) -> None:
    """Something that was judged a regression came again: an open divergence joined its cluster."""
    hooks = listening(project.pk, Kind.REGRESSION_FOUND)
    if not hooks:
        return
    again = found.filter(
        state=State.OPEN,
        is_current=True,
        run__deleted_at=None,
        cluster__regression_count__gt=0,
    )
    grouped = again.order_by().values_list("cluster").annotate(Count("pk"), newest=Max("pk"))
    for cluster_id, count, newest in grouped.order_by("cluster")[:NAMED]:
        cluster = Cluster.objects.get(pk=cluster_id)
        data = _of_cluster(project, cluster, again.filter(cluster=cluster), count)
        key = f"again:{cluster_id}:{newest}"
        put(hooks, Kind.REGRESSION_FOUND, key, data | {"found": "again", "by": None} | about)


def _of_cluster(
    project: Project, cluster: Cluster, members: QuerySet[Divergence], count: int
) -> dict[str, Any]:
    state = members.order_by().values_list("state", flat=True).first() or State.OPEN
    query = urlencode({"state": state, "cluster": cluster.pk})
    named = members.order_by("pk").values_list("public_id", flat=True)[:NAMED]
    return {
        "project": project.slug,
        "cluster": cluster.pk,
        "url": f"{reverse('replay:review', args=[project.slug])}?{query}",
        "class": cluster.difference,
        "agent": cluster.agent or None,
        "effect_key": cluster.effect_key or None,
        "count": count,
        "divergences": list(named),
    }
