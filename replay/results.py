"""Rows of a replay's effects, written as the answers come.

Every write names the state and the attempt it expects, so that a late twin of a worker changes
nothing, and an answer that is stored is never asked for again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any

from django.db import transaction
from django.db.models import Count, F, OuterRef, Subquery
from django.db.models.functions import Coalesce
from django.utils import timezone

from replay.comparison.differences import Difference
from replay.lease import Lease
from replay.models import CallState, ReplayEffect, ReplaySample
from replay.states import effect_move
from runs import bulk, statements

KEPT_MISMATCHES = 200
BATCH = 500


def open_rows(lease: Lease, rows: Iterable[ReplayEffect]) -> None:
    """Store rows that are not there yet; those of an earlier attempt stay as they are.

    Some at a time: all of a long run in one transaction would keep every other writer waiting, and
    the lease could not be renewed meanwhile.
    """
    waiting = iter(rows)
    while some := list(islice(waiting, BATCH)):
        with bulk.turn():
            statements.create(some, ignore=True)
        lease.beat()


def open_like(lease: Lease, row: ReplayEffect, calls: Iterable[tuple[int, int]]) -> None:
    """The same of rows that are alike but for their effect, each given as (its key, its seq)."""
    waiting = iter(calls)
    while some := list(islice(waiting, BATCH)):
        with bulk.turn():
            statements.create_like(row, ("effect_id", "seq"), some)
        lease.beat()


def forget_rows(lease: Lease) -> None:
    """Delete the rows of earlier attempts, some at a time."""
    rows = ReplayEffect.objects.filter(replay=lease.replay, attempt__lt=lease.attempt)
    while some := list(rows.values_list("pk", flat=True)[:BATCH]):
        rows.filter(pk__in=some).delete()
        lease.beat()


def take_over(lease: Lease) -> None:
    """Make every unanswered row of earlier attempts this one's; what was in flight died with its
    worker."""
    rows = ReplayEffect.objects.filter(replay=lease.replay)
    earlier = rows.filter(attempt__lt=lease.attempt)
    interrupt(earlier)
    earlier.exclude(state=CallState.ANSWERED).update(attempt=lease.attempt)
    lease.done = rows.filter(state__in=(CallState.ANSWERED, CallState.FAILED)).count()


def interrupt(rows: Any) -> int:
    move = effect_move("interrupt")
    return int(
        rows.filter(state__in=move.sources).update(
            state=move.target, interruptions=F("interruptions") + 1
        )
    )


def leave(replays: Sequence[int]) -> None:
    """Nobody works on these any more: what is in flight is interrupted. A worker that was thought
    lost may store what comes late, but asks nothing more."""
    rows = ReplayEffect.objects.filter(replay__in=replays)
    interrupt(rows)
    rows.filter(state__in=effect_move("ask").sources).update(calls_allowed=F("calls"))


def interrupt_held(lease: Lease) -> int:
    """The same of all that this attempt has in flight."""
    move = effect_move("interrupt")
    mine = {"replay_id": lease.replay.pk, "attempt": lease.attempt, "state": move.sources}
    return statements.change(ReplayEffect, mine, {"state": move.target}, add={"interruptions": 1})


def _moved(lease: Lease, row_id: int, event: str, **columns: Any) -> bool:
    move = effect_move(event)
    mine = {"id": row_id, "attempt": lease.attempt, "state": move.sources}
    # Where a caller holds a transaction, a value the database refuses must not end that.
    with bulk.single():
        return statements.change(ReplayEffect, mine, {"state": move.target, **columns}) == 1


def ask(lease: Lease, row_id: int, sent: bytes, calls: int = 1) -> bool:
    """The intent, written just before the calls (of several samples at once). False: not ours, or
    not so many are left for it."""
    move = effect_move("ask")
    told = {"state": move.target, "asked_at": timezone.now(), "sent": sent}
    mine = {"id": row_id, "attempt": lease.attempt, "state": move.sources}
    left = ("calls", calls, "calls_allowed")
    with bulk.single():
        return statements.change(ReplayEffect, mine, told, add={"calls": calls}, within=left) == 1


def answer(lease: Lease, row_id: int, **columns: Any) -> bool:
    """Store an answer. An answer that comes late still counts while nobody else took over."""
    columns = {"answered_at": timezone.now(), "error_code": "", "error_text": "", **columns}
    return _over(lease, _moved(lease, row_id, "answer", **columns))


def sample(
    lease: Lease,
    row_id: int,
    number: int,
    columns: dict[str, Any],
    together: dict[str, Any] | None,
    *,
    goes_on: bool = False,
    is_late: bool = False,
) -> bool:
    """Store one of several answers; with the last the row has an answer, `together`. The round it
    was asked in `goes_on` where more of it is to be told; `is_late`: no more is asked."""
    columns = {"answered_at": timezone.now(), **columns}
    event = "sample_late" if is_late else "sample_beside" if goes_on else "sample"
    event = event if together is None else "answer"
    told = {"error_code": "", "error_text": "", **(together or {})}
    if together is not None:
        told["answered_at"] = columns["answered_at"]
    with transaction.atomic():
        stored = _moved(lease, row_id, event, **told)
        if stored:
            statements.create([ReplaySample(row_id=row_id, number=number, **columns)])
    return stored if together is None else _over(lease, stored)


def put_off(lease: Lease, row_id: int, **columns: Any) -> bool:
    """The provider asks for patience: the row waits for its next call."""
    return _moved(lease, row_id, "put_off", **columns)


def not_made(lease: Lease, row_id: int, *, waits: bool) -> bool:
    """A call that was to be made did not go out; the row waits, unless others of it are out."""
    move = effect_move("put_off")
    mine = {"id": row_id, "attempt": lease.attempt, "state": move.sources}
    told = {"state": move.target} if waits else {}
    with bulk.single():
        return statements.change(ReplayEffect, mine, told, add={"calls": -1}) == 1


def refuse(lease: Lease, row_id: int, *, code: str, text: str, **columns: Any) -> bool:
    """No answer, and no further call in this go."""
    told = {"error_code": code, "error_text": text, "cause": [f"replayed: {code}"], "summary": ""}
    columns = {"difference": Difference.ERROR, **told, **columns}
    return _over(lease, _moved(lease, row_id, "refuse", **columns))


def _over(lease: Lease, stored: bool) -> bool:
    lease.done += stored
    return stored


def _came() -> Any:
    """How many samples of a row are stored."""
    there = ReplaySample.objects.filter(row=OuterRef("pk")).order_by().values("row")
    return Coalesce(Subquery(there.annotate(count=Count("pk")).values("count")), 0)


def renew(replays: Sequence[int], attempts_per_call: int) -> int:
    """Let everything without an answer be asked again, with a fresh allowance of calls."""
    move = effect_move("renew")
    rows = ReplayEffect.objects.filter(replay__in=replays, state__in=move.sources)
    return rows.update(
        state=move.target,
        calls_allowed=F("calls") + attempts_per_call * (F("samples") - _came()),
        difference="",
        ignored_difference="",
        ignored_by=[],
        spread={},
        error_code="",
        error_text="",
    )
