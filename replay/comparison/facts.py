"""Facts in a text, found by rule: numbers, amounts, dates, times, identifiers, links, quoted names.

Pure, and linear in the length of the text. Each fact is normalised, so that `€49.90` and
`49.90 EUR` are one and `5 March 2026` is `2026-03-05`. What a rule cannot tell (a number word, a
paraphrase) is wording. Markers that number a list are no facts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from functools import lru_cache

MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
SYMBOLS = {"$": "USD", "€": "EUR", "£": "GBP", "¥": "JPY", "₹": "INR"}
CODES = "USD|EUR|GBP|JPY|CHF|CNY|INR|CAD|AUD|SEK|NOK|DKK|PLN|CZK|BRL|MXN|KRW"

_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
_NUMBER = r"\d++(?:[.,'’\u00a0\u202f]\d\d*+)*+"
_NEAR = r"[\w./#-]{0,64}"
"""So far ahead the digit or letter of an identifier is looked for: without a bound, a long text
without spaces would be gone over again from each of its words."""
_LIST_MARK = re.compile(r"^[ \t]*(?:\d{1,3}[.)]|[-*•])[ \t]+", re.MULTILINE)
_PATTERNS: tuple[tuple[str, str], ...] = (
    ("link", r"(?:https?|ftp)://[^\s<>\"'`]+|www\.[^\s<>\"'`]+"),
    ("mail", r"(?<![\w.+-])[\w.+-]{1,64}+@[\w-]++(?:\.[\w-][\w-]*+)++"),
    ("quoted", r"\"[^\"\n]{1,80}\"|“[^”\n]{1,80}”|„[^“”\n]{1,80}[“”]|«[^»\n]{1,80}»|`[^`\n]{1,80}`"
               r"|(?<![\w'])'[^'\n]{1,80}'(?!\w)"),
    ("date", r"(?<![\d.])\d{4}-\d{2}-\d{2}(?!\d)"),
    ("date_dotted", r"(?<![\d.])\d{1,2}\.\d{1,2}\.\d{4}(?!\d)"),
    ("date_slashed", r"(?<![\d/])\d{1,2}/\d{1,2}/\d{2,4}(?![\d/])"),
    ("date_named", rf"(?i:\b\d{{1,2}}(?:st|nd|rd|th)?\.? (?:of )?{_MONTH},?(?: \d{{4}})?\b"
                   rf"|\b{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?(?:,? \d{{4}})?\b)"),
    ("time", r"(?i:(?<![\d:])\d{1,2}:\d{2}(?::\d{2})?(?: ?[ap]\.?m\b\.?)?(?![\d:]))"),
    ("amount", rf"(?:[$€£¥₹]|\b(?:{CODES})) ?-?{_NUMBER}|{_NUMBER} ?(?:[$€£¥₹]|(?:{CODES})\b)"),
    ("identifier", rf"\b(?={_NEAR}?\d)(?={_NEAR}?[^\W\d])\w++(?:[-_/.#:]\w\w*+)*+"
                   r"|\b_*+[^\W_]++(?:_\w\w*+)++"),
    ("number", rf"(?<![\w.])[-−]?{_NUMBER}|{_NUMBER}"),
)  # fmt: skip
_FACT = re.compile("|".join(f"(?P<{name}>{pattern})" for name, pattern in _PATTERNS))
_UNIT = re.compile(rf"({_NUMBER})([^\W\d_]{{1,3}}|%)\Z")


@dataclass(frozen=True, slots=True, order=True)
class Fact:
    """`kind` is one of number, amount, date, time, identifier, link, quoted; `value` normalised."""

    kind: str
    value: str


def facts(text: str) -> dict[Fact, str]:
    """The facts of a text, each with the words it was written in first."""
    found: dict[Fact, str] = {}
    for match in _FACT.finditer(_LIST_MARK.sub("", text)):
        written = match[0]
        for fact in _READERS[match.lastgroup or "number"](written):
            found.setdefault(fact, written.strip())
    return found


def _kept(text: str) -> dict[Fact, str]:
    """Of a pair of texts both are asked for twice, and the recorded one by each model's answer."""
    return _facts(text) if len(text) <= KEPT_TEXT else facts(text)


