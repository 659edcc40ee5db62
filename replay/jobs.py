"""The truth of a job: its row. Only this module moves a replay's status.

The broker is a doorbell: a message lost, doubled or late costs nothing, because a worker goes on
only when its conditional UPDATE changed the row, and the sweeper rings again.
"""

from __future__ import annotations

import hashlib
import logging
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any

from celery import current_app
from django.conf import settings
from django.db import IntegrityError, InterfaceError, transaction
from django.db import OperationalError as DatabaseAway
from django.db.models import F, Q
from django.utils import timezone
from kombu.exceptions import KombuError, OperationalError

from replay import bell, results
from replay.experiments import cells
from replay.lanes import Lane, lanes
from replay.lease import Lease, Lost, Stopped, stop
from replay.models import (
    MESSAGE,
    Experiment,
    Replay,
    ReplayEffect,
    ReplayMode,
    ReplayStatus,
)
from replay.modes import prompt, reconstruct
from replay.notifications import events
from replay.outcome import Outcome
from replay.project_providers import limits
from replay.review.noting import note
from replay.states import ACTIVE, FINAL, replay_move
from rewyn_sdk import canonical_bytes
from runs import at_work, bulk, statements
from runs.accounts.models import Project, User
from runs.messages.loose import clean
from runs.models import Run
from runs.prepared import prepared
from runs.refusals import Refused

logger = logging.getLogger(__name__)
TASK = "replay.run"
RING_AGAIN_SECONDS = 10.0
RUNG_AT_ONCE = 20
"""Queued rows one sweep rings for; behind them workers are busy anyway."""
QUEUED_AT_ONCE = 100

MODES: dict[str, Callable[[Lease], Outcome]] = {
    ReplayMode.RECONSTRUCT: reconstruct.run,
    ReplayMode.PROMPT: prompt.run,
}


@dataclass(frozen=True, slots=True)
class Asker:
    """Who starts a replay: a person, or the holder of a key."""

    user: User | None = None
    key_id: int | None = None


def fingerprint(mode: str, provider: str, model: str, controls: dict[str, Any]) -> str:
    """The same question about the same run has the same fingerprint."""
    asked = {"mode": mode, "provider": provider, "model": model, "controls": controls}
    return hashlib.blake2b(canonical_bytes(asked), digest_size=32).hexdigest()


def create_job(
    *,
    run: Run,
    mode: str,
    plan: dict[str, Any],
    provider: str = "",
    model: str = "",
    controls: dict[str, Any] | None = None,
    asker: Asker = Asker(),
    experiment: Experiment | None = None,
) -> tuple[Replay, bool]:
    """Queue a replay and ring for a worker once the row is committed.

    Asking again while the same question is active gives the row that is there (and False).
    """
    controls = controls or {}
    mark = fingerprint(mode, provider, model, controls)
    try:
        with transaction.atomic():
            replay = Replay.objects.create(
                project_id=run.project_id,
                run=run,
                experiment=experiment,
                mode=mode,
                provider=provider,
                model=model,
                controls=controls,
                plan=plan,
                fingerprint=mark,
                created_by=asker.user,
                created_key_id=asker.key_id,
                status=replay_move("start").target,
                total=plan.get("total", 0),
            )
            transaction.on_commit(partial(ring, replay.public_id), robust=True)
    except IntegrityError:
        there = Replay.objects.filter(run=run, fingerprint=mark, status__in=ACTIVE).first()
        if there is None:
            raise
        return there, False
    return replay, True


def queue_all(replays: Sequence[Replay]) -> None:
    """Queue many new replays at once; `ring_waiting` tells the workers, once this is committed."""
    for replay in replays:
        replay.status = replay_move("start").target
    Replay.objects.bulk_create(replays, batch_size=QUEUED_AT_ONCE)


def calls_of(total: int, samples: int = 1) -> dict[str, Any]:
    """How often a replay of so many calls may ask, by what is allowed now."""
    per_call, total = settings.REPLAY_CALL_ATTEMPTS, total * samples
    asked = {"total": total, "attempts_per_call": per_call, "at_most": total * per_call}
    return {**asked, "samples": samples} if samples > 1 else asked


