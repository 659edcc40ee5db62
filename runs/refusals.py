"""Why something sent was not taken: a name, a sentence and the field at fault, without HTTP."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


class Refused(Exception):
    """The whole request is refused; nothing of it is stored.

    `code` is the stable name clients test for, `field` the dotted member at fault, `extra` further
    members of the answer (such as the limit that was passed).
    """

    def __init__(self, code: str, message: str, field: str | None = None, **extra: Any) -> None:
        super().__init__(message)
        self.code, self.message, self.field, self.extra = code, message, field, extra


class ItemRefused(Refused):
    """One record is refused; its neighbours are not."""


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
