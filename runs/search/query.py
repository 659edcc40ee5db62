"""What a person typed, understood: words, "phrases" and beginnings*, all of which must be there.

Pure. Punctuation inside a word makes it a phrase of its parts, as it does in the text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from runs.refusals import Refused, not_longer, not_unkept
from runs.search import words

MAX_LENGTH = 1000
MAX_CLAUSES = 16
MAX_PHRASE = 64
"""Words of one phrase; the pieces of a long text overlap by as many."""
_QUOTES = str.maketrans("“”„«»＂", '""""""')
_TERM = re.compile(r'"([^"]*)"(\*?)|([^\s"]+)')


class QueryProblem(Refused):
    """Why nothing can be looked for, as a sentence for the person who typed it."""

    def __init__(self, message: str, code: str = "invalid", **extra: Any) -> None:
        super().__init__(code, message, "q", **extra)


@dataclass(frozen=True, slots=True)
class Clause:
    """Words that stand in a row; of the last one only its start may be meant."""

    words: tuple[str, ...]
    is_start: bool = False


@dataclass(frozen=True)
class Query:
    text: str
    clauses: tuple[Clause, ...]

    @cached_property
    def singles(self) -> tuple[Clause, ...]:
        """The words by themselves, wherever they stand."""
        return tuple(
            Clause((word,), clause.is_start and place == len(clause.words))
            for clause in self.clauses
            for place, word in enumerate(clause.words, 1)
        )

    @property
    def phrases(self) -> tuple[Clause, ...]:
        return tuple(clause for clause in self.clauses if len(clause.words) > 1)


def parse(text: str) -> Query:
    """The query of a search box. Raises QueryProblem."""
    try:
        not_longer(text, MAX_LENGTH, "q", "A search")
        not_unkept(text, "q")
    except Refused as refused:
        raise QueryProblem(refused.message, refused.code, **refused.extra) from None
    said = re.sub(r"[\x00-\x1f\ud800-\udfff]", " ", text).translate(_QUOTES).strip()
    if said.count('"') % 2:
        raise QueryProblem('A quotation mark is not closed: write "two words" for a phrase.')
    clauses = tuple(dict.fromkeys(filter(None, map(_clause, _TERM.finditer(said)))))
    if not clauses:
        raise QueryProblem(
            "There is no letter, digit or emoji in it, and nothing else is searched."
        )
    if len(clauses) > MAX_CLAUSES:
        raise QueryProblem(f"A search has at most {MAX_CLAUSES} words and phrases.")
    return Query(text.strip(), clauses)


def _clause(match: re.Match[str]) -> Clause | None:
    phrase, star, bare = match.groups()
    said = bare if phrase is None else phrase
    found, cut = words.asked(said)
    if len(found) > MAX_PHRASE:
        raise QueryProblem(f"A phrase has at most {MAX_PHRASE} words; this has {len(found)}.")
    is_start = cut or bool(star) or bool(bare and bare.endswith("*"))
    if not found:
        return None
    if is_start and len(found[-1]) == 1 and found[-1].isascii():
        raise QueryProblem(f"Write at least two letters before the star: {found[-1]}… is too wide.")
    return Clause(tuple(found), is_start)
