"""What a provider's limits will do to a replay, said in its plan before anything is sent."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from replay.project_providers.keeping import LIMITS
from replay.project_providers.models import ProjectProvider

SHARED = ("per_minute", "day_budget")
"""Limits of all replays together: of many, they are told in sum."""
_FOR = {"replay_budget": "one replay", "day_budget": "what is left of today"}


@dataclass(slots=True)
class Foreseen:
    limits: dict[str, Any] = field(default_factory=dict)
    """The limits that are set, by name; numbers."""
    warnings: list[dict[str, Any]] = field(default_factory=list)
    errors: list[dict[str, Any]] = field(default_factory=list)


def foreseen(project_id: int, name: str, estimate: float | None, calls: int) -> Foreseen:
    """`estimate` is the replay's cost in US dollars by its plan, None where it is unknown."""
    row = ProjectProvider.objects.filter(project_id=project_id, name=name).first()
    found = Foreseen()
    if row is None or not row.has_limits:
        return found
    for limit in LIMITS:
        value = getattr(row, limit)
        if value is not None:
            found.limits[limit] = value if isinstance(value, int) else float(value)
    _minutes(row, calls, found)
    _budgets(row, estimate, found)
    return found


def foreseen_together(
    project_id: int, name: str, estimate: float | None, calls: int
) -> list[dict[str, Any]]:
    """Warnings of what holds for many replays together: calls in a minute, dollars of a day."""
    row = ProjectProvider.objects.filter(project_id=project_id, name=name).first()
    found = Foreseen()
    if row is None or not row.has_limits:
        return []
    _minutes(row, calls, found)
    if row.day_budget is not None:
        _today(row, estimate, found)
    return found.warnings


def _minutes(row: ProjectProvider, calls: int, found: Foreseen) -> None:
    if row.per_minute is not None and calls > row.per_minute:
        minutes = -(-calls // row.per_minute) - 1
        text = f"At {row.per_minute} calls a minute it takes {minutes} minutes or more."
        found.warnings.append({"code": "per_minute", "message": text, "limit": "per_minute"})


def _today(row: ProjectProvider, estimate: float | None, found: Foreseen) -> None:
    assert row.day_budget is not None
    left = max(float(row.day_budget - row.spent_today), 0.0)
    _over(found, row.name, "day_budget", left, estimate)


def _budgets(row: ProjectProvider, estimate: float | None, found: Foreseen) -> None:
    if row.replay_budget is None and row.day_budget is None:
        return
    if estimate is None:
        text = (
            f"{row.name} has a budget, and what this may cost is unknown; it stops at the first"
            " answer without a known cost."
        )
        found.warnings.append({"code": "budget_blind", "message": text})
    if row.replay_budget is not None:
        _over(found, row.name, "replay_budget", float(row.replay_budget), estimate)
    if row.day_budget is not None:
        _today(row, estimate, found)


def _over(found: Foreseen, name: str, limit: str, budget: float, estimate: float | None) -> None:
    """Warn where a budget is used up, or will be by what is estimated (None: unknown)."""
    if budget and (estimate is None or estimate <= budget):
        return
    cost = "what this costs is unknown"
    if estimate is not None:
        cost = f"this is estimated at ${estimate:.4f}"
    text = (
        f"The budget of {name} for {_FOR[limit]} is ${budget:.4f}, and {cost}:"
        " it stops when that is used up; what was answered stays."
    )
    found.warnings.append({"code": "over_budget", "message": text, "limit": limit})
