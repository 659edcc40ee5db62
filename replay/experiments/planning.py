"""What an experiment will do, said before it does anything: in bounded time, however many runs.

Calls are counted for all runs. Tokens and cost are added up over the first calls only where there
are very many, and some replays of each candidate are tried out; then the plan says so.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from django.conf import settings

from replay.askable import Unasked
from replay.askable import unasked as unasked_of
from replay.experiments.asked import MAX_CELLS, Wanted
from replay.experiments.shares import Share, Shares
from replay.plan import SAYS, make_plan, times, tokens_of
from replay.project_providers.foreseen import SHARED, foreseen_together
from replay.providers.catalog import base_name
from replay.questions import MAX_MODELS, Candidate
from runs.accounts.models import Project
from runs.models import Run
from runs.refusals import Refused

TRY_SECONDS = 1.0
"""How long replays are tried out; one of each candidate is in any case."""
OF_ONE_RUN = frozenset({"tool_not_offered"})
"""What is an error only where it is so of every run: the others are asked all the same."""
TOLD = 50
"""So many messages of a plan are told; of the others there is the number."""

Note = dict[str, Any]
Column = tuple[Wanted, Sequence[Share]]
"""A candidate, and whom it asks about which runs."""


@dataclass(slots=True)
class Tried:
    """What trying out some replays of a candidate showed: (code, message) → in how many runs."""

    runs: int = 0
    notes: dict[tuple[str, str], int] = field(default_factory=dict)
    warnings: dict[tuple[str, str], int] = field(default_factory=dict)
    errors: dict[tuple[str, str, str], int] = field(default_factory=dict)

    def take(self, plan: dict[str, Any], unasked: Sequence[Note]) -> None:
        """A plan; what it says of calls that cannot be asked is told where it is not of those
        `unasked` that are known of all runs."""
        self.runs += 1
        # What holds for all replays together is told in sum, by `_limits`.
        own = [one for one in plan["warnings"] if one.get("limit") not in SHARED]
        own += [one for one in plan["cannot_ask"] if one not in unasked]
        for kept, told in ((self.notes, plan["notes"]), (self.warnings, own)):
            for note in told:
                mark = (note["code"], note["message"])
                kept[mark] = kept.get(mark, 0) + 1
        for error in plan["errors"]:
            wrong = (error["code"], error["message"], error.get("field") or "")
            self.errors[wrong] = self.errors.get(wrong, 0) + 1


@dataclass(frozen=True, slots=True)
class Plan:
    """`runs` are those that will be replayed; `shown` is the plan in JSON. `recorded` is the model
    each was recorded with, where a candidate asks that and it can be asked."""

    runs: Sequence[Run]
    candidates: Sequence[Wanted]
    shown: dict[str, Any]
    recorded: Mapping[int, Candidate]
    unasked: Unasked

    @property
    def errors(self) -> list[Note]:
        errors: list[Note] = self.shown["errors"]
        return errors


def make(project: Project, runs: Sequence[Run], candidates: Sequence[Wanted]) -> Plan:
    """The plan for all of them. Sends nothing, stores nothing.

    Runs without a model call are left out, and said, and so is every call that nobody can be asked;
    runs whose recorded model cannot be asked, by a candidate that is the recorded model. Raises
    Refused for more than MAX_CELLS.
    """
    unasked = unasked_of(runs)
    asking = [run for run in runs if unasked.calls(run)]
    if len(asking) * len(candidates) > MAX_CELLS:
        text = f"{len(asking):,} runs × {len(candidates)} candidates are more than {MAX_CELLS:,}."
        raise Refused("too_many", text, "runs", limit=MAX_CELLS)
    for run in asking:
        run.project = project
    found = Shares(project, asking, candidates, unasked)
    columns = [(one, found.of(one)) for one in candidates]
    tried = _try_out(columns, unasked)
    parts = [_part(one, shares, found.left_out(one), tried[one.mark]) for one, shares in columns]
    shown = {**_shown(runs, asking, parts), "cannot_ask": _cannot_ask(unasked, runs)}
    shown["warnings"] += _limits(project, columns)
    return Plan(asking, candidates, shown, found.recorded.models, unasked)


def _cannot_ask(unasked: Unasked, runs: Sequence[Run]) -> list[Note]:
    """The calls that no candidate is asked, by why, with some of their runs."""
    told = unasked.told(runs)
    return [{**one, "runs": len(one["run_ids"]), "run_ids": one["run_ids"][:TOLD]} for one in told]


def _limits(project: Project, columns: Sequence[Column]) -> list[Note]:
    """What the providers' limits will do to all replays together."""
    calls: Counter[str] = Counter()
    dollars: dict[str, float] = {}
    for one, shares in columns:
        for share in shares:
            name, samples = base_name(str(share.model)), one.controls.samples
            calls[name] += share.calls * samples
            if share.costs:
                dollars[name] = dollars.get(name, 0.0) + float(sum(share.costs)) * samples
    told = [foreseen_together(project.pk, name, dollars.get(name), calls[name]) for name in calls]
    return [warning for each in told for warning in each]


def _try_out(columns: Sequence[Column], unasked: Unasked) -> dict[str, Tried]:
    """Plans of single replays, run by run, until the time is over: in any case one of each model
    that is asked, of MAX_MODELS at most."""
    tried = {one.mark: Tried() for one, _ in columns}
    until = time.monotonic() + TRY_SECONDS
    queues = [(one, _in_turn(shares), min(len(shares), MAX_MODELS)) for one, shares in columns]
    for at in range(max((len(queue) for _, queue, _ in queues), default=0)):
        for one, queue, needed in queues:
            if at < len(queue) and (at < needed or time.monotonic() <= until):
                run, model = queue[at]
                plan = make_plan(run, one.question(run.external_id, model), model)[1]
                tried[one.mark].take(plan, unasked.of(run))
    return tried


