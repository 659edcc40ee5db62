"""What an experiment will do, said before it does anything: in bounded time, however many runs.

Calls are counted for all runs. Tokens and cost are added up over the first calls only where there
are very many, and some replays of each candidate are tried out; then the plan says so.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from django.conf import settings
from django.utils import timezone

from replay.experiments.asked import MAX_CELLS, Wanted
from replay.plan import SAYS, make_plan, times, tokens_of
from replay.project_providers.catalog import Catalog, catalog_of
from replay.project_providers.foreseen import SHARED, foreseen_together
from replay.providers import BadModel
from replay.providers.catalog import base_name
from runs.accounts.models import Project
from runs.models import Effect, Family, Run
from runs.prices import cost_of
from runs.refusals import Refused
from runs.usage import Usage

TRY_SECONDS = 1.0
"""How long replays are tried out; one of each candidate is in any case."""
PRICED_CALLS = 5000
OF_ONE_RUN = frozenset({"tool_not_offered"})
"""What is an error only where it is so of every run: the others are asked all the same."""
TOLD = 50
"""So many messages of a plan are told; of the others there is the number."""

Note = dict[str, Any]
Tokens = tuple[int | None, int | None]


@dataclass(slots=True)
class Tried:
    """What trying out some replays of a candidate showed: (code, message) → in how many runs."""

    runs: int = 0
    notes: dict[tuple[str, str], int] = field(default_factory=dict)
    warnings: dict[tuple[str, str], int] = field(default_factory=dict)
    errors: dict[tuple[str, str, str], int] = field(default_factory=dict)

    def take(self, plan: dict[str, Any]) -> None:
        self.runs += 1
        # What holds for all replays together is told in sum, by `_limits`.
        own = [one for one in plan["warnings"] if one.get("limit") not in SHARED]
        for kept, told in ((self.notes, plan["notes"]), (self.warnings, own)):
            for note in told:
                mark = (note["code"], note["message"])
                kept[mark] = kept.get(mark, 0) + 1
        for error in plan["errors"]:
            wrong = (error["code"], error["message"], error.get("field") or "")
            self.errors[wrong] = self.errors.get(wrong, 0) + 1


@dataclass(frozen=True, slots=True)
class Plan:
    """`runs` are those that will be replayed; `shown` is the plan in JSON."""

    runs: Sequence[Run]
    candidates: Sequence[Wanted]
    shown: dict[str, Any]

    @property
    def errors(self) -> list[Note]:
        errors: list[Note] = self.shown["errors"]
        return errors


def make(project: Project, runs: Sequence[Run], candidates: Sequence[Wanted]) -> Plan:
    """The plan for all of them. Sends nothing, stores nothing.

    Runs without a model call are left out, and said. Raises Refused for more than MAX_CELLS.
    """
    asking = [run for run in runs if run.model_count]
    if len(asking) * len(candidates) > MAX_CELLS:
        text = f"{len(asking):,} runs × {len(candidates)} candidates are more than {MAX_CELLS:,}."
        raise Refused("too_many", text, "runs", limit=MAX_CELLS)
    for run in asking:
        run.project = project
    usage = list(_usage(asking))
    tried = _try_out(asking, candidates)
    catalog = catalog_of(project.pk)
    priced = {one.mark: _priced_as(one, catalog) for one in candidates}
    parts = [
        _part(project, one, priced[one.mark], usage, asking, tried[one.mark]) for one in candidates
    ]
    shown = _shown(runs, asking, parts)
    shown["warnings"] += _limits(project, candidates, parts)
    return Plan(asking, candidates, shown)


def _priced_as(one: Wanted, catalog: Catalog) -> str:
    """The name that price tables may know the candidate's provider by."""
    with suppress(BadModel):
        return catalog.choose(str(one.model))[0].priced_as
    return one.model.provider


def _limits(
    project: Project, candidates: Sequence[Wanted], parts: Sequence[dict[str, Any]]
) -> list[Note]:
    """What the providers' limits will do to all replays together."""
    calls: Counter[str] = Counter()
    dollars: dict[str, float] = {}
    for one, part in zip(candidates, parts, strict=True):
        name = base_name(str(one.model))
        calls[name] += part["calls"]
        if (estimate := part["cost"]["estimate"]) is not None:
            dollars[name] = dollars.get(name, 0.0) + estimate
    told = [foreseen_together(project.pk, name, dollars.get(name), calls[name]) for name in calls]
    return [warning for each in told for warning in each]


def _usage(runs: Sequence[Run]) -> Iterable[Tokens]:
    """Tokens in and out of the recorded model calls, of the first PRICED_CALLS of them."""
    calls = Effect.objects.filter(run__in=[run.pk for run in runs], family=Family.COMPLETION)
    return calls.order_by().values_list("input_tokens", "output_tokens")[:PRICED_CALLS]


def _try_out(runs: Sequence[Run], candidates: Sequence[Wanted]) -> dict[str, Tried]:
    """Plans of single replays, run by run, until the time is over."""
    tried = {one.mark: Tried() for one in candidates}
    until = time.monotonic() + TRY_SECONDS
    for run in runs:
        for one in candidates:
            if tried[one.mark].runs and time.monotonic() > until:
                return tried
            tried[one.mark].take(make_plan(run, one.question(run.external_id), one.model)[1])
    return tried


def _part(
    project: Project,
    one: Wanted,
    priced_as: str,
    usage: Sequence[Tokens],
    runs: Sequence[Run],
    tried: Tried,
) -> dict[str, Any]:
    """The plan of one candidate."""
    calls, samples = sum(run.model_count for run in runs), one.controls.samples
    errors, warnings = _apart(tried, len(runs))
    return {
        "model": str(one.model),
        "controls": one.controls.as_json(),
        "calls": calls * samples,
        "tokens": times(tokens_of(usage, calls), samples),
        "cost": times(_cost(project, one, priced_as, usage, calls), samples),
        "checked_runs": tried.runs,
        "notes": _told(tried.notes),
        "warnings": _told(warnings),
        "errors": errors[:TOLD],
    }


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


def _cost(
    project: Project, one: Wanted, priced_as: str, usage: Sequence[Tokens], calls: int
) -> dict[str, Any]:
    """By the recording's tokens at today's price; unknown is null and never zero."""
    now = timezone.now()
    costs = (_price(project, one, priced_as, tokens, now) for tokens in usage)
    known = [cost for cost in costs if cost is not None]
    estimate = float(sum(known, Decimal(0))) if known else None
    return {"estimate": estimate, "complete": len(known) == calls}


def _price(
    project: Project, one: Wanted, priced_as: str, tokens: Tokens, now: Any
) -> Decimal | None:
    return cost_of(
        Usage(input=tokens[0], output=tokens[1]),
        family=Family.COMPLETION,
        models=(one.model.model,),
        provider=priced_as,
        when=now,
        overrides=project.price_overrides,
    )


def _shown(
    runs: Sequence[Run], asking: Sequence[Run], parts: list[dict[str, Any]]
) -> dict[str, Any]:
    total = sum(part["calls"] for part in parts)
    per_call = settings.REPLAY_CALL_ATTEMPTS
    return {
        "mode": "prompt",
        "says": SAYS["prompt"],
        "runs": len(asking),
        "replays": len(asking) * len(parts),
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
        text = f"{left:,} of {len(runs):,} runs have no model call and are left out."
        told.append({"code": "no_model_calls", "message": text})
    checked = min((part["checked_runs"] for part in parts), default=0)
    if asking and checked < len(asking):
        text = f"Tried out on the first {checked:,} of {len(asking):,} runs."
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
        if error["runs"] == part["checked_runs"]
    ]
