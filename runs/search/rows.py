"""The text of one effect as rows of the index. Pure.

Most texts are one row. A long one is cut into pieces that overlap by the longest phrase, so that
a phrase is whole in one of them; another row, the *head*, has each of its words once and no
phrases: words that stand far apart are found together by it. Only first rows are looked for;
of a head that is found, the pieces are asked for the phrases.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from runs.search.query import MAX_PHRASE
from runs.search.words import BREAK, Placed, placed, words

PIECE_WORDS = 2000
PIECE_CHARACTERS = 32_000
"""What an excerpt is looked for in."""
SAME_WORD = 250
"""Places of one word that one row keeps; PostgreSQL keeps no more than 255."""
HEAD_BYTES = 1_000_000
"""Different words of one head, of which PostgreSQL keeps up to 1 MB. A text with more, some
100,000 different words, has several, each with pieces of its own (a `portion`)."""


@dataclass(frozen=True, slots=True)
class Row:
    """`part` 0 is what is looked for; `is_long` where its phrases are in parts 1, 2, …"""

    portion: int
    part: int
    body: str
    words: list[str]
    is_long: bool = False


def rows(text: str) -> Iterator[Row]:
    found = words(text)
    if not found:
        return
    if len(found) <= PIECE_WORDS and len(text) <= PIECE_CHARACTERS and _few_of_each(found):
        yield Row(0, 0, text, found)
        return
    yield from _long(text)


def _few_of_each(found: list[str]) -> bool:
    return len(found) <= SAME_WORD or max(Counter(found).values()) <= SAME_WORD


def _long(text: str) -> Iterator[Row]:
    portion, part = 0, 0
    head = _Head()
    found = placed(text)
    for start, end in _pieces(found):
        inside = found.words[start:end]
        if not head.takes(inside):
            yield head.row(portion)
            portion, part, head = portion + 1, 0, _Head()
            head.takes(inside)
        part += 1
        body = text[found.starts[start] : found.ends[end - 1]]
        yield Row(portion, part, body[:PIECE_CHARACTERS], inside)
    yield head.row(portion)


class _Head:
    """Each word of the pieces so far once."""

    def __init__(self) -> None:
        self.words: dict[str, None] = {}
        self.size = 0

    def takes(self, found: list[str]) -> bool:
        """Add the words of a piece, if they have room."""
        fresh = dict.fromkeys(word for word in found if word not in self.words)
        size = sum(len(word.encode()) for word in fresh)
        if self.words and self.size + size > HEAD_BYTES:
            return False
        self.words |= fresh
        self.size += size
        return True

    def row(self, portion: int) -> Row:
        return Row(portion, 0, "", [w for w in self.words if w != BREAK], is_long=True)


def _pieces(found: Placed) -> Iterator[tuple[int, int]]:
    """From which word to which each piece goes."""
    start = 0
    while True:
        end = _end(found, start)
        yield start, end
        if end >= len(found.words):
            return
        start = end - MAX_PHRASE + 1


def _end(found: Placed, start: int) -> int:
    """Where a piece that starts there is full."""
    last = min(start + PIECE_WORDS, len(found.words))
    widest = found.starts[start] + PIECE_CHARACTERS
    last = max(bisect_right(found.ends, widest, start, last), min(start + 2 * MAX_PHRASE, last))
    if _few_of_each(found.words[start:last]):
        return last
    counts: Counter[str] = Counter()
    for at in range(start, last):
        counts[found.words[at]] += 1
        if counts[found.words[at]] > SAME_WORD:
            return at
    return last
