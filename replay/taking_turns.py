"""What a thread of a worker does when it is rung: a replay, and others of its experiment."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from django.db.models import Exists, OuterRef

from replay import jobs
from replay.lanes import Lane, Turn, lanes
from replay.lease import Lease, stop
from replay.models import Replay
from runs import bulk
from runs.prepared import prepared

TURN_SECONDS = 1.0
"""How long a worker goes on with an experiment before it hears who else waits."""


@dataclass(frozen=True, slots=True)
class _Named:
    """What is known of a replay by its row, before it is claimed."""

    public_id: str
    experiment: int | None
    run: int
    project: int
    provider: str

    @property
    def lane(self) -> Lane:
        return self.project, self.provider


_NAMED = ("public_id", "experiment_id", "run_id", "project_id", "provider")


def take_turn(public_id: str) -> None:
    """Do a queued replay, and then others of its experiment, as long as a turn lasts.

    To be rung for each takes a worker longer than many a call. A message that comes late, for a
    replay that another did, is a turn as well, and so is one for which its provider's lane has no
    room; one that ends while others wait rings for as many as it leaves room for.
    """
    with lanes.turn() as turn:
        waiting = _turn(public_id, turn)
    if waiting is not None and waiting.provider:
        lanes.stand_in_line(waiting.lane, waiting.public_id)
    elif waiting is not None:
        jobs.ring(waiting.public_id)
    for name in lanes.let_in():
        jobs.ring(name)


def _turn(public_id: str, turn: Turn) -> _Named | None:
    """What of its experiment waits at the end of the turn."""
    until = time.monotonic() + TURN_SECONDS
    turned_away: set[str] = set()
    named = _named(public_id)
    while named is not None:
        lease = _do(named, turn, turned_away)
        goes_on = lease is None or lease.ended
        if named.experiment is None or stop.is_told or not goes_on:
            return None
        named = _next_beside(named, turned_away)
        if time.monotonic() >= until:
            return named
    return None


def _named(public_id: str) -> _Named | None:
    found = bulk.find(Replay, _NAMED, public_id=public_id)
    return _Named(*found) if found else None


def _do(named: _Named, turn: Turn, turned_away: set[str]) -> Lease | None:
    """From claim to finish, in its provider's lane; None when there was nothing to claim, or no
    room: then its provider was `turned_away`."""
    if not named.provider:
        turn.leave()
    elif not turn.enter(named.lane, named.public_id):
        turned_away.add(named.provider)
        return None
    return jobs.do(named.public_id)


def _next_beside(named: _Named, turned_away: set[str]) -> _Named | None:
    """What a worker takes after a replay: another of the same run, whose calls it has read; else of
    the first run that nobody works on. None of a provider that was turned away in this turn."""
    assert named.experiment is not None
    full = sorted(turned_away)
    found = (
        _of_run(named.experiment, named.run, *full)
        or _of_idle_run(named.experiment, *full)
        or _oldest(named.experiment, *full)
    )
    return _Named(*found[0]) if found else None


def _queued(experiment_id: int, full: tuple[str, ...]) -> Any:
    waiting = Replay.objects.filter(experiment=experiment_id, status="queued")
    if full:
        waiting = waiting.exclude(provider__in=full)
    return waiting.order_by("pk").values_list(*_NAMED)


@prepared
def _of_run(experiment_id: int, run_id: int, *full: str) -> Any:
    return _queued(experiment_id, full).filter(run=run_id)[:1]


@prepared
def _of_idle_run(experiment_id: int, *full: str) -> Any:
    at_work = Replay.objects.filter(
        experiment=OuterRef("experiment"), run=OuterRef("run"), status__in=("running", "cancelling")
    )
    return _queued(experiment_id, full).filter(~Exists(at_work))[:1]


@prepared
def _oldest(experiment_id: int, *full: str) -> Any:
    return _queued(experiment_id, full)[:1]
