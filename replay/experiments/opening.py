"""From a plan to an experiment: its rows and columns, and a queued replay for each cell."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import F

from replay import jobs
from replay.askable import NONE, Unasked
from replay.experiments.asked import MAX_CANDIDATES, MAX_CELLS, Wanted
from replay.experiments.gate import NO_GATE, Gate
from replay.experiments.models import (
    RECORDED_LABEL,
    Cell,
    Dataset,
    ExperimentCandidate,
    ExperimentRun,
)
from replay.experiments.planning import Plan
from replay.jobs import Asker
from replay.models import Experiment, Replay, ReplayMode
from replay.plan import SAYS, refuse
from replay.questions import RECORDED, Candidate
from rewyn_sdk import canonical_bytes
from runs import bulk
from runs.accounts.models import Project
from runs.models import Run
from runs.refusals import Refused

BATCH = 200
Plans = dict[tuple[int, str], dict[str, Any]]
"""(key of a run, mark of a candidate) → the plan of their replay, where somebody saw one."""
Models = Mapping[int, Candidate]
"""Key of a run → the model it was recorded with, where that can be asked."""
NO_MODELS: Models = {}


def start(
    project: Project,
    plan: Plan,
    asker: Asker,
    *,
    name: str = "",
    gate: Gate = NO_GATE,
    dataset: Dataset | None = None,
) -> tuple[Experiment, bool]:
    """Queue all of a plan; asking again while it goes on gives the one that is there (and False).

    Raises SeveralRefused with the errors of the plan.
    """
    refuse(plan.errors)
    return open_experiment(
        project, plan.runs, plan.candidates, asker,
        recorded=plan.recorded, unasked=plan.unasked, name=name, gate=gate, dataset=dataset,
    )  # fmt: skip


def open_experiment(
    project: Project,
    runs: Sequence[Run],
    candidates: Sequence[Wanted],
    asker: Asker,
    *,
    plans: Plans | None = None,
    recorded: Models = NO_MODELS,
    unasked: Unasked = NONE,
    name: str = "",
    gate: Gate = NO_GATE,
    dataset: Dataset | None = None,
) -> tuple[Experiment, bool]:
    """The experiment of runs that have model calls, with `plans` of single replays or without.

    A candidate that is the recorded model has a cell where `recorded` names that of the run.
    """
    mark = _fingerprint(runs, candidates)
    experiment = Experiment(
        project=project,
        name=name or _name(runs, candidates),
        asked_runs=len(runs),
        gate=gate.as_json(),
        dataset=dataset,
        fingerprint=mark,
        created_by=asker.user,
        created_key_id=asker.key_id,
    )
    try:
        with bulk.turn():
            experiment.save(force_insert=True)
            rows = [
                ExperimentRun(experiment=experiment, run=run, place=place)
                for place, run in enumerate(runs, 1)
            ]
            ExperimentRun.objects.bulk_create(rows, batch_size=BATCH)
            _add_columns(experiment, rows, candidates, asker, plans or {}, recorded, unasked)
    except IntegrityError:
        there = Experiment.objects.filter(project=project, fingerprint=mark, finished_at=None)
        found = there.first()
        if found is None:
            raise
        return found, False
    return experiment, True


def _name(runs: Sequence[Run], candidates: Sequence[Wanted]) -> str:
    """What nobody named: its one run or how many, and its one model or how many."""
    what = runs[0].heading if len(runs) == 1 else f"{len(runs):,} runs"
    one = len(candidates) == 1
    whom = f"{len(candidates)} candidates"
    if one:
        whom = str(candidates[0].model or RECORDED_LABEL)
    return f"{what[:90]} × {whom[:90]}"


def _fingerprint(runs: Sequence[Run], candidates: Sequence[Wanted]) -> str:
    asked = {"runs": sorted(run.pk for run in runs), "of": sorted(one.mark for one in candidates)}
    return hashlib.blake2b(canonical_bytes(asked), digest_size=32).hexdigest()


def add(experiment: Experiment, plan: Plan, asker: Asker) -> int:
    """Give an experiment more columns; how many were new. Those it has are not asked again.

    Raises SeveralRefused with the errors of the plan, and Refused where the experiment is full.
    """
    refuse(plan.errors)
    with bulk.turn():
        mine = Experiment.objects.filter(pk=experiment.pk)
        # An UPDATE locks the row: two who add at once do it one after the other.
        mine.update(name=F("name"))
        there = set(experiment.candidates.values_list("mark", flat=True))
        new = [one for one in plan.candidates if one.mark not in there]
        if not new:
            return 0
        mine.update(finished_at=None, fingerprint="")
        rows = list(experiment.rows.filter(run__in=plan.runs).select_related("run"))
        _refuse_too_many(len(there) + len(new), len(rows))
        first = len(there) + 1
        _add_columns(experiment, rows, new, asker, {}, plan.recorded, plan.unasked, first)
    return len(new)


def _refuse_too_many(candidates: int, runs: int) -> None:
    if candidates > MAX_CANDIDATES:
        text = f"An experiment has at most {MAX_CANDIDATES} candidates."
        raise Refused("too_many", text, "candidates", limit=MAX_CANDIDATES)
    if candidates * runs > MAX_CELLS:
        text = f"{runs:,} runs × {candidates} candidates are more than {MAX_CELLS:,}."
        raise Refused("too_many", text, "candidates", limit=MAX_CELLS)


def _add_columns(
    experiment: Experiment,
    rows: Sequence[ExperimentRun],
    candidates: Sequence[Wanted],
    asker: Asker,
    plans: Plans,
    recorded: Models,
    unasked: Unasked,
    first: int = 1,
) -> None:
    columns = [_column(experiment, one, first + at) for at, one in enumerate(candidates)]
    ExperimentCandidate.objects.bulk_create(columns)
    asked = list(zip(candidates, columns, strict=True))
    places = [
        (row, column, model)
        for row in rows
        for one, column in asked
        if (model := one.model or recorded.get(row.run_id))
    ]
    replays = [
        _replay(
            experiment,
            row.run,
            column,
            model,
            asker,
            plans.get((row.run_id, column.mark)) or _plan(row.run, column, model, unasked),
        )
        for row, column, model in places
    ]
    jobs.queue_all(replays)
    cells = [
        Cell(experiment=experiment, row=row, candidate=column, replay=one, total=one.total)
        for (row, column, _), one in zip(places, replays, strict=True)
    ]
    Cell.objects.bulk_create(cells, batch_size=BATCH)
    transaction.on_commit(lambda: jobs.ring_waiting(experiment.pk), robust=True)


def _column(experiment: Experiment, wanted: Wanted, place: int) -> ExperimentCandidate:
    return ExperimentCandidate(
        experiment=experiment,
        place=place,
        provider=wanted.model.provider if wanted.model else "",
        model=wanted.model.model if wanted.model else "",
        controls=wanted.controls.as_json(),
        mark=wanted.mark,
    )


def _replay(
    experiment: Experiment,
    run: Run,
    column: ExperimentCandidate,
    model: Candidate,
    asker: Asker,
    plan: dict[str, Any],
) -> Replay:
    asked = {"experiment": experiment.public_id, **column.controls}
    if column.is_recorded:  # beside a candidate that names the same model it is asked, too
        asked["model"] = RECORDED
    return Replay(
        project_id=experiment.project_id,
        run=run,
        experiment=experiment,
        mode=ReplayMode.PROMPT,
        provider=model.provider,
        model=model.model,
        controls=column.controls,
        plan=plan,
        fingerprint=jobs.fingerprint(ReplayMode.PROMPT, model.provider, model.model, asked),
        created_by=asker.user,
        created_key_id=asker.key_id,
        total=plan["total"],
    )


def _plan(
    run: Run, column: ExperimentCandidate, model: Candidate, unasked: Unasked
) -> dict[str, Any]:
    """What of the plan one replay keeps: all model calls the run has now (`effects` is null), but
    for those that cannot be asked."""
    total = unasked.calls(run)
    return {
        "mode": "prompt",
        "says": SAYS["prompt"],
        "candidate": str(model),
        "total": total,
        "effects": None,
        "cannot_ask": unasked.of(run),
        "calls": jobs.calls_of(total, column.controls.get("samples", 1)),
    }
