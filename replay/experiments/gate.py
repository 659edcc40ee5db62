"""What an experiment is held to, and whether a candidate's sums pass. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from replay.questions import flag, number
from runs.messages.loose import clean
from runs.refusals import Mistakes, Refused, SeveralRefused
from runs.strangers import only

MAX_RATIO = 1_000_000.0


@dataclass(frozen=True, slots=True)
class Gate:
    """None (or False) asks for nothing."""

    min_same: float | None = None
    """The least share of planned calls whose answer is `same` or `equivalent`."""
    max_cost_ratio: float | None = None
    """The most the candidate may cost, as a multiple of what was recorded for the same calls."""
    no_errors: bool = False

    def as_json(self) -> dict[str, Any]:
        """Only what is asked for, as the row keeps it."""
        asked: dict[str, Any] = {}
        if self.min_same is not None:
            asked["min_same"] = self.min_same
        if self.max_cost_ratio is not None:
            asked["max_cost_ratio"] = self.max_cost_ratio
        return {**asked, "no_errors": True} if self.no_errors else asked


NO_GATE = Gate()
FIELDS = ("min_same", "max_cost_ratio", "no_errors")


def read_gate(value: Any) -> Gate:
    """The gate in a decoded body; SeveralRefused where it is none."""
    if value is None:
        return Gate()
    if not isinstance(value, Mapping):
        raise Refused("invalid", "A gate is an object.", "gate")
    for name in sorted(map(str, value.keys() - set(FIELDS))):
        told = clean(name[:100])
        raise Refused("unknown_field", f"A gate has no `{told}`.", f"gate.{told}")
    mistakes, ratio = Mistakes(), "max_cost_ratio"
    gate = Gate(
        mistakes.read(None, number, value.get("min_same"), "min_same", 1.0, "gate.min_same"),
        mistakes.read(None, number, value.get(ratio), ratio, MAX_RATIO, f"gate.{ratio}"),
        mistakes.read(False, flag, value.get("no_errors"), "no_errors", "gate.no_errors"),
    )
    mistakes.end()
    return gate


def read_query(given: Mapping[str, str], kept: Mapping[str, Any]) -> Gate:
    """The gate of query parameters, each in place of what was kept; Refused where it is none."""
    only(given, *FIELDS)
    named = {name: _of_text(name, given[name]) for name in FIELDS if name in given}
    try:
        return read_gate({**kept, **named})
    except Refused as refusal:  # by the parameter's own name
        each = (
            Refused(one.code, one.message, str(one.field).removeprefix("gate."), **one.extra)
            for one in refusal.each
        )
        raise SeveralRefused(each) from None


def _of_text(name: str, text: str) -> object:
    if name == "no_errors":
        return {"true": True, "1": True, "false": False, "0": False}.get(text, text)
    try:
        return float(text)
    except ValueError:
        return text


@dataclass(frozen=True, slots=True)
class Measured:
    """The sums of one candidate that a gate looks at; None is unknown."""

    name: str
    place: int
    """Of the candidate: two may have one name."""
    same: float | None
    cost_ratio: float | None
    errors: int
    """Calls without an answer and answers that are errors."""
    finished: bool
    """All of it has ended, and nobody stopped any of it."""
    answered: int
    runs: int
    """How many it was asked over that are still there."""
    asked_runs: int
    """How many there were, where that is known; 1 at least."""


@dataclass(frozen=True, slots=True)
class Check:
    candidate: str
    place: int
    check: str
    limit: float | int | bool
    value: float | int | bool | None
    passed: bool


def checks(gate: Gate, measured: Measured) -> list[Check]:
    """What a candidate is held to. While it is not finished, or where it was stopped, it passes
    nothing, what is unknown does not pass, and nothing passes without an answer, or without a run
    that somebody deleted."""
    over, check = measured.finished, partial(Check, measured.name, measured.place)
    found = [check("finished", True, over, over)]
    if measured.runs < measured.asked_runs:
        found.append(check("runs", measured.asked_runs, measured.runs, False))
    elif over and not measured.answered:
        found.append(check("answers", 1, 0, False))
    if gate.min_same is not None:
        same = measured.same
        passed = over and same is not None and same >= gate.min_same
        found.append(check("min_same", gate.min_same, same, passed))
    if gate.max_cost_ratio is not None:
        ratio = measured.cost_ratio
        passed = over and ratio is not None and ratio <= gate.max_cost_ratio
        found.append(check("max_cost_ratio", gate.max_cost_ratio, ratio, passed))
    if gate.no_errors:
        found.append(check("no_errors", 0, measured.errors, over and not measured.errors))
    return found
