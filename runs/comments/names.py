"""Who an `@name` in a text means. Pure.

A person is called by the name that others see: the one they gave themselves, else the part of
their address before the @. Of several names that fit, the longest is meant; of several people of
one name, all.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

LONGEST = 200


@dataclass(frozen=True, slots=True)
class Piece:
    """A run of text; `name` is set where it is an @name."""

    text: str
    name: str = ""


def shown_name(name: str, email: str) -> str:
    """What others call a person."""
    return " ".join(name.split()) or email.partition("@")[0]


def mentioned(text: str, names: Iterable[str]) -> list[str]:
    """The names that stand behind an @ in a text, each once, in the order they come."""
    found = (piece.name for piece in pieces(text, names) if piece.name)
    return list(dict.fromkeys(found))


def pieces(text: str, names: Iterable[str]) -> Iterator[Piece]:
    """A text cut at its @names, spelled in any case."""
    known = {name.casefold(): name for name in names if name}
    place = 0
    for found in _pattern(known).finditer(text) if known else ():
        yield from _plain(text[place : found.start()])
        yield Piece(found[0], known.get(found[1].casefold(), found[1]))
        place = found.end()
    yield from _plain(text[place:])


def _plain(text: str) -> Iterator[Piece]:
    if text:
        yield Piece(text)


def _pattern(known: Iterable[str]) -> re.Pattern[str]:
    longest_first = sorted(known, key=len, reverse=True)
    any_of = "|".join(map(re.escape, longest_first))
    return re.compile(rf"(?<![\w@.])@({any_of})(?!\w)", re.IGNORECASE)
