"""From a question to replays: a plan for each candidate, then a job for each plan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from replay import jobs
from replay.experiments.asked import Wanted
from replay.experiments.opening import open_experiment
from replay.jobs import Asker
from replay.models import Experiment, Replay
from replay.plan import make_plan, refuse
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

    Raises SeveralRefused with the errors of all plans, Refused where they have more calls than
    somebody has seen.
    """
    planned = plans(run, question)
    refuse([error for one in planned for error in one.plan["errors"]])
    hold_to(question.max_calls, sum(one.plan["calls"]["total"] for one in planned))
    return start_planned(run, planned, asker)


def hold_to(seen: int | None, calls: int) -> None:
    """Raises Refused where a plan has more `calls` than it had when it was `seen`."""
    if seen is not None and calls > seen:
        text = f"The plan has {calls:,} calls now, {seen:,} when it was seen; look at it again."
        raise Refused("plan_changed", text, "max_calls")


def start_planned(run: Run, planned: Sequence[Planned], asker: Asker) -> Started:
    """A job for each plan; several of them make an experiment.

    Asking again while it is active gives what is there.
    """
    if len(planned) > 1:
        return _experiment(run, planned, asker)
    one = planned[0]
    replay, new = jobs.create_job(
        run=run,
        mode=one.question.mode,
        provider=one.provider,
        model=one.model,
        controls=one.question.controls.as_json(),
        plan=one.plan,
        asker=asker,
    )
    return Started([replay], None, new)


def _experiment(run: Run, planned: Sequence[Planned], asker: Asker) -> Started:
    wanted = [Wanted(one.candidate, one.question.controls) for one in planned if one.candidate]
    plans = {(run.pk, each.mark): one.plan for each, one in zip(wanted, planned, strict=True)}
    experiment, new = open_experiment(run.project, [run], wanted, asker, plans=plans)
    replays = Replay.objects.filter(experiment=experiment).order_by("pk")
    return Started(list(replays), experiment, new)
