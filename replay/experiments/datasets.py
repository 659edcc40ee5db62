"""Sets of runs: kept, renamed, deleted. Nothing else writes these tables."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import IntegrityError, transaction
from django.db.models import Count, Q, QuerySet

from replay.experiments.asked import read_name
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