def ring_waiting(experiment_id: int, most: int = RUNG_AT_ONCE) -> None:
    """Tell the workers of the next replays of an experiment; each that ends calls for another.

    With a worker in each process, that of this one is told of what it can do at once, and the bell
    is for the others.
    """
    if most == 1:
        waiting = _next(experiment_id)
    else:
        here = settings.CELERY_WORKER_CONCURRENCY if settings.EMBEDDED_WORKER else most
        waiting = list(_waiting(experiment_id)[: min(most, here)])
    for public_id in waiting:
        ring(public_id)
    if most > 1:
        bell.ring()


def _waiting(experiment_id: int) -> Any:
    waiting = Replay.objects.filter(experiment=experiment_id, status="queued", rung_at=None)
    return waiting.order_by("pk").values_list("public_id", flat=True)


@prepared
def _next(experiment_id: int) -> Any:
    return _waiting(experiment_id)[:1]


def ring(public_id: str) -> None:
    """Tell the workers. A deaf broker is no error: the sweeper rings again."""
    with bulk.single():
        statements.change(Replay, {"public_id": public_id}, {"rung_at": timezone.now()})
    try:
        current_app.send_task(TASK, args=[public_id], retry=False, ignore_result=True)
    except (OperationalError, KombuError, OSError):
        logger.warning("replay.ring_failed", extra={"replay": public_id}, exc_info=True)


def _move(replays: Any, event: str, **columns: Any) -> bool:
    """One conditional UPDATE; True when it changed a row."""
    move = replay_move(event)
    moving = replays.filter(status__in=move.sources)
    told = events.of_interest(moving) if move.target in FINAL else []
    if not told:
        return bool(moving.update(status=move.target, **columns))
    with bulk.turn():  # who is told of an end is written down with it
        moved = moving.update(status=move.target, **columns)
        events.replays_ended(told, columns["finished_at"])
    return bool(moved)


def claim(public_id: str) -> Lease | None:
    """Take a queued replay; None when another worker has it, or it is over."""
    at_work.work_here()
    now, move = timezone.now(), replay_move("claim")
    with bulk.single():
        taken = statements.change(
            Replay,
            {"public_id": public_id, "status": move.sources},
            {"status": move.target, "heartbeat_at": now, "done": 0},
            add={"attempt": 1},
            unless_set={"started_at": now},
        )
    if not taken:
        return None
    [replay] = statements.objects(Replay, public_id=public_id)
    if replay.heartbeat_at != now:  # so late that another has it: its attempt is not ours
        return None
    [replay.run] = statements.objects(Run, id=replay.run_id)
    [replay.project] = statements.objects(Project, id=replay.project_id)
    cancelled = replay.status == ReplayStatus.CANCELLING
    return Lease(replay, replay.attempt, cancelled)


def run_job(public_id: str) -> bool:
    """Do a queued replay from claim to finish; False when there was nothing to claim. One of an
    experiment rings for another."""
    lease = do(public_id)
    if lease is not None and lease.ended and lease.replay.experiment_id and not stop.is_told:
        ring_waiting(lease.replay.experiment_id, most=1)
    return lease is not None


def do(public_id: str) -> Lease | None:
    """From claim to finish; None when there was nothing to claim."""
    lease = claim(public_id)
    if lease is None:
        return None
    names = {"replay": public_id, "attempt": lease.attempt}
    try:
        outcome = _outcome(lease)
        _note(lease.replay)
        if finish(lease, outcome):
            _take_late(lease, outcome)
    except Lost:
        logger.warning("replay.lost", extra=names)
    except Stopped:
        take_back(_held(lease), lost=0)
    except (DatabaseAway, InterfaceError):
        # Nothing can be written now; the lease runs out and the sweeper takes it back.
        logger.exception("replay.database_error", extra=names)
    else:
        lease.ended = True
    return lease


def _outcome(lease: Lease) -> Outcome:
    mode = MODES.get(lease.replay.mode)
    try:
        if mode is None:
            raise Refused("mode_not_available", f"The mode {lease.replay.mode} is not available.")
        return mode(lease)
    except Refused as refusal:
        return Outcome("fail", error_code=refusal.code, error_text=refusal.message)
    except (Lost, Stopped, DatabaseAway, InterfaceError):
        raise
    except Exception as error:
        if not Run.everything.filter(pk=lease.replay.run_id).exists():  # somebody deleted it
            raise Lost from error
        logger.exception("replay.failed", extra={"replay": lease.replay.public_id})
        text = f"{type(error).__name__}: {error}"
        return Outcome("fail", error_code="internal_error", error_text=text)