def _in_turn(shares: Sequence[Share]) -> list[tuple[Run, Candidate]]:
    """Whom to try out about which run: the first run of each model, then all others."""
    first = [(share.runs[0], share.model) for share in shares if share.runs]
    return first + [(run, share.model) for share in shares for run in share.runs[1:]]


def _part(
    one: Wanted, shares: Sequence[Share], left: Sequence[tuple[Run, Refused]], tried: Tried
) -> dict[str, Any]:
    """The plan of one candidate."""
    calls, samples = sum(share.calls for share in shares), one.controls.samples
    runs = sum(len(share.runs) for share in shares)
    usage = [tokens for share in shares for tokens in share.usage]
    errors, warnings = _apart(tried, runs)
    left_out = _left_out(left)
    if left_out and not runs:
        errors = [{**told, "field": "models"} for told in left_out]
    return {
        "model": one.name,
        "controls": one.controls.as_json(),
        "runs": runs,
        "calls": calls * samples,
        "models": [_asked(share, samples) for share in shares],
        "left_out": left_out,
        "tokens": times(tokens_of(usage, calls), samples),
        "cost": times(_cost(shares, calls), samples),
        "checked_runs": tried.runs,
        "notes": _told(tried.notes),
        "warnings": _told(warnings),
        "errors": errors[:TOLD],
    }


def _asked(share: Share, samples: int) -> dict[str, Any]:
    calls = share.calls * samples
    return {"model": str(share.model), "runs": len(share.runs), "calls": calls}


def _left_out(left: Sequence[tuple[Run, Refused]]) -> list[Note]:
    """The runs that are not asked about, by why."""
    found: dict[tuple[str, str], list[str]] = {}
    for run, why in left:
        found.setdefault((why.code, why.message), []).append(run.external_id)
    return [
        {"code": code, "message": message, "runs": len(ids), "run_ids": ids[:TOLD]}
        for (code, message), ids in list(found.items())[:TOLD]
    ]


def _cost(shares: Sequence[Share], calls: int) -> dict[str, Any]:
    """Each run at the price of the model it asks; unknown is null and never zero."""
    known = [cost for share in shares for cost in share.costs]
    estimate = float(sum(known, Decimal(0))) if known else None
    return {"estimate": estimate, "complete": len(known) == calls}


def _apart(tried: Tried, runs: int) -> tuple[list[Note], dict[tuple[str, str], int]]:
    """The errors of a candidate, and what warns of it: what only some runs have no place for."""
    errors, warnings = [], dict(tried.warnings)
    for (code, message, where), count in tried.errors.items():
        if code in OF_ONE_RUN and count < runs:
            warnings[code, message] = count
        else:
            errors.append({"code": code, "message": message, "field": where or None, "runs": count})
    return errors, warnings


def _told(found: dict[tuple[str, str], int]) -> list[Note]:
    return [
        {"code": code, "message": message, "runs": count}
        for (code, message), count in list(found.items())[:TOLD]
    ]


def _shown(
    runs: Sequence[Run], asking: Sequence[Run], parts: list[dict[str, Any]]
) -> dict[str, Any]:
    total = sum(part["calls"] for part in parts)
    per_call = settings.REPLAY_CALL_ATTEMPTS
    return {
        "mode": "prompt",
        "says": SAYS["prompt"],
        "runs": len(asking),
        "replays": sum(part["runs"] for part in parts),
        "calls": {
            "total": total,
            "attempts_per_call": per_call,
            "at_most": total * per_call,
            "parallel": settings.REPLAY_PARALLEL_CALLS,
        },
        "tokens": _together(parts, "tokens", ("input", "output")),
        "cost": _together(parts, "cost", ("estimate",)),
        "candidates": parts,
        "warnings": _warnings(runs, asking, parts),
        "errors": _errors(asking, parts),
    }


def _together(parts: list[dict[str, Any]], what: str, names: Sequence[str]) -> dict[str, Any]:
    """Sums over the candidates: unknown where none is known, at least where some are."""
    told: dict[str, Any] = {}
    for name in names:
        known = [part[what][name] for part in parts if part[what][name] is not None]
        told[name] = sum(known) if known else None
    return {**told, "complete": bool(parts) and all(part[what]["complete"] for part in parts)}


def _warnings(
    runs: Sequence[Run], asking: Sequence[Run], parts: list[dict[str, Any]]
) -> list[Note]:
    told = []
    if left := len(runs) - len(asking):
        none = "have no model call that can be asked and are left out"
        text = f"{left:,} of {len(runs):,} runs {none}."
        told.append({"code": "no_model_calls", "message": text})
    partly = [part for part in parts if part["checked_runs"] < part["runs"]]
    if partly:
        least = min(partly, key=lambda part: part["checked_runs"])
        text = f"Tried out on the first {least['checked_runs']:,} of {least['runs']:,} runs."
        told.append({"code": "partly_checked", "message": text})
    if any(run.status == "running" for run in asking):
        text = "Some runs have not ended; what comes later is not replayed."
        told.append({"code": "still_running", "message": text})
    return told


def _errors(asking: Sequence[Run], parts: list[dict[str, Any]]) -> list[Note]:
    """What keeps the experiment from starting: a candidate that cannot be asked at all."""
    if not asking:
        text = "None of these runs has a model call to replay."
        return [{"code": "no_model_calls", "message": text, "field": "runs"}]
    return [
        {"code": error["code"], "message": error["message"], "field": error["field"]}
        for part in parts
        for error in part["errors"]
        if error["runs"] >= part["checked_runs"]
    ]