_facts = lru_cache(64)(facts)
KEPT_TEXT = 10_000


def only_in(ours: str, theirs: str) -> list[str]:
    """The facts of `ours` that `theirs` does not have, as written."""
    other = _kept(theirs)
    plain = theirs.casefold()
    return [
        written
        for fact, written in _kept(ours).items()
        if fact not in other and not (fact.kind == "quoted" and fact.value in plain)
    ]


def number(written: str) -> str:
    """A number's value as text: `1,234.50`, `1.234,50` and `1234.5` are one."""
    digits = re.sub(r"['’\u00a0\u202f]", "", written.replace("−", "-"))
    comma, dot = digits.rfind(","), digits.rfind(".")
    if comma >= 0 and dot >= 0:
        digits = digits.replace("," if dot > comma else ".", "").replace(",", ".")
    elif digits.count(",") > 1 or re.search(r"^-?[1-9]\d{0,2},\d{3}$", digits):
        digits = digits.replace(",", "")
    elif digits.count(".") > 1:
        return digits
    else:
        digits = digits.replace(",", ".")
    try:
        value = Decimal(digits)
    except InvalidOperation:
        return digits
    return format(value.normalize(), "f") if value else "0"


def _link(written: str) -> Iterator[Fact]:
    yield Fact("link", written.rstrip(".,;:!?)]}").rstrip("/"))


def _mail(written: str) -> Iterator[Fact]:
    yield Fact("link", written.casefold())


def _quoted(written: str) -> Iterator[Fact]:
    yield Fact("quoted", " ".join(written[1:-1].split()).strip(".,;:!?").casefold())


def _iso(written: str) -> Iterator[Fact]:
    yield Fact("date", written)


def _dotted(written: str) -> Iterator[Fact]:
    day, month, year = written.split(".")
    yield Fact("date", f"{year}-{month:0>2}-{day:0>2}")


def _slashed(written: str) -> Iterator[Fact]:
    yield Fact("date", "/".join(part.lstrip("0") for part in written.split("/")))


def _named(written: str) -> Iterator[Fact]:
    words = re.findall(r"[a-z]+|\d+", re.sub(r"(\d)(st|nd|rd|th)", r"\1", written.lower()))
    month = next(w[:3] for w in words if w[:3] in MONTHS)
    numbers = [w for w in words if w.isdigit()]
    day = f"{MONTHS.index(month) + 1:02}-{int(numbers[0]):02}"
    yield Fact("date", f"{numbers[1]}-{day}" if len(numbers) > 1 else f"--{day}")


def _time(written: str) -> Iterator[Fact]:
    lowered = written.lower()
    hour, *rest = re.findall(r"\d+", lowered)
    half = "p" in lowered, "a" in lowered
    value = int(hour) % 12 + 12 * half[0] if any(half) else int(hour)
    yield Fact("time", ":".join([f"{value:02}", *rest]))


def _amount(written: str) -> Iterator[Fact]:
    digits = re.search(rf"-?{_NUMBER}", written)
    assert digits is not None
    mark = re.sub(rf"-?{_NUMBER}| ", "", written)
    yield Fact("amount", f"{number(digits[0])} {SYMBOLS.get(mark, mark)}")


def _identifier(written: str) -> Iterator[Fact]:
    unit = _UNIT.match(written)
    if unit:
        yield Fact("number", number(unit[1]))
    else:
        yield Fact("identifier", written)


def _number(written: str) -> Iterator[Fact]:
    yield Fact("number", number(written))


_READERS: dict[str, Callable[[str], Iterator[Fact]]] = {
    "link": _link,
    "mail": _mail,
    "quoted": _quoted,
    "date": _iso,
    "date_dotted": _dotted,
    "date_slashed": _slashed,
    "date_named": _named,
    "time": _time,
    "amount": _amount,
    "identifier": _identifier,
    "number": _number,
}
