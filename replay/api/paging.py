"""Keyset pages, newest first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from django.db.models import Model, QuerySet
from rest_framework.request import Request

from runs.refusals import Refused, not_longer, not_unkept

MAX_BIGINT = 2**63 - 1
MAX_WORD = 200
M = TypeVar("M", bound=Model)
_ON, _OFF = {"1", "true", "yes"}, {"0", "false", "no"}


@dataclass(frozen=True, slots=True)
class Page(Generic[M]):
    """`next` is the cursor of what follows, None at the end."""

    rows: list[M]
    next: str | None


def keyset(found: QuerySet[M], request: Request) -> Page[M]:
    """The page that `cursor` and `limit` name; `found` is ordered by falling key."""
    limit = bounded(request, "limit", 50, most=200)
    before = bounded(request, "cursor", 0)
    rows = list((found.filter(pk__lt=before) if before else found)[: limit + 1])
    more = len(rows) > limit
    return Page(rows[:limit], str(rows[limit - 1].pk) if more else None)


def bounded(request: Request, name: str, default: int, most: int = MAX_BIGINT) -> int:
    """A number from the query string; Refused for anything else."""
    text = request.query_params.get(name)
    if text is None:
        return default
    if not (text.isascii() and text.isdigit() and len(text) < 20 and int(text) <= most):
        raise Refused("invalid", f"`{name}` is a number up to {most}.", field=name)
    if name == "limit" and int(text) == 0:
        raise Refused("invalid", "`limit` is at least 1.", field=name)
    return int(text)


def flag(request: Request, name: str) -> bool:
    """Whether a switch of the query string is on; Refused for what is neither on nor off."""
    text = request.query_params.get(name, "false").lower()
    if text not in _ON | _OFF:
        raise Refused("invalid", f"`{name}` is true or false.", field=name)
    return text in _ON


def word(request: Request, name: str) -> str | None:
    """A text from the query string that a database can be asked for."""
    text = request.query_params.get(name)
    if text is not None:
        not_longer(text, MAX_WORD, name, f"`{name}`")
        not_unkept(text, name)
    return text
