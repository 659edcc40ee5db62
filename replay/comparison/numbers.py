"""Numbers in a text: plain, of money, and of a measure, each by what it is worth. Pure.

What cannot be told is not guessed: `1.000` is a thousand in one country and one in another, so it
is only itself, and so are `0042`, which may name something, and `Python 3.10`, which is not 3.1.
"""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation

NUMBER = r"\d++(?:[.,'’\u00a0\u202f]\d\d*+)*+"
SCIENTIFIC = r"(?<![\w.])(?:(?<![\w.])[-−])?\d{1,20}(?:\.\d{1,20})?[eE][+-]?\d{1,2}(?![\w-])"
_SIGN = r"(?:(?<![\w.])[-−])?"

_SYMBOLS = {"$": "USD", "US$": "USD", "€": "EUR", "£": "GBP", "¥": "JPY", "₹": "INR", "C$": "CAD",
            "CA$": "CAD", "A$": "AUD", "AU$": "AUD", "R$": "BRL", "₩": "KRW"}  # fmt: skip
_WORDS = {"dollar": "USD", "euro": "EUR", "pound": "GBP", "rupee": "INR", "yen": "JPY"}
_CODES = "USD|EUR|GBP|JPY|CHF|CNY|INR|CAD|AUD|SEK|NOK|DKK|PLN|CZK|BRL|MXN|KRW"
_SYMBOL = r"(?:(?:\b(?:US|CA|AU|NZ|HK|[ACRS]))?\$|[£¥\u20a0-\u20cf])"
_MONEY = rf"{_SYMBOL}|(?:{_CODES})\b|(?i:dollars?|euros?|pounds?|rupees?|yen)\b"

_LARGE = {"k": 3, "thousand": 3, "m": 6, "mn": 6, "million": 6, "b": 9, "bn": 9, "billion": 9,
          "trillion": 12}  # fmt: skip
_TIMES = r"(?: ?(?i:thousand|million|billion|trillion)| ?(?:mn|bn)|[kKM])\b"
_TIMES_OF_MONEY = rf"(?:{_TIMES}|[mbB]\b)"

_UNITS = {
    "%": ("percent", "per cent"),
    "mg": ("milligram", "milligrams"),
    "g": ("gram", "grams"),
    "kg": ("kilogram", "kilograms", "kilo", "kilos"),
    "lb": ("lbs",),
    "oz": ("ounce", "ounces"),
    "mm": ("millimeter", "millimeters", "millimetre", "millimetres"),
    "cm": ("centimeter", "centimeters", "centimetre", "centimetres"),
    "m": ("meter", "meters", "metre", "metres"),
    "km": ("kilometer", "kilometers", "kilometre", "kilometres"),
    "mi": ("mile", "miles"),
    "ft": ("foot", "feet"),
    "ml": ("milliliter", "milliliters", "millilitre", "millilitres"),
    "l": ("L", "liter", "liters", "litre", "litres"),
    "ms": ("millisecond", "milliseconds"),
    "s": ("sec", "secs", "second", "seconds"),
    "min": ("mins", "minute", "minutes"),
    "h": ("hr", "hrs", "hour", "hours"),
    "d": ("day", "days"),
    "wk": ("week", "weeks"),
    "mo": ("month", "months"),
    "yr": ("yrs", "year", "years"),
    "KB": ("kB",),
    "MB": (),
    "GB": (),
    "TB": (),
    "°C": (),
    "°F": (),
}
_UNIT_OF = {name: unit for unit, names in _UNITS.items() for name in (unit, *names)}
_KNOWN = "|".join(sorted(map(re.escape, _UNIT_OF), key=len, reverse=True))
_COUNTING = ("st", "nd", "rd", "th", "x")
"""Letters behind a number that say how it counts, and measure nothing."""

AMOUNT = (
    rf"{_SIGN}(?:{_SYMBOL}|\b(?:{_CODES})) ?[-−]?{NUMBER}{_TIMES_OF_MONEY}?"
    rf"|{_SIGN}{NUMBER}{_TIMES_OF_MONEY}? ?(?:{_MONEY})"
)
MEASURE = (
    rf"{_SIGN}{NUMBER}(?:{_TIMES}|(?:°[CF]|[^\W\d_]{{1,3}})(?![-_/#:]?\w)"
    rf"| ?%|[ -](?:{_KNOWN})(?!\w))"
)
RANGE = rf"{NUMBER}(?: ?%)?(?: ?[-–—] ?| to ){NUMBER} ?(?:%|per ?cent\b)"
_COUNTED = (r"(?i:versions?|ver|releases?|revision|rev|build|sections?|chapters?|clauses?|articles?"
            r"|paragraphs?|appendix|figure|table|steps?)\b[.:]?|§")  # fmt: skip
_NAMED = (r"(?i:python|node(?:\.js)?|java|javascript|typescript|ruby|php|django|rails|react|angular"
          r"|ubuntu|debian|fedora|windows|macos|ios|android|linux|postgres(?:ql)?|mysql|mariadb"
          r"|sqlite|mongodb|redis|kafka|kubernetes|docker|terraform|openssl|tls|http|usb|bluetooth"
          r"|pytorch|tensorflow|numpy|pandas|chrome|firefox|safari|claude|gemini|llama|gpt)\b"
          r"|\b(?:Go|Rust|Swift|Vue)\b|(?<=[a-z,;(] )[A-Z][A-Za-z]{1,30}")  # fmt: skip
