"""The piece of a text around what was looked for, with that marked. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from runs.search.query import Clause
from runs.search.words import BETWEEN, Placed, fold, placed

BEFORE = 70
LENGTH = 280
SHORT = 60
NEXT = " · "
_SPACE = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class Piece:
    text: str
    is_hit: bool


@dataclass(frozen=True, slots=True)
class Excerpt:
    pieces: tuple[Piece, ...]

    def __str__(self) -> str:
        return "".join(piece.text for piece in self.pieces)

    @property
    def marked(self) -> list[str]:
        return [piece.text for piece in self.pieces if piece.is_hit]


def excerpt(body: str, clauses: Sequence[Clause]) -> Excerpt:
    """Around the first place of the first clause that is in `body`; its start if none is."""
    texts = body.split(BETWEEN)
    for clause in clauses:
        for place, text in enumerate(texts):
            if clause.words[0] in fold(text) and (at := _first(placed(text), clause)) is not None:
                return _around(_filled(texts[place:]), at, clauses)
    return _around(_filled(texts), 0, clauses)


def _filled(texts: list[str]) -> str:
    """The first text, and what follows it where it is too short to say much ("get_order")."""
    return texts[0] if len(texts[0]) > SHORT else NEXT.join(texts)[: 2 * LENGTH]


def _first(found: Placed, clause: Clause) -> int | None:
    return next((start for start, _ in spans(found, clause)), None)


def _around(text: str, at: int, clauses: Sequence[Clause]) -> Excerpt:
    start, end = _window(text, at)
    shown = text[start:end]
    found = placed(shown)
    hits = [span for clause in clauses for span in spans(found, clause)]
    pieces = (Piece(_SPACE.sub(" ", one.text), one.is_hit) for one in marked(shown, hits))
    before, after = [Piece("… ", False)] * (start > 0), [Piece(" …", False)] * (end < len(text))
    return Excerpt((*before, *pieces, *after))


def spans(found: Placed, clause: Clause) -> Iterator[tuple[int, int]]:
    """From where to where in its text each place of a clause goes."""
    *whole, last = clause.words
    size = len(clause.words)
    for at in range(len(found.words) - size + 1):
        there = found.words[at + size - 1]
        is_last = there.startswith(last) if clause.is_start else there == last
        if is_last and found.words[at : at + size - 1] == whole:
            yield found.starts[at], found.ends[at + size - 1]


def _window(text: str, at: int) -> tuple[int, int]:
    """From the start of a word some way before `at` to the end of one some way behind it."""
    start = max(at - BEFORE, 0)
    if start:
        space = _SPACE.search(text, start, at)
        start = space.end() if space else start
    end = min(start + LENGTH, len(text))
    if end < len(text):
        spaces = _SPACE.finditer(text, max(end - 30, at + 1), end)
        end = max((match.start() for match in spaces), default=end)
    return start, end


def _merged(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def marked(text: str, found: list[tuple[int, int]]) -> Iterator[Piece]:
    """All of `text`, the spans that were found apart."""
    at = 0
    for first, last in [*_merged(found), (len(text), len(text))]:
        if first > at:
            yield Piece(text[at:first], False)
        if last > first:
            yield Piece(text[first:last], True)
        at = last
