"""Sets of runs: kept, added to, taken from, renamed, deleted. Nothing else writes these tables."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import IntegrityError, transaction
from django.db.models import Count, F, Q, QuerySet

from replay.experiments.asked import MAX_RUNS, read_name
from replay.experiments.models import Dataset, DatasetRun
from runs import bulk
from runs.accounts.models import Project, User
from runs.models import Run
from runs.refusals import Refused

BATCH = 500


def keep(project: Project, name: str, runs: Sequence[Run], user: User | None) -> Dataset:
    """A new set. Raises Refused for a bad name, or one that another set of the project has."""
    dataset = Dataset(project=project, name=read_name(name), created_by=user)
    try:
        with bulk.turn():
            dataset.save(force_insert=True)
            places = [DatasetRun(dataset=dataset, run=run, place=at) for at, run in enumerate(runs)]
            DatasetRun.objects.bulk_create(places, batch_size=BATCH)
    except IntegrityError:
        raise _taken() from None
    return dataset


def add(dataset: Dataset, runs: Sequence[Run]) -> int:
    """Put runs behind those that are there; how many were new. Refused for too many."""
    with bulk.turn():
        # An UPDATE locks the row: two who add at once do it one after the other.
        Dataset.objects.filter(pk=dataset.pk).update(name=F("name"))
        behind = _places(dataset, runs)
        DatasetRun.objects.bulk_create(behind, batch_size=BATCH)
    return len(behind)


def _places(dataset: Dataset, runs: Sequence[Run]) -> list[DatasetRun]:
    """Those of runs that are not there yet, behind those that are. Refused for too many."""
    places = dict(dataset.places.values_list("run", "place"))
    new = [run for run in runs if run.pk not in places]
    if len(places) + len(new) > MAX_RUNS:
        text = f"A dataset has at most {MAX_RUNS:,} runs."
        raise Refused("too_many", text, "add", limit=MAX_RUNS)
    first = max(places.values(), default=-1) + 1
    return [DatasetRun(dataset=dataset, run=run, place=first + at) for at, run in enumerate(new)]


def take_out(dataset: Dataset, ids: Sequence[str]) -> int:
    """Take runs out of a set, those that are in it; how many."""
    taken = 0
    for start in range(0, len(ids), BATCH):
        some = dataset.places.filter(run__external_id__in=ids[start : start + BATCH])
        taken += some.delete()[0]
    return taken


def problem_of(dataset: Dataset | None, name: str, runs: Sequence[Run]) -> str:
    """Why runs cannot be kept under this name, which the set has, if there is one; empty where they
    can."""
    try:
        read_name(name)
        if dataset is not None:
            _places(dataset, runs)
    except Refused as refusal:
        return refusal.message
    return ""


def rename(dataset: Dataset, name: str) -> None:
    """Raises Refused as `keep` does."""
    dataset.name = read_name(name)
    try:
        with transaction.atomic():
            dataset.save(update_fields=["name"])
    except IntegrityError:
        raise _taken() from None


def remove(dataset: Dataset) -> None:
    """The set, not its runs; experiments made of it stay."""
    dataset.delete()


def _taken() -> Refused:
    return Refused("conflict", "There is a dataset of this name.", "name")


def listed(project: Project) -> QuerySet[Dataset]:
    """Newest first, each with `size`: how many of its runs are there."""
    there = Count("places", filter=Q(places__run__deleted_at=None))
    return Dataset.objects.filter(project=project).annotate(size=there).order_by("-pk")
