"""A project's webhooks made, changed and removed; the one place that stores their secrets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.utils import timezone

from replay.notifications import sending
from replay.notifications.kinds import TOLD
from replay.notifications.models import URL, Webhook
from replay.notifications.signing import new_secret
from replay.project_providers.catalog import policy
from replay.project_providers.sealing import seal
from replay.providers.addresses import BadAddress, check_url
from runs import bulk
from runs.accounts.models import Project, User
from runs.refusals import BadMember, Mistakes

MEMBERS = ("url", "events", "active")
MOST_WEBHOOKS = 10
BOTH_SIGN = timedelta(days=1)
"""So long the secret before still signs, once there is a new one."""


class BadWebhook(BadMember):
    """A webhook that cannot be kept: the member at fault, and why."""


@dataclass(frozen=True, slots=True)
class Given:
    """What somebody wants a webhook to be."""

    url: str
    events: tuple[str, ...]
    active: bool = True


def read(sent: Mapping[str, Any], held: Webhook | None = None) -> Given:
    """The webhook in what was sent; what is not named stays as held. Raises Refused with
    all that is wrong."""
    mistakes = Mistakes()
    mistakes.read(None, BadWebhook.of_unknown, sent, MEMBERS, "A webhook")
    before: dict[str, Any] = {"url": "", "events": list(TOLD), "active": True}
    if held is not None:
        before = {"url": held.url, "events": held.events, "active": held.is_active}
    now = before | dict(sent)
    active = mistakes.read(False, _active, now["active"])
    url = mistakes.read("", _url, now["url"])
    given = Given(url, mistakes.read((), _events_of, now["events"], active), active)
    mistakes.end()
    return given


def _active(value: Any) -> bool:
    if not isinstance(value, bool):
        raise BadWebhook("active", "Expected true or false.")
    return value


def _events_of(value: Any, active: bool) -> tuple[str, ...]:
    events = _events(value)
    if active and not events:
        raise BadWebhook("events", "Choose an event, or switch it off.")
    return events


def _url(value: Any) -> str:
    """Judged as a provider's address is, but for its query, which receivers tell each other apart
    by."""
    if not isinstance(value, str) or not value.strip():
        raise BadWebhook("url", "Where it is sent: https://…")
    url = value.strip()
    bare, _, query = url.partition("?")
    BadWebhook.of_longer(url, URL, "url", "A URL")
    if "#" in url:
        raise BadWebhook("url", "A URL that is sent to has no fragment (#).")
    if not query.isascii() or not query.isprintable() or " " in query or "\\" in query:
        raise BadWebhook("url", "A URL is plain ASCII without spaces or backslashes.")
    try:
        check_url(bare, policy())
    except BadAddress as bad:
        raise BadWebhook("url", str(bad).replace("base URL", "URL")) from None
    return url


def _events(value: Any) -> tuple[str, ...]:
    if not isinstance(value, Sequence) or isinstance(value, str):
        raise BadWebhook("events", "Expected a list.")
    for one in value:
        if one not in list(TOLD):
            raise BadWebhook("events", f"An event is one of {', '.join(TOLD)}.")
    return tuple(kind.value for kind in TOLD if kind in value)


# --- Stored ------------------------------------------------------------------------------------


def add(project: Project, given: Given, *, by: User | None, origin: str) -> tuple[Webhook, str]:
    """Store a new one, and give its secret, this once. `origin` is where this server answers.
    Raises BadWebhook."""
    if Webhook.objects.filter(project=project).count() >= MOST_WEBHOOKS:
        raise BadWebhook("url", f"A project has at most {MOST_WEBHOOKS} webhooks.", MOST_WEBHOOKS)
    secret = new_secret()
    hook = Webhook.objects.create(
        project=project,
        url=given.url,
        events=list(given.events),
        is_active=given.active,
        origin=origin[:URL],
        sealed=seal(secret, project.pk),
        created_by=by,
    )
    return hook, secret


def change(hook: Webhook, given: Given) -> None:
    """Make a stored one as given. What waits for one that is switched off is given up; one that is
    switched on begins anew."""
    columns: dict[str, Any] = {"url": given.url, "events": list(given.events)}
    if given.active:
        columns |= {"failures": 0, "failing_since": None, "switched_off_at": None}
    with bulk.turn():
        Webhook.objects.filter(pk=hook.pk).update(**columns, is_active=given.active)
        if not given.active:
            sending.drop(hook.pk, "The webhook was switched off.")


def rotate(hook: Webhook) -> str:
    """Give it a new secret, told this once; the one there is signs beside it for a day, and one
    before that no more. Raises BadWebhook where somebody else does it at this moment."""
    secret = new_secret()
    mine = Webhook.objects.filter(pk=hook.pk, sealed=hook.sealed)
    if not mine.update(
        sealed=seal(secret, hook.project_id),
        sealed_before=hook.sealed,
        before_until=timezone.now() + BOTH_SIGN,
    ):
        raise BadWebhook("secret", "Somebody else has just made a new secret.")
    return secret


def remove(hook: Webhook) -> None:
    Webhook.objects.filter(pk=hook.pk).delete()
