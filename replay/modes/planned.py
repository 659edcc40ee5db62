"""The rows that the plan of a prompt replay comes to."""

from __future__ import annotations

from replay.lease import Lease
from replay.models import CallState, ReplayEffect
from replay.questions import Controls
from runs import statements
from runs.models import Effect, Family


def row_of(lease: Lease) -> ReplayEffect:
    """What all its rows are like: allowed as many requests as the plan says."""
    times = Controls.of_json(lease.replay.controls).samples
    return ReplayEffect(
        replay=lease.replay,
        state=CallState.PENDING,
        attempt=lease.attempt,
        samples=times,
        calls_allowed=lease.replay.plan["calls"]["attempts_per_call"] * times,
    )


def calls_of(lease: Lease) -> list[tuple[int, int]]:
    """The calls of the plan, each as (key of its effect, its seq)."""
    plan = lease.replay.plan
    mine = {"run_id": lease.replay.run_id, "family": Family.COMPLETION.value}
    effects = statements.rows(Effect, ("id", "seq"), order="seq", **mine)
    named = plan["effects"]
    if named is None:
        left = {seq for note in plan.get("cannot_ask", ()) for seq in note["effects"]}
        return [(pk, seq) for pk, seq in effects if seq not in left][: plan["total"]]
    wanted = set(named)
    return [(pk, seq) for pk, seq in effects if seq in wanted]
