"""Prompt replay: every recorded model call asked again, each answer stored as it comes.

One thread drives and writes; threads beside it only talk to the provider. An intent is written
before each call and its result right after, so a worker that dies leaves calls marked as in flight
and every answer that came.
"""

from __future__ import annotations

import heapq
import logging
import random
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from decimal import Decimal
from functools import partial
from typing import Any

from django.conf import settings
from django.db import DataError
from django.utils import timezone

from replay import results, rows
from replay.comparison import answers
from replay.comparison.compare import Comparison, compare
from replay.comparison.comparing import compared, judged
from replay.comparison.differences import Difference
from replay.comparison.recorded import failed_side
from replay.dialects import Answer
from replay.ignore_rules.keeping import rules_of
from replay.ignore_rules.rule import of_effect
from replay.lease import Lease, Stopped, stop
from replay.models import MESSAGE, ReplayEffect, ReplaySample
from replay.modes import late, planned, samples
from replay.modes.air import Grounded
from replay.modes.exchanged import exchanged, price
from replay.modes.flights import Flights, Landed
from replay.modes.provider_now import ProviderNow
from replay.modes.verdict import verdict
from replay.outcome import Outcome
from replay.overriding import overrides_of
from replay.project_providers import limits
from replay.providers import (
    Call,
    CannotAsk,
    Result,
    build_call,
    next_wait,
    send,
    worded,
)
from replay.questions import Controls
from replay.recorded_calls import RecordedCall, recorded_call
from replay.review import baselines
from replay.wire import wire_of
from runs.messages.loose import clean
from runs.models import NAME
from runs.refusals import Refused
from runs.storage import segments
from runs.usage import Usage

logger = logging.getLogger(__name__)
TICK_SECONDS = 0.25
UNSTORABLE = (DataError, ArithmeticError, ValueError)
"""What a database or its driver says of a value that no column takes."""


def run(lease: Lease) -> Outcome:
    """Ask what has no answer yet, and sum up."""
    replay = lease.replay
    try:
        asked = ProviderNow(replay)
    except Refused as refusal:
        return _nobody_to_ask(lease, refusal)
    lease.look()  # it was claimed a moment ago
    results.open_like(lease, planned.row_of(lease), planned.calls_of(lease))
    open_rows = rows.to_ask(replay.pk)
    if lease.attempt > 1 or any(row.attempt != lease.attempt for row in open_rows):
        results.take_over(lease)
        limits.give_up(replay.pk)
        open_rows = rows.to_ask(replay.pk)
    asking = _Asking(lease, asked, open_rows)
    try:
        asking.drive()
    finally:
        asking.flights.end()
    outcome = asking.told(verdict(lease))
    if not asking.flights.count:
        return outcome
    later = late.after_the_end(lease, asking.flights, asking._land)
    return replace(late.stopped(outcome), late=later)


def _nobody_to_ask(lease: Lease, refusal: Refused) -> Outcome:
    """What was answered before stays the outcome, if anything was."""
    if not rows.has_answers(lease.replay.pk):
        raise refusal
    outcome = verdict(lease)
    text = f"{refusal.message} {outcome.error_text}"
    return replace(outcome, error_code=refusal.code, error_text=text)


@dataclass(frozen=True, slots=True)
class _Broken:
    """A call that went wrong in our own code, or gave what cannot be stored."""

    error: BaseException | None
    code: str = "internal_error"


Failure = Result | _Broken


@dataclass(slots=True)
class _Waiting:
    """A row that is to be asked. All that is asked of it at once is a round, of several samples."""

    row: ReplayEffect
    call: Call | None = None
    sent: bytes = b""
    """The call's body as the row keeps it."""
    recorded: RecordedCall = field(default_factory=lambda: RecordedCall({}))
    flying: int = 0
    failed: Failure | None = None
    """The gravest failure of a round; told when all of it has landed."""
    cost: Decimal | None = None
    """Of the dearest sample so far."""
    rounds: int = 0
    """Since one went well. Each sample has the attempts of a call, whatever was asked before."""


@dataclass(frozen=True, slots=True)
class _Flight:
    waiting: _Waiting
    admitted: int | None
    """The call that the provider's limits let through."""


def _gravity(failure: Failure) -> tuple[int, float]:
    """What ends the asking counts more than what can be tried again, and a long wait than none."""
    if isinstance(failure, _Broken):
        return 2, 0.0
    assert failure.error is not None
    return (0, failure.error.retry_after or 0.0) if failure.error.retryable else (1, 0.0)


