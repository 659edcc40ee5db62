"""Deliveries are taken, sent, and sent again: the only place that moves their state.

Who takes one says so by a conditional UPDATE and has it for `LEASE`; a worker that dies meanwhile
leaves it to the next one. So two workers never send one at the same time, and a receiver may get
one twice: where the worker died between the receiver's answer and its being written down.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from django.db.models import F, Min
from django.utils import timezone

from replay.ids import new_id
from replay.notifications import inbox, outbox, signing
from replay.notifications.kinds import Kind
from replay.notifications.models import LEFT, SAID, Delivery, DeliveryState, Webhook
from replay.notifications.posting import Letter, Reply, post_all
from replay.project_providers.catalog import policy
from replay.project_providers.sealing import SealedOtherwise, unseal
from runs import bulk

BACKOFF = tuple(timedelta(seconds=seconds) for seconds in (10, 60, 10 * 60, 60 * 60, 6 * 60 * 60))
"""How long it rests after each failed try; after one more it is given up."""
TRIES = len(BACKOFF) + 1
LONGEST_REST = timedelta(hours=6)
"""So long at most a receiver may ask to be left alone for (`Retry-After` of a 429 or 503)."""
LEASE = timedelta(seconds=60)
"""Longer than an attempt can take, with its name server."""
WEBHOOKS_AT_ONCE, EACH = 20, 4
"""Of one round. A slow receiver holds up its own queue, and others for one attempt at most."""
FAILED_EVENTS, FAILED_FOR = 5, timedelta(days=3)
"""So many events in a row given up, and nothing taken for so long: it is switched off."""
KEPT = timedelta(days=30)
AT_ONCE = 500


class NotNow(Exception):
    """What was asked for cannot be done now; the message says why."""


def send_due() -> int:
    """Send some of what is due, in one round; how many were tried."""
    taken = [one for pk in _hooks_due(timezone.now()) for one in _take_some(pk)]
    return _send(taken) if taken else 0


def _hooks_due(now: datetime) -> list[int]:
    """The webhooks whose oldest has waited longest."""
    due = Delivery.objects.filter(state__in=LEFT, next_at__lte=now, webhook__is_active=True)
    first = due.order_by().values("webhook").annotate(first=Min("next_at")).order_by("first")
    return list(first.values_list("webhook", flat=True)[:WEBHOOKS_AT_ONCE])


def _take_some(webhook_id: int) -> list[Delivery]:
    due = Delivery.objects.filter(webhook=webhook_id, state__in=LEFT, next_at__lte=timezone.now())
    due.filter(tries__gte=TRIES).update(**_over("Its worker was lost at the last try."))
    rows = due.select_related("webhook").order_by("next_at", "pk")[:EACH]
    return [row for row in rows if _take(row)]


def _take(row: Delivery) -> bool:
    """Make it ours, if it still is as we saw it."""
    mine = Delivery.objects.filter(pk=row.pk, state=row.state, attempts=row.attempts)
    until = timezone.now() + LEASE
    row.attempts, row.tries = row.attempts + 1, row.tries + 1
    sending: dict[str, Any] = {"state": DeliveryState.SENDING, "next_at": until}
    return bool(mine.update(attempts=row.attempts, tries=row.tries, **sending))


def _send(taken: Sequence[Delivery]) -> int:
    """Send what was taken, and write down what came."""
    replies: dict[int, Reply] = {}
    letters: dict[int, Letter] = {}
    for row in taken:
        try:
            letters[row.pk] = _letter(row)
        except SealedOtherwise as wrong:
            replies[row.pk] = Reply(None, f"The secret cannot be opened: {wrong}")
    if letters:
        replies |= zip(letters, post_all(list(letters.values()), policy()), strict=True)
    for row in taken:
        _settle(row, replies[row.pk])
    return len(taken)


def _letter(row: Delivery) -> Letter:
    body, now = row.body.encode("ascii"), int(timezone.now().timestamp())
    signed = signing.headers(secrets_of(row.webhook), row.event_id, now, body)
    return Letter(row.webhook.url, body, signed)


def secrets_of(hook: Webhook) -> list[str]:
    """What signs now: the secret, and for a day the one it took the place of. Raises
    SealedOtherwise."""
    held = [hook.sealed]
    if hook.before_until and hook.before_until > timezone.now():
        held.append(hook.sealed_before)
    return [unseal(sealed, hook.project_id) for sealed in held]


def _settle(row: Delivery, reply: Reply) -> None:
    now = timezone.now()
    told: dict[str, Any] = {
        "tried_at": now,
        "took_ms": reply.took_ms,
        "status_code": reply.status,
        "said": reply.said[:SAID],
    }
    mine = Delivery.objects.filter(pk=row.pk, state=DeliveryState.SENDING, attempts=row.attempts)
    hook = Webhook.objects.filter(pk=row.webhook_id)
    if reply.is_taken:
        mine.update(**told, state=DeliveryState.DELIVERED, next_at=None)
        hook.exclude(failing_since=None).update(failing_since=None, failures=0)
    elif row.kind == Kind.PING:  # its button says what came; nobody waits for another try
        mine.update(**told, state=DeliveryState.GIVEN_UP, next_at=None)
    else:
        hook.filter(failing_since=None).update(failing_since=now)
        asked = timedelta(seconds=min(reply.rest, LONGEST_REST.total_seconds()))
        if row.tries < TRIES and not reply.is_gone:
            rest = max(BACKOFF[row.tries - 1], asked)
            mine.update(**told, state=DeliveryState.WAITING, next_at=now + rest)
        else:
            _give_up(row, mine, told, now)
        if asked:
            _leave_alone(row.webhook_id, now + asked)


def _leave_alone(webhook_id: int, until: datetime) -> None:
    """What waits for a webhook waits until then: its receiver asked for it."""
    waiting = Delivery.objects.filter(webhook=webhook_id, state=DeliveryState.WAITING)
    waiting.filter(next_at__lt=until).update(next_at=until)


def _give_up(row: Delivery, mine: Any, told: dict[str, Any], now: datetime) -> None:
    if mine.update(**told, state=DeliveryState.GIVEN_UP, next_at=None):
        Webhook.objects.filter(pk=row.webhook_id).update(failures=F("failures") + 1)
        _switch_off_if_dead(row.webhook_id, now)


def _switch_off_if_dead(webhook_id: int, now: datetime) -> None:
    dead = Webhook.objects.filter(
        pk=webhook_id,
        is_active=True,
        failures__gte=FAILED_EVENTS,
        failing_since__lte=now - FAILED_FOR,
    )
    with bulk.turn():
        if dead.update(is_active=False, switched_off_at=now):
            drop(webhook_id, "The webhook was switched off.")
            inbox.tell_switched_off(Webhook.objects.get(pk=webhook_id))


def drop(webhook_id: int, why: str) -> None:
    """Give up what waits for a webhook; what is on its way may arrive."""
    waiting = Delivery.objects.filter(webhook=webhook_id, state=DeliveryState.WAITING)
    waiting.update(**_over(why))


def _over(why: str) -> dict[str, Any]:
    return {"state": DeliveryState.GIVEN_UP, "next_at": None, "said": why}


def redeliver(row: Delivery) -> None:
    """Send it again as it was, now and with all its tries. Raises NotNow."""
    if not row.webhook.is_active:
        raise NotNow("The webhook is switched off. Switch it on first.")
    again = Delivery.objects.filter(pk=row.pk).exclude(state=DeliveryState.SENDING)
    if not again.update(state=DeliveryState.WAITING, tries=0, next_at=timezone.now()):
        raise NotNow("It is being sent at this moment.")


def ping(hook: Webhook) -> Delivery:
    """Send a ping here and now, also to one that is switched off; the delivery as it ended."""
    now, event_id = timezone.now(), new_id("msg")
    data = {"webhook": hook.public_id, "project": hook.project.slug}
    row = Delivery.objects.create(
        webhook=hook,
        event_id=event_id,
        kind=Kind.PING,
        key=f"ping:{event_id}",
        body=outbox.body(hook, Kind.PING, now, data),
        state=DeliveryState.SENDING,
        attempts=1,
        tries=1,
        next_at=now + LEASE,
        created_at=now,
    )
    _send([row])
    row.refresh_from_db()
    return row


def forget_old() -> int:
    """Delete deliveries past their time, some at a time, and secrets that sign no more."""
    now = timezone.now()
    gone = Webhook.objects.filter(before_until__lte=now)
    gone.update(sealed_before="", before_until=None)
    old = Delivery.objects.filter(created_at__lt=now - KEPT).order_by("created_at")
    ids = list(old.values_list("pk", flat=True)[:AT_ONCE])
    return Delivery.objects.filter(pk__in=ids).delete()[0]
