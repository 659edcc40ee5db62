"""Where in a text of any length what was looked for stands, for a page that shows only some of it.

Pure. Words are those of the index (`runs.search.words`), so a page finds what the search found.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from runs.search.excerpt import Piece, marked, spans
from runs.search.query import Clause, QueryProblem, parse
from runs.search.words import fold, placed

CHUNK, OVERLAP = 32_768, 2_048
"""Characters looked at at once; neighbours share so many, so that a phrase is whole in one."""
FOLDED = 8_000_000
"""Characters, not ASCII, of one page that are looked at without accents, which is dear; behind
them only words spelled as they were asked are found."""
LOOKED_THROUGH = 200_000_000
"""Characters of one text; JSON nested very deep is mostly margins."""
BEFORE, BEHIND = 280, 320
"""Characters shown around a place."""
WINDOWS = 3
_ESCAPE = re.compile(r'\\(?:[bfnrt"\\/]|u[0-9a-fA-F]{4})')

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Window:
    """A piece of a text: from character `start` up to but without `end`."""

    start: int
    end: int


class LookedFor:
    """What a page marks. Texts are given in pieces that can be gone through more than once;
    `escaped` says that they are JSON, in which `\\n` separates words."""

    def __init__(self, clauses: Sequence[Clause] = (), said: str = "") -> None:
        self.clauses = clauses
        self.said = said
        self._left = FOLDED

    def __bool__(self) -> bool:
        return bool(self.clauses)

    def is_in(self, texts: Iterable[str]) -> bool:
        """Whether any clause stands in any of `texts`."""
        return bool(self.clauses) and any(any(self.places([text])) for text in texts)

    def is_behind(self, texts: Iterable[str], at: int, *, escaped: bool = False) -> bool:
        """Whether the first place of some clause lies behind character `at`."""
        found = self.places(texts, escaped=escaped)
        return any(places[0][0] >= at for places in found if places)

    def windows(
        self, texts: Iterable[str], shown: int, size: int, *, escaped: bool = False
    ) -> list[Window]:
        """The pieces around the first places behind the `shown` characters of a text."""
        each = max(WINDOWS // max(len(self.clauses), 1), 1)
        found = self.places(texts, after=shown, each=each, escaped=escaped)
        windows: list[Window] = []
        for start, end in sorted(span for places in found for span in places):
            low = max(start - BEFORE, shown)
            if windows and low <= windows[-1].end:
                low = windows.pop().start
            windows.append(Window(low, min(end + BEHIND, size)))
        return windows[:WINDOWS]

    def marked(self, text: str, *, escaped: bool = False) -> Iterator[Piece]:
        """All of `text`, what was looked for apart."""
        found = placed(_spaced(text) if escaped else text)
        return marked(text, [span for one in self.clauses for span in spans(found, one)])

    def places(
        self, texts: Iterable[str], *, after: int = 0, each: int = 1, escaped: bool = False
    ) -> list[list[Span]]:
        """For each clause its first `each` places that end behind character `after`."""
        found: list[list[Span]] = [[] for _ in self.clauses]
        for at, text, is_first, is_last in _chunks(texts) if self.clauses else ():
            if at + len(text) <= after:
                continue
            read = _spaced(text) if escaped else text
            likely = self._folded(read)
            if not any(clause.words[0] in likely for clause in self.clauses):
                continue
            words = placed(read)
            for clause, places in zip(self.clauses, found, strict=True):
                for start, end in spans(words, clause):
                    cut = (end == len(text) and not is_last) or (start == 0 and not is_first)
                    is_new = at + end > after and (not places or at + start > places[-1][0])
                    if is_new and not cut and len(places) < each:
                        places.append((at + start, at + end))
            if all(len(places) >= each for places in found):
                break
        return found

    def _folded(self, text: str) -> str:
        if text.isascii() or self._left <= 0:
            return text.lower()
        self._left -= len(text)
        return fold(text)


NOTHING = LookedFor()


def looked_for(asked: str) -> LookedFor:
    """What an address asks to be marked; nothing if it cannot be looked for."""
    try:
        return LookedFor(parse(asked).clauses, asked.strip()) if asked.strip() else NOTHING
    except QueryProblem:
        return NOTHING


def cut(texts: Iterable[str], windows: Sequence[Window]) -> list[str]:
    """The pieces of a text that `windows` tell of."""
    made: list[list[str]] = [[] for _ in windows]
    at, last = 0, max((window.end for window in windows), default=0)
    for text in texts:
        for window, parts in zip(windows, made, strict=True):
            low, high = max(window.start - at, 0), window.end - at
            if low < len(text) and high > 0:
                parts.append(text[low:high])
        at += len(text)
        if at >= last:
            break
    return ["".join(parts) for parts in made]


def _spaced(text: str) -> str:
    return _ESCAPE.sub(lambda found: " " * len(found[0]), text) if "\\" in text else text


def _chunks(texts: Iterable[str]) -> Iterator[tuple[int, str, bool, bool]]:
    """Where a chunk begins, its text, and whether it is the first and the last."""
    held: list[str] = []
    at = size = 0
    for text in texts:
        if at > LOOKED_THROUGH:
            break
        for start in range(0, len(text), CHUNK):
            part = text[start : start + CHUNK] if len(text) > CHUNK else text
            held.append(part)
            size += len(part)
            if size >= CHUNK + OVERLAP:
                whole = "".join(held)
                yield at, whole, at == 0, False
                held = [whole[-OVERLAP:]]
                at, size = at + size - OVERLAP, OVERLAP
    yield at, "".join(held), at == 0, True
