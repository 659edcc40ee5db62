"""How many divergences a cluster has in each state, and a run open ones: kept, not counted."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import TypeVar

from django.db.models import Count, F, Model
from django.db.models.functions import Greatest

from replay.review.models import COUNTED, Cluster, Divergence, State
from replay.review.turns import turn_of
from runs import bulk, statements
from runs.models import Run

M = TypeVar("M", bound=Model)
BATCH = 500


def move(state: str, *, clusters: Mapping[int, int], runs: Mapping[int, int] | None = None) -> None:
    """Move a state's numbers of clusters and, of open ones, of runs; many rows a statement."""
    _move(Cluster, f"{state}_count", clusters)
    if state == State.OPEN and runs:
        _move(Run, "to_review", runs)


def _move(model: type[Model], column: str, changes: Mapping[int, int]) -> None:
    by_change: dict[int, list[int]] = defaultdict(list)
    for pk, change in changes.items():
        by_change[change].append(pk)
    for change, ids in by_change.items():
        for start in range(0, len(ids) if change else 0, BATCH):
            some = tuple(sorted(ids)[start : start + BATCH])
            if change > 0:
                statements.change(model, {"id": some}, add={column: change})
            else:
                less = Greatest(F(column) + change, 0)
                model._base_manager.filter(pk__in=some).update(**{column: less})


def recount(clusters: Iterable[int]) -> None:
    """Count the members of clusters anew, those of deleted runs not: for when runs come or go."""
    for pk in sorted(clusters):
        members = Divergence.objects.filter(cluster=pk, run__deleted_at=None)
        found = dict(members.order_by().values_list("state").annotate(Count("pk")))
        counts = {f"{state}_count": found.get(state, 0) for state in COUNTED}
        Cluster.objects.filter(pk=pk).update(**counts)


def runs_moved(runs: list[int]) -> None:
    """Runs were hidden or brought back: their divergences go and come with them."""
    for project_id, clusters in _clusters_of(runs).items():
        with bulk.turn():
            turn_of(project_id)
            recount(clusters)


def runs_end(runs: list[int]) -> None:
    """Runs are about to be deleted for good: so are their divergences, and empty clusters."""
    for project_id, clusters in _clusters_of(runs).items():
        with bulk.turn():
            turn_of(project_id)
            Divergence.objects.filter(project=project_id, run__in=runs).delete()
            empty = Cluster.objects.filter(pk__in=clusters, members=None)
            recount(clusters - set(empty.values_list("pk", flat=True)))
            empty.delete()


def _clusters_of(runs: list[int]) -> dict[int, set[int]]:
    found: dict[int, set[int]] = defaultdict(set)
    members = Divergence.objects.filter(run__in=runs).order_by()
    for project_id, cluster in members.values_list("project_id", "cluster_id").distinct():
        found[project_id].add(cluster)
    return found