def _held(lease: Lease) -> Any:
    return Replay.objects.filter(pk=lease.replay.pk, attempt=lease.attempt)


def finish(lease: Lease, outcome: Outcome) -> bool:
    """End a replay this worker still holds; a replay being cancelled ends as cancelled.

    A call that is still in flight then has nobody to wait for it: it is interrupted.
    """
    columns = {**_columns(outcome), "finished_at": timezone.now()}
    if outcome.event == "succeed":  # all is answered, and nothing in flight
        ended = _end(lease, outcome.event, columns) or _end(lease, "settle", columns)
    else:
        with bulk.turn():
            ended = _end(lease, outcome.event, columns) or _end(lease, "settle", columns)
            if ended:
                results.interrupt_held(lease)
    if ended:
        cells.settle([lease.replay.pk])
    return ended


def _columns(outcome: Outcome) -> dict[str, Any]:
    text = clean(outcome.error_text)[:MESSAGE]
    return {**outcome.columns, "error_code": outcome.error_code, "error_text": text}


def _take_late(lease: Lease, outcome: Outcome) -> None:
    """Sum up anew with each answer that came after the end, unless it is being asked again."""
    for later in outcome.late:
        _note(lease.replay)
        if _held(lease).filter(status__in=FINAL).update(**_columns(later)):
            cells.settle([lease.replay.pk])


def _end(lease: Lease, event: str, columns: dict[str, Any]) -> bool:
    if lease.replay.experiment_id is None:
        return _move(_held(lease), event, **columns)
    # Nobody is told of its end: those of an experiment are told of with it.
    move = replay_move(event)
    mine = {"id": lease.replay.pk, "attempt": lease.attempt, "status": move.sources}
    with bulk.single():
        return bool(statements.change(Replay, mine, {**columns, "status": move.target}))


def cancel(replay: Replay) -> bool:
    """Stop a replay: at once when no worker has it, else as soon as its calls in flight end."""
    mine = Replay.objects.filter(pk=replay.pk)
    if _move(mine, "withdraw", finished_at=timezone.now()):
        cells.settle([replay.pk])
        return True
    return _move(mine, "ask_cancel")


def cancel_all(experiment: Experiment) -> bool:
    """Stop an experiment: what waits at once, what runs as soon as its calls in flight end."""
    mine = Replay.objects.filter(experiment=experiment)
    withdrawn = _move(mine, "withdraw", finished_at=timezone.now())
    asked = _move(mine, "ask_cancel")
    cells.stopped(experiment)
    return withdrawn or asked


def retry(replay: Replay) -> bool:
    """Queue what has no answer again; stored answers stay and are not asked again.

    False when the replay is not over, or the same question is being replayed already.
    """
    per_call = int(replay.plan.get("calls", {}).get("attempts_per_call", 1))
    try:
        with transaction.atomic():
            moved = _move(
                Replay.objects.filter(pk=replay.pk),
                "retry",
                finished_at=None,
                lost_workers=0,
                error_code="",
                error_text="",
            )
            if moved:
                results.renew([replay.pk], per_call)
                cells.reopen([replay.pk])
                transaction.on_commit(partial(ring, replay.public_id), robust=True)
    except IntegrityError:
        return False
    return moved


def retry_all(experiment: Experiment) -> int:
    """Queue again whatever of an experiment has calls without an answer; how many replays."""
    sources = replay_move("retry").sources
    mine = Replay.objects.filter(experiment=experiment, status__in=sources).visible()
    ids = list(mine.order_by("pk").values_list("pk", flat=True))
    for start in range(0, len(ids), QUEUED_AT_ONCE):
        _retry_some(ids[start : start + QUEUED_AT_ONCE])
    ring_waiting(experiment.pk)
    return len(ids)


def _retry_some(ids: list[int]) -> None:
    fresh: dict[str, Any] = {"error_code": "", "error_text": "", "rung_at": None}
    with bulk.turn():
        some = Replay.objects.filter(pk__in=ids)
        if _move(some, "retry", finished_at=None, lost_workers=0, **fresh):
            moved = list(some.filter(status="queued").values_list("pk", flat=True))
            results.renew(moved, settings.REPLAY_CALL_ATTEMPTS)
            cells.reopen(moved)


