"""Facts in a text, found by rule: numbers, amounts, dates, times, identifiers, links, quoted names.

Pure, and linear in the length of the text. Each fact is normalised, so that `€49.90` and
`49.90 EUR` are one and `5 March 2026` is `2026-03-05`. What a rule cannot tell (a number word, a
paraphrase) is wording. Markers that number a list are no facts. Facts are a set, where they stand
and how often does not count, unless all the rest of two texts is the same.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import zip_longest

from replay.comparison import numbers
from replay.comparison.numbers import AMOUNT, MEASURE, NUMBER, RANGE, SCIENTIFIC, VERSION

MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")

_MONTH = (r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
          r"|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)(?![a-z])\.?")  # fmt: skip
_WEEKDAY = "(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)days?"
_ALONE = "(?:January|February|March|April|June|July|August|September|October|November|December)"
_NEAR = r"[\w./#-]{0,64}"
"""So far ahead the digit or letter of an identifier is looked for: without a bound, a long text
without spaces would be gone over again from each of its words."""
_LIST_MARK = re.compile(r"^[ \t]*(?:\d{1,3}[.)]|[-*•])[ \t]+(?=\S)", re.MULTILINE)
_DOMAINS = "com|org|net|io|dev|ai|app|gov|edu|eu|info|uk|de|fr|nl|ch|jp|cn|br|ca|au"
_PATTERNS: tuple[tuple[str, str], ...] = (
    ("link", r"(?:https?|ftp)://[^\s<>\"'`]+|www\.[^\s<>\"'`]+"
             rf"|(?<![\w.@-])(?:[a-z0-9][a-z0-9-]{{0,62}}\.){{1,5}}(?:{_DOMAINS})(?![\w@-])"
             r"(?:/[^\s<>\"'`]*)?"),
    ("mail", r"(?<![\w.+-])[\w.+-]{1,64}+@[\w-]++(?:\.[\w-][\w-]*+)++"),
    ("quoted", r"\"[^\"\n]{1,80}\"|“[^”\n]{1,80}”|„[^“”\n]{1,80}[“”]|«[^»\n]{1,80}»|`[^`\n]{1,80}`"
               r"|‘[^‘’\n]{1,80}’(?!\w)|「[^」\n]{1,80}」"
               r"|(?<![\w'])'[^'\n]{1,80}'(?!\w)"),
    ("date", r"(?<![\d.])(?:\d{4}-\d{1,2}-\d{1,2}|\d{4}/\d{1,2}/\d{1,2})(?!\d)"),
    ("date_dotted", r"(?<![\d.])\d{1,2}\.\d{1,2}\.\d{4}(?!\d)"),
    ("date_slashed", r"(?<![\d/])\d{1,2}/\d{1,2}/\d{2,4}(?![\d/])"),
    ("date_named", rf"(?i:\b\d{{1,2}}(?:st|nd|rd|th)?\.? (?:of )?{_MONTH},?(?: \d{{4}})?\b"
                   rf"|\b{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?(?:,? \d{{4}})?\b"
                   rf"|\b{_MONTH},? (?:of )?\d{{4}}\b)"),
    ("month", rf"\b{_ALONE}\b"),
    ("weekday", rf"\b{_WEEKDAY}\b(?!,? (?:the )?(?:\d|{_ALONE}|(?i:{_MONTH}) \d))"),
    ("time", r"(?i:(?<![\d:])\d{1,2}:\d{2}(?::\d{2})?(?: ?[ap]\.?m\b\.?)?(?![\d:])"
             r"|(?<![\d:.,])\d{1,2} ?[ap]\.?m\b\.?)"),
    ("amount", AMOUNT),
    ("version", VERSION),
    ("range", RANGE),
    ("scientific", SCIENTIFIC),
    ("measure", MEASURE),
    ("identifier", rf"\b(?={_NEAR}?\d)(?={_NEAR}?[^\W\d])\w++(?:[-_/.#:]\w\w*+)*+"
                   r"|\b_*+[^\W_]++(?:_\w\w*+)++|\b[a-z]{2,}+(?:[A-Z][a-z][a-z]*+)++\b"),
    ("number", rf"(?<![\w.])[-−]?{NUMBER}|{NUMBER}"),
)  # fmt: skip
_ANY = "|".join(f"(?P<{name}>{pattern})" for name, pattern in _PATTERNS)
# No fact begins with a letter inside a word: most of a text is left at once.
_FACT = re.compile(rf"(?:(?<!\w)|(?![^\W\d]))(?:{_ANY})")
_WORD = re.compile(r"\w")
OFTEN = 100
_NO_LETTERS = re.compile(r"[\W\d_eE]+")
_LAST_DIGITS = re.compile(r"\d[\d.]*")
_POINTED = re.compile(r"(?<![\w.])[vV]?(\d+(?:\.\d+)+)(?!\w|\.\d)")
_NUMBERED = re.compile(r"[vV](\d+(?:\.\d+)+)")


@dataclass(frozen=True, slots=True, order=True)
class Fact:
    """`kind` is one of number, measure, amount, version, date, time, identifier, link, quoted;
    `value` normalised, of a measure the number before its unit."""

    kind: str
    value: str


@dataclass(frozen=True, slots=True)
class Read:
    """A text and what it says: its facts with the words each was written in first, the same in
    their order, and all the rest."""

    text: str
    facts: dict[Fact, str]
    order: tuple[Fact, ...]
    rest: str


def _read(text: str) -> Read:
    found: dict[Fact, str] = {}
    order, rest, end = [], [], 0
    plain = _LIST_MARK.sub("", text)
    for match in _FACT.finditer(plain):
        written = match[0]
        for fact in _READERS[match.lastgroup or "number"](written):
            found.setdefault(fact, written.strip())
            order.append(fact)
        rest.append(plain[end : match.start()])
        end = match.end()
    return Read(text, found, tuple(order), collapsed("\0".join([*rest, plain[end:]])))


def facts(text: str) -> dict[Fact, str]:
    """The facts of a text, each with the words it was written in first."""
    return _read(text).facts


def read(text: str) -> Read:
    """What a text says. The recorded one is held against each model's answer, so that what one of
    usual length says is kept."""
    return _reads(text) if len(text) <= KEPT_TEXT else _read(text)


_reads = lru_cache(64)(_read)
KEPT_TEXT = 10_000


def only_in(ours: Read, theirs: Read) -> list[str]:
    """The facts of `ours` that `theirs` does not have, as written."""
    there = _There(theirs)
    return [written for fact, written in ours.facts.items() if not there.has(fact)]


def moved(before: Read, after: Read) -> tuple[str, str] | None:
    """Of two texts that are otherwise the same, the first place where each names another fact: `A
    gets 10 and B gets 20` says something else with the figures swapped."""
    if before.rest != after.rest:
        return None
    for old, new in zip_longest(before.order, after.order):
        if old is None or new is None or not _alike(old, new):
            return before.facts.get(old, "nothing"), after.facts.get(new, "nothing")
    return None


def _alike(one: Fact, other: Fact) -> bool:
    """Whether two facts may be one that is written with more and with less beside it."""
    if one == other or "quoted" in (one.kind, other.kind):
        return one == other or one.value.casefold() == other.value.casefold()
    return _bare(one) == _bare(other)


def _bare(fact: Fact) -> Fact:
    """A number without its unit, where that may be left out."""
    if fact.kind == "measure" and not fact.value.endswith(" %"):
        return Fact("number", fact.value.partition(" ")[0])
    return Fact("number", numbers.number(fact.value)) if fact.kind == "version" else fact


class _There:
    """A text in which facts are looked for. A name need not stand in quotes again, nor a number
    have its unit beside it; percent, which is another number, it must."""

    def __init__(self, read: Read) -> None:
        self._text = read.text
        self._facts = read.facts
        self._bare = {_bare(fact) for fact in self._facts}

    def has(self, fact: Fact) -> bool:
        if fact in self._facts:
            return True
        if fact.kind == "quoted":
            return self._says(fact.value)
        if fact.kind == "version":
            return fact.value in self._written
        if fact.kind == "measure":
            return _bare(fact) in self._facts
        return fact.kind == "number" and fact in self._bare

    def _says(self, words: str) -> bool:
        """Whether these words stand there as words; where they stand often within others, too."""
        plain, at = self._plain, -1
        for _ in range(OFTEN):
            at = plain.find(words, at + 1)
            if at < 0:
                return False
            if not _WORD.match(plain[at - 1 : at]) and not _WORD.match(plain, at + len(words)):
                return True
        return True

    @cached_property
    def _plain(self) -> str:
        return collapsed(self._text.casefold())

    @cached_property
    def _written(self) -> frozenset[str]:
        """Numbers with a point as they stand there."""
        return frozenset(_POINTED.findall(self._text))


def spelled_alike(one: str, other: str) -> bool:
    """Whether two texts differ in white space and in how their numbers are spelled alone."""
    if _NO_LETTERS.sub("", one) != _NO_LETTERS.sub("", other):
        return False
    return collapsed(_respelled(one)) == collapsed(_respelled(other))


def collapsed(text: str) -> str:
    """A text with one blank for all white space between words."""
    return " ".join(text.split())


def _respelled(text: str) -> str:
    """A text with its numbers by their values; what names something stays as it is."""
    return _FACT.sub(_by_value, text)


def _by_value(match: re.Match[str]) -> str:
    written, kind = match[0], match.lastgroup
    if kind in ("number", "amount", "measure"):
        return numbers.respelled(written)
    if kind == "range":
        return numbers.all_respelled(written)
    if kind == "scientific":
        return numbers.scientific(written)
    if kind == "date_slashed":
        return next(_slashed(written)).value
    return f"{written[0]}{_respelled(written[1:-1])}{written[-1]}" if kind == "quoted" else written


def _link(written: str) -> Iterator[Fact]:
    yield Fact("link", written.rstrip(".,;:!?)]}").rstrip("/"))


def _mail(written: str) -> Iterator[Fact]:
    yield Fact("link", written.casefold())


def _quoted(written: str) -> Iterator[Fact]:
    """A name; where a fact of another kind stands in the quotes, that."""
    inner = collapsed(written[1:-1]).strip(".,;:!?")
    whole = _FACT.fullmatch(inner)
    if whole and whole.lastgroup not in (None, "quoted"):
        yield from _READERS[str(whole.lastgroup)](inner)
    else:
        yield Fact("quoted", inner.casefold())


def _iso(written: str) -> Iterator[Fact]:
    year, month, day = re.split("[-/]", written)
    yield Fact("date", f"{year}-{month:0>2}-{day:0>2}")


def _dotted(written: str) -> Iterator[Fact]:
    day, month, year = written.split(".")
    yield Fact("date", f"{year}-{month:0>2}-{day:0>2}")


def _slashed(written: str) -> Iterator[Fact]:
    yield Fact("date", "/".join(part.lstrip("0") for part in written.split("/")))


def _named(written: str) -> Iterator[Fact]:
    words = re.findall(r"[a-z]+|\d+", re.sub(r"(\d)(st|nd|rd|th)", r"\1", written.lower()))
    month = f"{MONTHS.index(next(w[:3] for w in words if w[:3] in MONTHS)) + 1:02}"
    years = [word for word in words if word.isdigit() and len(word) == 4]
    days = [f"-{int(word):02}" for word in words if word.isdigit() and len(word) < 4]
    yield Fact("date", f"{years[0] if years else '-'}-{month}{days[0] if days else ''}")


def _weekday(written: str) -> Iterator[Fact]:
    yield Fact("date", written.rstrip("s"))


def _time(written: str) -> Iterator[Fact]:
    lowered = written.lower()
    hour, *rest = re.findall(r"\d+", lowered)
    half = "p" in lowered, "a" in lowered
    value = int(hour) % 12 + 12 * half[0] if any(half) else int(hour)
    minute, *second = rest or ["00"]
    yield Fact("time", ":".join([f"{value:02}", minute, *(s for s in second if s != "00")]))


def _amount(written: str) -> Iterator[Fact]:
    yield Fact("amount", numbers.amount(written))


def _measure(written: str) -> Iterator[Fact]:
    value, unit = numbers.measure(written)
    yield Fact("measure", f"{value} {unit}") if unit else Fact("number", value)


def _version(written: str) -> Iterator[Fact]:
    yield Fact("version", _LAST_DIGITS.findall(written)[-1])


def _range(written: str) -> Iterator[Fact]:
    yield from (Fact("measure", f"{value} %") for value in numbers.ranged(written))


def _identifier(written: str) -> Iterator[Fact]:
    number = _NUMBERED.fullmatch(written)
    yield Fact("version", number[1]) if number else Fact("identifier", written)


def _scientific(written: str) -> Iterator[Fact]:
    yield Fact("number", numbers.scientific(written))


def _number(written: str) -> Iterator[Fact]:
    yield Fact("number", numbers.number(written))


_READERS: dict[str, Callable[[str], Iterator[Fact]]] = {
    "link": _link,
    "mail": _mail,
    "quoted": _quoted,
    "date": _iso,
    "date_dotted": _dotted,
    "date_slashed": _slashed,
    "date_named": _named,
    "month": _named,
    "weekday": _weekday,
    "time": _time,
    "amount": _amount,
    "version": _version,
    "range": _range,
    "scientific": _scientific,
    "measure": _measure,
    "identifier": _identifier,
    "number": _number,
}
