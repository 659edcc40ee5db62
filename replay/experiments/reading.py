"""Finding runs, sets and experiments of a project. What is another project's is not there."""

from __future__ import annotations

from collections.abc import Sequence

from django.db.models import QuerySet

from replay.experiments.asked import MAX_RUNS
from replay.experiments.models import Dataset
from replay.models import Experiment
from runs.accounts.models import Project
from runs.messages.loose import clean
from runs.models import Run
from runs.refusals import Refused

AT_ONCE = 500
NAMED = 10


def runs_of(project: Project, ids: Sequence[str], field: str = "runs") -> list[Run]:
    """The runs of these ids, in this order; Refused (`not_found`) where one is not there."""
    runs, missing = runs_there(project, ids)
    if missing:
        raise Refused("not_found", not_there(missing), field=field)
    return runs


def runs_there(project: Project, ids: Sequence[str]) -> tuple[list[Run], list[str]]:
    """Those of these runs that are there, in this order, and the ids of the others."""
    found: dict[str, Run] = {}
    for start in range(0, len(ids), AT_ONCE):
        some = ids[start : start + AT_ONCE]
        found |= {run.external_id: run for run in _runs(project).filter(external_id__in=some)}
    runs = [found[name] for name in ids if name in found]
    return runs, [name for name in ids if name not in found]


def not_there(missing: Sequence[str]) -> str:
    listed = ", ".join(name[:100] for name in missing[:NAMED])
    more = f" and {len(missing) - NAMED} more" if len(missing) > NAMED else ""
    return f"There is no run of this id: {listed}{more}."


def _runs(project: Project) -> QuerySet[Run]:
    return Run.objects.of(project).for_list()


def dataset_of(project: Project, public_id: str) -> Dataset:
    """The set of this id; Refused (`not_found`) where there is none."""
    found = Dataset.objects.filter(project=project, public_id=clean(public_id)).first()
    if found is None:
        raise Refused("not_found", "There is no dataset of this id.", field="dataset")
    return found


def dataset_named(project: Project, name: str) -> Dataset | None:
    return Dataset.objects.filter(project=project, name=clean(name.strip())).first()


def runs_in(dataset: Dataset) -> list[Run]:
    """The runs of a set that are there, in their order."""
    places = dataset.places.filter(run__deleted_at=None).select_related("run").order_by("place")
    return [place.run for place in places[:MAX_RUNS]]


def experiment_of(project_id: int, public_id: str) -> Experiment | None:
    mine = Experiment.objects.filter(project=project_id, public_id=public_id)
    return mine.select_related("project", "dataset", "created_by", "created_key").first()