def take_back(replays: Any, *, lost: int) -> bool:
    """Put a running replay back into the queue; its calls in flight are shown as interrupted.

    All of it at once: who claims it between would have calls of its own interrupted and given up.
    """
    ids = list(replays.values_list("pk", flat=True))
    with bulk.turn():
        back = _move(replays, "take_back", lost_workers=F("lost_workers") + lost, rung_at=None)
        settled = _move(replays, "settle", finished_at=timezone.now())
        if settled:
            results.leave(ids)
        elif back:
            results.interrupt(ReplayEffect.objects.filter(replay__in=ids))
        if back or settled:
            _let_go(ids)
    if settled:
        _note_all(ids)
        cells.settle(ids)
    return back or settled


def _let_go(ids: list[int]) -> None:
    """Of the places that calls of a lost worker have at their provider."""
    for pk in ids:
        limits.give_up(pk)


def _note_all(ids: list[int]) -> None:
    """Of replays that ended without their worker: what they have, somebody should look at."""
    for replay in Replay.objects.select_related("run").filter(pk__in=ids):
        _note(replay)


def _note(replay: Replay) -> None:
    """Make divergences of what it has; whatever is wrong with that, the replay itself ends."""
    try:
        note(replay)
    except (DatabaseAway, InterfaceError):
        raise
    except Exception:
        logger.exception("replay.not_noted", extra={"replay": replay.public_id})


def sweep(*, fresh: bool = False) -> int:
    """Take back what lost its worker, and ring for what waits; how many rows it touched.

    `fresh` is for a worker's start: it rings for everything queued, since a broker in memory has
    forgotten all, and waits for no lease where nobody is left to hold one.
    """
    now = timezone.now()
    with at_work.alone() if fresh else nullcontext(False) as nobody_works:
        wait = timedelta(seconds=0 if nobody_works else settings.REPLAY_LEASE_SECONDS)
        silent = Replay.objects.filter(heartbeat_at__lt=now - wait, status__in=ACTIVE)
        touched = sum(map(_sweep_one, silent))
    waiting = Replay.objects.filter(status="queued")
    if not fresh:
        long_ago = now - timedelta(seconds=RING_AGAIN_SECONDS)
        waiting = waiting.filter(Q(rung_at=None) | Q(rung_at__lt=long_ago))
    names = _to_ring(waiting.order_by("pk"))
    for public_id in names:
        ring(public_id)
    cells.catch_up()
    return touched + len(names)


def _to_ring(waiting: Any) -> list[str]:
    """The oldest of single replays; of experiments as many as there is room for here: each goes on
    by itself, and in a worker with room its own sweeper rings."""
    alone = waiting.filter(experiment=None).values_list("public_id", flat=True)[:RUNG_AT_ONCE]
    names, rung = list(alone), Counter[Lane]()
    of_experiments = waiting.exclude(experiment=None)
    columns = ("public_id", "project_id", "provider")
    for name, *lane in of_experiments.values_list(*columns)[:RUNG_AT_ONCE]:
        rung[tuple(lane)] += 1
        if rung[tuple(lane)] <= _room(*lane):
            names.append(name)
    return names


def _room(project_id: int, provider: str) -> int:
    return lanes.room((project_id, provider)) if provider else settings.CELERY_WORKER_CONCURRENCY


def _sweep_one(replay: Replay) -> bool:
    silent = Replay.objects.filter(
        pk=replay.pk, attempt=replay.attempt, heartbeat_at=replay.heartbeat_at
    )
    if replay.lost_workers + 1 < settings.REPLAY_MAX_ATTEMPTS:
        return take_back(silent, lost=1)
    text = f"Its worker was lost {replay.lost_workers + 1} times."
    _note_all([replay.pk])
    with bulk.turn():
        over = _move(
            silent,
            "give_up",
            finished_at=timezone.now(),
            error_code="workers_lost",
            error_text=text,
        ) or _move(silent, "settle", finished_at=timezone.now())
        if over:
            results.leave([replay.pk])
            _let_go([replay.pk])
    if over:
        cells.settle([replay.pk])
    return over
