"""Why something sent was not taken: a name, a sentence and the field at fault, without HTTP."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import Any, Self, TypeVar

from runs.messages.loose import clean

_UNKEPT = re.compile("[\x00\ud800-\udfff]")
"""What no text column takes. In a recording it is kept, and shown as a picture; typed it is no
text."""

Read = TypeVar("Read")
Instead = TypeVar("Instead")


class Refused(Exception):
    """The whole request is refused; nothing of it is stored.

    `code` is the stable name clients test for, `field` the dotted member at fault, `extra` further
    members of the answer (such as the limit that was passed).
    """

    def __init__(self, code: str, message: str, field: str | None = None, **extra: Any) -> None:
        super().__init__(message)
        self.code, self.message, self.field, self.extra = code, message, field, extra

    @property
    def each(self) -> tuple[Refused, ...]:
        """Everything that is wrong, this one first."""
        return (self,)

    def refused(self) -> Refused:
        """Itself, as BadMember has it."""
        return self


class SeveralRefused(Refused):
    """All that is wrong with a request: it reads as the first, `errors` of the answer has each."""

    def __init__(self, refusals: Iterable[Refused]) -> None:
        known = {(one.code, one.message, one.field): one for r in refusals for one in r.each}
        first, *_ = self._each = tuple(known.values())
        told = [
            {"code": code, "message": message, "field": field, **one.extra}
            for (code, message, field), one in known.items()
        ]
        super().__init__(first.code, first.message, first.field, **first.extra, errors=told)

    @property
    def each(self) -> tuple[Refused, ...]:
        return self._each


class Mistakes:
    """What is wrong with one thing that was sent: it is read to its end, all is told at once."""

    def __init__(self) -> None:
        self.found: list[Refused] = []

    def read(self, instead: Instead, reader: Callable[..., Read], *args: Any) -> Read | Instead:
        """What `reader` gives; where it refuses, that is kept and `instead` is gone on with."""
        try:
            return reader(*args)
        except Refused as refusal:
            self.found.extend(refusal.each)
        except BadMember as bad:
            self.found.append(bad.refused())
        return instead

    def end(self) -> None:
        """Raises SeveralRefused if anything was wrong."""
        if self.found:
            raise SeveralRefused(self.found)


class ItemRefused(Refused):
    """One record is refused; its neighbours are not."""


def not_longer(text: str, limit: int, field: str, what: str) -> None:
    """Raises Refused for a text of more than so many characters; `what` is what it is."""
    if len(text) > limit:
        raise Refused("too_long", _too_long(text, limit, what), field, limit=limit)


def not_unkept(text: str, field: str) -> None:
    """Raises Refused for what somebody typed that no database keeps."""
    if _UNKEPT.search(text):
        raise Refused("invalid", UNKEPT, field)


UNKEPT = "This holds NUL or half a character, which no text has."


def _too_long(text: str, limit: int, what: str) -> str:
    return f"{what} has at most {limit:,} characters; this has {len(text):,}."


class BadMember(ValueError):
    """Something that cannot be kept: the member at fault and why, with the limit that was passed
    where there is too much of it."""

    def __init__(
        self, member: str, message: str, limit: int | None = None, code: str = "too_many"
    ) -> None:
        super().__init__(message)
        self.member, self.message, self.limit, self.code = member, message, limit, code

    @classmethod
    def of_longer(cls, text: str, limit: int, member: str, what: str) -> None:
        """As `not_longer`."""
        if len(text) > limit:
            raise cls(member, _too_long(text, limit, what), limit, "too_long")

    def within(self, place: str) -> Self:
        """The same of a thing that stands at a place."""
        return type(self)(f"{place}.{self.member}", self.message, self.limit, self.code)

    @classmethod
    def of_unknown(cls, sent: Iterable[object], known: Collection[str], thing: str) -> None:
        """Raises for the first member of what was sent that such a thing has not."""
        unknown = next((member for member in sent if member not in known), None)
        if unknown is not None:
            raise cls(clean(str(unknown)[:80]), f"{thing} has no such member.")

    def refused(self) -> Refused:
        """The same of a request."""
        if self.limit is None:
            return Refused("invalid", self.message, self.member)
        return Refused(self.code, self.message, self.member, limit=self.limit)


@dataclass(frozen=True, slots=True)
class Rejected:
    """One item of a request that was not stored, and why (both hashes for a conflict)."""

    index: int | None
    id: str | None
    code: str
    message: str
    field: str | None = None
    stored_hash: str | None = None
    sent_hash: str | None = None