VERSION = (
    rf"(?=[A-Za-z.§]{{1,32}}+:? ?\d)(?:{_COUNTED}|{_NAMED}) ?\d++(?:\.\d\d*+)++"
    rf"(?![\w%°]|[-_/:,'’]\w| ?%|{_TIMES_OF_MONEY}| ?(?:{_MONEY})|[ -](?:{_KNOWN})(?!\w))"
)
"""What counts what has a number and a part of it (`version 1.10`, `Python 3.10`): no zero at its
end says nothing. Before a unit or a currency it is a number all the same. (Most words have no digit
behind them, and are left at once.)"""
_PARTS = re.compile(rf"(?P<before>[^\d]*)(?P<digits>{NUMBER})(?P<after>.*)", re.S)
_LARGE_FIRST = re.compile(rf"({_TIMES})?(.*)", re.S)
_LARGE_MONEY_FIRST = re.compile(rf"({_TIMES_OF_MONEY})?(.*)", re.S)


def number(written: str) -> str:
    """A number's value as text: `1,234.50`, `1.234,50` and `1234.5` are one. What is neither (a
    list without blanks, feet and inches) is only itself."""
    digits = written.replace("−", "-")
    if re.fullmatch(r"-?(?:0\d{2,}|[1-9]\d{0,2}\.\d{3})", digits):
        return digits
    sign, digits = digits[: digits.startswith("-")], digits.lstrip("-")
    groups, marks = re.split(r"\D", digits), re.findall(r"\D", digits)
    fraction = ""
    if (
        marks
        and marks[-1] in ".,"
        and (marks.count(marks[-1]) == 1)
        and not _is_large(groups, marks)
    ):
        fraction = f".{groups.pop()}"
        marks.pop()
    if marks and ((set(marks) == {"."} and not fraction) or not _is_large(groups, marks)):
        return sign + digits
    return plain(Decimal(f"{sign}{''.join(groups)}{fraction}"))


def _is_large(groups: list[str], marks: list[str]) -> bool:
    """Whether digits stand in groups of thousands, or as in India in twos before the last three."""
    first, *middle, last = groups if len(groups) > 1 else ("", "")
    sizes = {len(group) for group in middle}
    return (
        len(set(marks)) == 1
        and len(last) == 3
        and 0 < len(first) <= 3
        and first[0] != "0"
        and (sizes <= {3} or (marks[0] == "," and sizes == {2}))
    )


def plain(value: Decimal) -> str:
    """All its digits, and no zero that says nothing. (To normalise would round to 28 digits.)"""
    text = format(value, "f")
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text in ("-0", "") else text


def amount(written: str) -> str:
    """`€49.90` and `49.90 EUR` are one, and so are `$1.5M` and `1,500,000 dollars`."""
    value, before, after = _parts(written, _LARGE_MONEY_FIRST)
    return f"{value} {_currency(before + after)}"


def _currency(mark: str) -> str:
    symbol = re.search(_SYMBOL, mark)
    if symbol:
        return _SYMBOLS.get(symbol[0], symbol[0])
    return next((of for word, of in _WORDS.items() if word in mark.lower()), mark)


def measure(written: str) -> tuple[str, str]:
    """The number and its unit, empty of none: `5 kg` and `5 kilograms` are one."""
    value, _, unit = _parts(written, _LARGE_FIRST)
    return value, "" if unit in _COUNTING else _UNIT_OF.get(unit, unit)


def _parts(written: str, large: re.Pattern[str]) -> tuple[str, str, str]:
    """The value, and what stands before and behind it."""
    found = _PARTS.fullmatch(written)
    assert found is not None
    before = found["before"].replace("−", "-")
    value = number(("-" if "-" in before else "") + found["digits"])
    behind = large.fullmatch(found["after"])
    assert behind is not None
    if behind[1]:
        value = _times(value, _LARGE[behind[1].strip().lower()])
    return value, before.strip("- "), behind[2].strip("- ")


def _times(value: str, zeros: int) -> str:
    try:
        return plain(Decimal(f"{value}e{zeros}"))
    except InvalidOperation:
        return f"{value}e{zeros}"


def scientific(written: str) -> str:
    """`1e3` is `1000`."""
    return plain(Decimal(written.replace("−", "-")))


def respelled(written: str) -> str:
    """The same words with the number in them by its value."""
    found = _PARTS.fullmatch(written)
    if found is None:
        return written
    before, value = found["before"].replace("−", "-"), number(found["digits"])
    if value == "0":
        before = before.replace("-", "")
    return before + value + found["after"]


def ranged(written: str) -> tuple[str, str]:
    """Both ends of a range, of which the unit stands behind the second."""
    first, second = re.findall(NUMBER, written)
    return number(first), number(second)


def all_respelled(written: str) -> str:
    """The same words with all numbers in them by their values."""
    return re.sub(NUMBER, lambda found: number(found[0]), written)
