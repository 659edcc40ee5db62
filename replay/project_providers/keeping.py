"""A project's providers made, changed and removed; the one place that stores their keys."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from typing import Any

from django.db import IntegrityError, transaction
from django.utils import timezone

from replay.project_providers.before import count_today
from replay.project_providers.catalog import may_use, policy
from replay.project_providers.models import PROVIDER_NAME, VARIABLE, ProjectProvider
from replay.project_providers.sealing import seal
from replay.providers.addresses import MOST_URL, BadAddress, check_url
from replay.providers.catalog import FIXED_NAMES
from replay.providers.kinds import KINDS
from runs import bulk
from runs.accounts.models import Project, User
from runs.refusals import BadMember, Mistakes

MEMBERS = (
    "name",
    "kind",
    "base_url",
    "key",
    "key_variable",
    "parallel",
    "per_minute",
    "replay_budget",
    "day_budget",
)
TEXTS = ("name", "kind", "base_url", "key", "key_variable")
LIMITS = ("parallel", "per_minute", "replay_budget", "day_budget")
MOST_PROVIDERS = 50
MOST_KEY = 4000
MOST_PARALLEL, MOST_PER_MINUTE, MOST_BUDGET = 1000, 1_000_000, 1_000_000
_NAME = re.compile(rf"[a-z0-9][a-z0-9-]{{0,{PROVIDER_NAME - 1}}}")
_VARIABLE = re.compile(rf"[A-Za-z_][A-Za-z0-9_]{{0,{VARIABLE - 1}}}")
_KEY = re.compile(r"[\x21-\x7e]+")


class BadProvider(BadMember):
    """A provider that cannot be kept: the member at fault, and why. Holds no key."""


@dataclass(frozen=True, slots=True)
class Given:
    """What somebody wants a provider to be; an empty `key` leaves the one there is."""

    name: str
    kind: str
    base_url: str = ""
    key: str = field(default="", repr=False)
    key_variable: str = ""
    parallel: int | None = None
    per_minute: int | None = None
    replay_budget: Decimal | None = None
    day_budget: Decimal | None = None


def read(sent: Mapping[str, Any]) -> Given:
    """The provider in what was sent, texts or numbers; raises Refused with all that is wrong."""
    mistakes = Mistakes()
    mistakes.read(None, BadProvider.of_unknown, sent, MEMBERS, "A provider")
    texts = {name: mistakes.read(None, _text, sent, name) for name in TEXTS}
    given = Given(
        **{name: text or "" for name, text in texts.items()},
        parallel=mistakes.read(None, _whole, sent, "parallel", MOST_PARALLEL),
        per_minute=mistakes.read(None, _whole, sent, "per_minute", MOST_PER_MINUTE),
        replay_budget=mistakes.read(None, _dollars, sent, "replay_budget"),
        day_budget=mistakes.read(None, _dollars, sent, "day_budget"),
    )
    if None not in texts.values():
        for check in (_check_name, _check_kind, _check_url, _check_key, _check_variable):
            mistakes.read(None, check, given)
    mistakes.end()
    return given


def _text(sent: Mapping[str, Any], name: str) -> str:
    value = sent.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise BadProvider(name, "Expected a text.")
    return value.strip()


def _whole(sent: Mapping[str, Any], name: str, most: int) -> int | None:
    value = sent.get(name)
    if value is None or value == "":
        return None
    if isinstance(value, str) and re.fullmatch(r"\s*[0-9]{1,9}\s*", value, re.ASCII):
        value = int(value)
    if type(value) is not int or not 1 <= value <= most:
        raise BadProvider(name, f"A whole number from 1 to {most:,}, or nothing for no limit.")
    return value


def _dollars(sent: Mapping[str, Any], name: str) -> Decimal | None:
    value = sent.get(name)
    if value is None or value == "":
        return None
    said = f"US dollars from 0 to {MOST_BUDGET:,}, or nothing for no limit."
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise BadProvider(name, said)
    try:
        amount = Decimal(str(value).strip()[:30])
    except InvalidOperation:
        raise BadProvider(name, said) from None
    if not amount.is_finite() or not 0 <= amount <= MOST_BUDGET:
        raise BadProvider(name, said)
    return amount.quantize(Decimal("0.000001"))


def _check_name(given: Given) -> None:
    BadProvider.of_longer(given.name, PROVIDER_NAME, "name", "A name")
    if not _NAME.fullmatch(given.name):
        said = (
            f"A name has 1 to {PROVIDER_NAME} small letters, digits and hyphens, no hyphen first."
        )
        raise BadProvider("name", said)
    if given.name in FIXED_NAMES:
        raise BadProvider("name", f"{given.name} means OpenAI on one API; take another name.")


def _check_kind(given: Given) -> None:
    if given.kind not in KINDS:
        raise BadProvider("kind", f"The kind is one of {', '.join(KINDS)}.")


def _check_url(given: Given) -> None:
    if given.kind in KINDS and not given.base_url and not KINDS[given.kind].base_url:
        raise BadProvider("base_url", "Such a server needs its base URL.")
    BadProvider.of_longer(given.base_url, MOST_URL, "base_url", "A base URL")
    try:
        if given.base_url:
            check_url(given.base_url, policy())
    except BadAddress as bad:
        raise BadProvider("base_url", str(bad)) from None


def _check_key(given: Given) -> None:
    if given.key and given.key_variable:
        raise BadProvider("key_variable", "A key is sealed here or read from a variable, not both.")
    BadProvider.of_longer(given.key, MOST_KEY, "key", "A key")
    if given.key and not _KEY.fullmatch(given.key):
        raise BadProvider("key", "A key is printable ASCII without spaces.")


def _check_variable(given: Given) -> None:
    if not given.key_variable:
        return
    BadProvider.of_longer(given.key_variable, VARIABLE, "key_variable", "A variable's name")
    if not _VARIABLE.fullmatch(given.key_variable):
        raise BadProvider("key_variable", "This is no name of an environment variable.")
    if given.kind in KINDS and not may_use(given.key_variable, given.kind, given.base_url):
        own = KINDS[given.kind].key_variable
        said = "The operator has not allowed projects this variable (PROVIDER_KEY_VARIABLES)."
        if own:
            said += f" {own} goes to {KINDS[given.kind].label}'s own address only."
        raise BadProvider("key_variable", said)


# --- Stored ---------------------------------------------------------------------------------------


def add(project: Project, given: Given, by: User | None) -> ProjectProvider:
    """Store a new one; raises BadProvider."""
    if ProjectProvider.objects.filter(project=project).count() >= MOST_PROVIDERS:
        raise BadProvider(
            "name", f"A project has at most {MOST_PROVIDERS} providers.", MOST_PROVIDERS
        )
    columns = {**_plain(given), **_key_columns(given, project.pk)}
    try:
        with transaction.atomic():
            row = ProjectProvider.objects.create(
                project=project, name=given.name, created_by=by, **columns
            )
            if row.has_limits:
                count_today(row)
            return row
    except IntegrityError:
        raise BadProvider("name", "Another provider of this project has this name.") from None


def change(row: ProjectProvider, given: Given) -> None:
    """Make a stored one as given; its name stays. Raises BadProvider.

    A sealed key does not follow to another address: who may change this page could otherwise have
    a key that somebody else entered sent to themselves.
    """
    keeps = bool(row.sealed) and not given.key and not given.key_variable
    if keeps and _address(given) != row.address.rstrip("/"):
        raise BadProvider("key", "Enter the key again: it was sealed for another address.")
    columns = _plain(given) | ({} if keeps else _key_columns(given, row.project_id))
    old = ProjectProvider.objects.filter(pk=row.pk, sealed=row.sealed, base_url=row.base_url)
    forgotten = {"tested_at": None, "test_passed": None, "test_said": ""}
    with bulk.turn():  # a call that is let through by the new limits comes after the count
        if not old.filter(kind=row.kind).update(**columns, **forgotten):
            raise BadProvider("name", "Somebody else has just changed it. Look, and do it again.")
        if any(columns[name] is not None for name in LIMITS) and not row.has_limits:
            count_today(row)


def remove(row: ProjectProvider) -> None:
    ProjectProvider.objects.filter(pk=row.pk).delete()


def _address(given: Given) -> str:
    return (given.base_url or KINDS[given.kind].base_url).rstrip("/")


def _plain(given: Given) -> dict[str, Any]:
    limits = {name: getattr(given, name) for name in LIMITS}
    return {
        "kind": given.kind,
        "base_url": given.base_url,
        "key_variable": given.key_variable,
        **limits,
    }


def _key_columns(given: Given, project_id: int) -> dict[str, Any]:
    if not given.key:
        return {"sealed": "", "sealed_at": None}
    return {"sealed": seal(given.key, project_id), "sealed_at": timezone.now()}
