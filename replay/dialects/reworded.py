"""One message's text, found by what it says and said otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class MessageText:
    """A message of this role that says ``old`` is to say ``new``, in every call that holds it.

    Histories repeat from call to call, so it is found by its words and not by its place.
    """

    role: Literal["user", "assistant"]
    old: str
    new: str


def reworded(texts: Sequence[str], message: MessageText) -> list[str | None] | None:
    """The texts of a message with the change in them; ``None`` where they do not say ``old``.

    A single text that says it is replaced. Several that say it together become one; the rest, as
    ``None``, is to be left out.
    """
    if message.old in texts:
        return [message.new if text == message.old else text for text in texts]
    if texts and "".join(texts) == message.old:
        return [message.new, *([None] * (len(texts) - 1))]
    return None
