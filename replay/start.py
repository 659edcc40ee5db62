"""From a question to replays: a plan for each candidate, then a job for each plan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db import transaction

from replay import jobs
from replay.jobs import Asker
from replay.models import Experiment, Replay
from replay.plan import make_plan
from replay.questions import Candidate, Question
from runs.models import Run
from runs.refusals import Refused


@dataclass(frozen=True, slots=True)
class Planned:
    """One replay that could be started: its candidate (None: no model is asked) and its plan."""

    question: Question
    candidate: Candidate | None
    plan: dict[str, Any]

    @property
    def provider(self) -> str:
        return self.candidate.provider if self.candidate else ""

    @property
    def model(self) -> str:
        return self.candidate.model if self.candidate else ""


@dataclass(frozen=True, slots=True)
class Started:
    replays: Sequence[Replay]
    experiment: Experiment | None
    created: bool


def plans(run: Run, question: Question) -> list[Planned]:
    """What would happen, per candidate. Sends nothing and stores nothing."""
    candidates: list[Candidate | None] = list(question.candidates)
    if not candidates:
        candidates = [None]
    planned = []
    for candidate in candidates:
        asked, plan = make_plan(run, question, candidate)
        planned.append(Planned(question, asked, plan))
    return planned


def start(run: Run, question: Question, asker: Asker) -> Started:
    """Queue what was asked for, if every plan can be carried out.

    Raises Refused with the first error of a plan.
    """
    planned = plans(run, question)
    for one in planned:
        for error in one.plan["errors"]:
            raise Refused(error["code"], error["message"], error.get("field"))
    return start_planned(run, planned, asker)


@transaction.atomic
def start_planned(run: Run, planned: Sequence[Planned], asker: Asker) -> Started:
    """A job for each plan; several of them make an experiment.

    Asking again while all of them are active gives the experiment that is there.
    """
    made = [
        jobs.create_job(
            run=run,
            mode=one.question.mode,
            provider=one.provider,
            model=one.model,
            controls=one.question.controls.as_json(),
            plan=one.plan,
            asker=asker,
        )
        for one in planned
    ]
    replays, new = [replay for replay, _ in made], [replay for replay, is_new in made if is_new]
    experiment = None
    if len(made) > 1:
        experiment = _experiment(run, new, asker) if new else _last_experiment(replays)
    return Started(replays, experiment, bool(new))


def _experiment(run: Run, replays: Sequence[Replay], asker: Asker) -> Experiment:
    name = run.title or run.external_id
    experiment = Experiment.objects.create(
        project_id=run.project_id, name=name[:200], created_by=asker.user
    )
    Replay.objects.filter(pk__in=[one.pk for one in replays]).update(experiment=experiment)
    return experiment


def _last_experiment(replays: Sequence[Replay]) -> Experiment | None:
    """The one these were asked for together last; None when each was asked for alone."""
    return Experiment.objects.filter(replays__in=replays).order_by("pk").last()