class _Asking:
    """The loop of one attempt: launch what is due, store what lands, until nothing is left."""

    def __init__(self, lease: Lease, asked: ProviderNow, open_rows: Sequence[ReplayEffect]) -> None:
        self.lease, self.asked = lease, asked
        self.controls = Controls.of_json(lease.replay.controls)
        self.overrides = overrides_of(self.controls, lease.replay.run)
        self.flights: Flights[_Flight, Result] = Flights(settings.REPLAY_PARALLEL_CALLS)
        self.halted = False
        self.held_until = 0.0
        self.spent: limits.Spent | None = None
        self.dearest: Decimal | None = None
        self.accepted = baselines.Accepted(lease.replay.project_id)
        self.rules = rules_of(lease.replay.project_id)
        self.attempts = int(lease.replay.plan["calls"]["attempts_per_call"])
        self.waiting = [(0.0, row.seq, _Waiting(row)) for row in open_rows]
        self.moment = late.Moment()

    def drive(self) -> None:
        while self.flights.count or (self.waiting and not self._is_settled()):
            self.lease.beat()
            self.spent = self.spent or self.asked.follow()
            if stop.is_told:
                self._wind_up()
            if self._is_settled():
                self.flights.ground()
            if self.moment.is_over(self.lease):
                return
            while self.flights.has_room and self._is_due() and not self._is_settled():
                if not self._launch_next():
                    break
            self.flights.let_go()
            self._look_ahead()
            landed = self.flights.next(self._patience())
            if landed is not None:
                self._land(landed)

    def _is_settled(self) -> bool:
        """What waits is not asked any more: somebody cancelled, a difference was enough, or the
        provider is gone or its budget used up."""
        return self.halted or self.lease.cancelled or self.spent is not None

    def _is_due(self) -> bool:
        return bool(self.waiting) and self._next_due() <= time.monotonic()

    def _next_due(self) -> float:
        return max(self.waiting[0][0], self.held_until)

    def _patience(self) -> float:
        if not self.waiting or not self.flights.has_room:
            return TICK_SECONDS
        return min(TICK_SECONDS, self._next_due() - time.monotonic())

    def told(self, outcome: Outcome) -> Outcome:
        """The outcome with the reason, where a budget left calls unasked."""
        if self.spent is None or outcome.error_code != "not_all_asked":
            return outcome
        text = f"{self.spent.text} {outcome.error_text}"
        return replace(outcome, error_code=self.spent.code, error_text=text)

    def _wind_up(self) -> None:
        """The process ends: take what still lands in a moment, give the rest back."""
        until = time.monotonic() + stop.grace_seconds
        while self.flights.count and time.monotonic() < until:
            landed = self.flights.next(until - time.monotonic())
            if landed is not None:
                self._land(landed)
        raise Stopped

    # --- Out ---------------------------------------------------------------------------------

    def _look_ahead(self) -> None:
        """Make the call that goes out next, while others are in the air. One that breaks does so
        when its turn comes: those are to land first."""
        if not self.waiting or self._is_settled() or self.waiting[0][2].call is not None:
            return
        try:
            is_made = self._prepare(self.waiting[0][2])
        except Exception:
            return
        if not is_made:
            heapq.heappop(self.waiting)

    def _launch_next(self) -> bool:
        """Send what is due, made ready before a place in the air is taken; False without one."""
        waiting = self.waiting[0][2]
        is_ready = waiting.call is not None and waiting.call.provider is self.asked.provider
        if not is_ready and not self._prepare(waiting):
            heapq.heappop(self.waiting)
            return True
        if not self.flights.places_for(1):
            return False
        self._launch(heapq.heappop(self.waiting)[2])
        return True

    def _launch(self, waiting: _Waiting) -> None:
        row, call = waiting.row, waiting.call
        assert call is not None
        through = self._let_through(waiting)
        if not through:
            return
        if not results.ask(self.lease, row.pk, waiting.sent, len(through)):
            for admitted in through:
                self._settle(admitted, None, billed=False)
            self._no_call_left(row)
            return
        row.calls += len(through)
        waiting.flying, waiting.rounds = len(through), waiting.rounds + 1
        ask = partial(send, call, timeout=settings.REPLAY_CALL_TIMEOUT_SECONDS)
        for admitted in through:
            self.flights.start(_Flight(waiting, admitted), ask)

    def _let_through(self, waiting: _Waiting) -> list[int | None]:
        """The calls of a round that the provider's limits take now, as they know them; of none the
        row waits, or all is over."""
        wanted = self._wanted(waiting.row)
        if self.asked.gate is None:
            return [None] * wanted
        through: list[int | None] = []
        estimate = self._estimate(waiting)
        while len(through) < wanted:
            found = self.asked.gate.admit(estimate)
            if isinstance(found, limits.Admitted):
                through.append(found.call_id)
                continue
            if isinstance(found, limits.Spent):
                self.spent = found
            else:
                self.held_until = time.monotonic() + found.seconds
            break
        if not through:
            heapq.heappush(self.waiting, (0.0, waiting.row.seq, waiting))
        return through

    def _wanted(self, row: ReplayEffect) -> int:
        """How many samples of a row are asked at once: what is missing, as far as there is room."""
        if row.samples == 1:
            return 1
        missing = row.samples - ReplaySample.objects.filter(row=row.pk).count()
        return self.flights.places_for(max(1, min(missing, row.calls_allowed - row.calls)))

    def _estimate(self, waiting: _Waiting) -> Decimal | None:
        """What a call may cost: by the tokens of the recorded one, and as a sample of it did; else
        as the dearest of the others."""
        effect = waiting.row.effect
        if effect is None:
            return None
        used = Usage(input=effect.input_tokens, output=effect.output_tokens)
        foreseen = price(
            used, self.lease.replay, (self.asked.model,), self.asked.provider.priced_as
        )
        known = (one for one in (foreseen, waiting.cost) if one is not None)
        return max(known, default=self.dearest)

    def _settle(self, admitted: int | None, answer: Answer | None, *, billed: bool) -> None:
        if admitted is None:
            return
        cost = None
        with suppress(*UNSTORABLE):
            cost = self._usage(answer)["cost"] if answer is not None else None
            known = [one for one in (cost, self.dearest) if one is not None]
            self.dearest = max(known, default=None)
        limits.settle(admitted, cost=cost, answered=answer is not None, billed=billed)

    def _prepare(self, waiting: _Waiting) -> bool:
        """Make the call of a row; one that cannot be made is told and left."""
        effect = waiting.row.effect
        assert effect is not None
        waiting.recorded = recorded = recorded_call(effect)
        try:
            call = build_call(
                recorded.record,
                wire_of(effect),
                provider=self.asked.provider,
                model=self.asked.model,
                overrides=self.overrides,
                prompt_of=lambda record: recorded.prompt,
            )
        except CannotAsk as error:
            results.refuse(self.lease, waiting.row.pk, code="cannot_ask", text=str(error))
            return False
        # What the row says of a call that is out is what really goes out.
        waiting.call = worded(call, timeout=settings.REPLAY_CALL_TIMEOUT_SECONDS)
        waiting.sent = segments.compress(waiting.call.request_bytes)
        return True

    def _no_call_left(self, row: ReplayEffect) -> None:
        text = f"Asked {row.calls} times without a stored answer; the plan allows no further call."
        results.refuse(self.lease, row.pk, code="interrupted", text=text)

    # --- In ----------------------------------------------------------------------------------

    def _land(self, landed: Landed[_Flight, Result]) -> None:
        """Store what came; one that cannot be stored takes no other down with it."""
        if isinstance(landed.error, Grounded):
            self._not_made(landed.tag)
            return
        result, waiting = landed.result, landed.tag.waiting
        # A provider that answered by an error bills nothing; without any status nobody knows.
        billed = result is None or result.status is None or result.status < 400
        self._settle(landed.tag.admitted, result.answer if result else None, billed=billed)
        waiting.flying -= 1
        try:
            self._take(waiting, landed)
        except UNSTORABLE as error:
            self._failed(waiting, _Broken(error, "unstorable"))
        if waiting.failed is not None and not waiting.flying:
            self._tell(waiting, waiting.failed)

    def _not_made(self, flight: _Flight) -> None:
        """A call that stood by when no more were wanted: nothing went out."""
        waiting = flight.waiting
        self._settle(flight.admitted, None, billed=False)
        waiting.flying -= 1
        waiting.row.calls -= 1
        results.not_made(self.lease, waiting.row.pk, waits=not waiting.flying)

    def _take(self, waiting: _Waiting, landed: Landed[_Flight, Result]) -> None:
        result = landed.result
        if result is None:
            self._failed(waiting, _Broken(landed.error))
        elif result.answer is not None:
            self._store(waiting, result, result.answer)
        else:
            self._failed(waiting, result)

    def _failed(self, waiting: _Waiting, failure: Failure) -> None:
        if waiting.failed is None or _gravity(failure) > _gravity(waiting.failed):
            waiting.failed = failure

    def _tell(self, waiting: _Waiting, failure: Failure) -> None:
        """Say how a round failed. The samples of it that came are stored by now."""
        waiting.failed = None
        if isinstance(failure, _Broken):
            self._break(waiting.row, failure.error, failure.code)
        else:
            self._fail(waiting, failure)

    def _store(self, waiting: _Waiting, result: Result, answer: Answer) -> None:
        row, (found, judged) = waiting.row, self._judged(waiting, answer)
        columns = {
            "answer": answers.pack(answer),
            "model": clean(answer.model or "")[:NAME],
            "finish_reason": clean(answer.finish_reason or "")[:40],
            **judged,
            **exchanged(result, sent=waiting.call),
            **self._usage(answer),
        }
        if row.samples > 1:
            columns.pop("sent", None)
            differs = self._sample(waiting, columns)
        else:
            differs = results.answer(self.lease, row.pk, **columns) and found.difference.is_change
        if differs and self.controls.strict:
            self.halted = True

    def _sample(self, waiting: _Waiting, columns: dict[str, Any]) -> bool:
        """Store one of several answers, and ask for what is missing when its round is over; whether
        all are there and one differs."""
        row = waiting.row
        all_of_it = [*samples.kept(row), ReplaySample(**columns)]
        number = len(all_of_it)
        together = samples.together(all_of_it) if number >= row.samples else None
        if columns["cost"] is not None:
            waiting.cost = max(waiting.cost or columns["cost"], columns["cost"])
        goes_on = waiting.flying > 0 or waiting.failed is not None
        is_late = self.moment.is_over(self.lease)
        stored = results.sample(
            self.lease, row.pk, number, columns, together, goes_on=goes_on, is_late=is_late
        )
        if stored and together is None and not goes_on:
            waiting.rounds = 0
            heapq.heappush(self.waiting, (0.0, row.seq, waiting))
        return stored and together is not None and Difference(together["difference"]).is_change

    def _judged(self, waiting: _Waiting, answer: Answer) -> tuple[Comparison, dict[str, Any]]:
        effect = waiting.row.effect
        assert effect is not None
        rules = of_effect(self.rules, effect.key)
        accepted = partial(self.accepted.of, effect.key)
        return judged(waiting.recorded, answer, rules, accepted)

    def _fail(self, waiting: _Waiting, result: Result) -> None:
        row, error = waiting.row, result.error
        assert error is not None
        most = row.calls_allowed if row.samples == 1 else self.attempts
        calls = row.calls if row.samples == 1 else waiting.rounds
        wait = next_wait(calls, error, most=most, jitter=random.random())
        side = failed_side(error)
        told = {"error_code": side.code[:60], "error_text": clean(error.told)[:MESSAGE]}
        if wait is not None:
            again = timezone.now() + timedelta(seconds=wait)
            results.put_off(self.lease, row.pk, again_at=again, **told)
            if error.retry_after:  # the provider asks for rest, not this call alone
                self.held_until = max(self.held_until, time.monotonic() + wait)
            heapq.heappush(self.waiting, (time.monotonic() + wait, row.seq, waiting))
            return
        recorded = waiting.recorded.side
        columns = {
            **compared(compare(recorded, side), recorded, side),
            **exchanged(result, sent=waiting.call),
        }
        if row.samples > 1:
            came = [one.difference for one in samples.kept(row)]
            columns["spread"] = samples.spread([*came, columns["difference"]])
        results.refuse(
            self.lease, row.pk, code=told["error_code"], text=told["error_text"], **columns
        )

    def _break(self, row: ReplayEffect, error: BaseException | None, code: str) -> None:
        names = {"replay": self.lease.replay.public_id, "seq": row.seq}
        logger.error("replay.call_broke", extra=names, exc_info=error)
        text = self.asked.provider.masked_text(f"{type(error).__name__}: {error}")
        results.refuse(self.lease, row.pk, code=code, text=clean(text)[:MESSAGE])

    def _usage(self, answer: Answer) -> dict[str, Any]:
        parts = dict(answer.usage)
        names = (answer.model or "", self.asked.model)
        used = Usage(
            input=parts["input"],
            output=parts["output"],
            cache_read=parts["cache_read"],
            cache_write=parts["cache_write"],
            reasoning=parts["reasoning"],
        )
        cost = price(used, self.lease.replay, names, self.asked.provider.priced_as)
        return {**{f"{part}_tokens": count for part, count in parts.items()}, "cost": cost}
