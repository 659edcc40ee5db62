"""Numbers whose digits no float holds, and JSON text that keeps them.

Rig reads every number with a point or an exponent as a float, and so do `parse` and the canonical
text: `1e400` and `2e400` are one to them. Whoever asks whether two values are the same reads with
`parse(…, exact=True)` and holds `exact_json` of both against each other. No exponent is ever
written out, so that time and memory grow with the text alone.
"""

from __future__ import annotations

import json
import math
import re
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from typing import Any

from rewyn_sdk.canonical import number_text, write
from rewyn_sdk.encode import write_in_order
from rewyn_sdk.errors import EncodeError

_LONGEST_INT = 4000
"""Digits of an integer that Python reads and writes without a limit in the way."""
_SURELY_HELD = 16
"""Characters of a number without an exponent that a float surely holds: a point and 15 digits."""
_MAY_BE_PRECISE = re.compile(r"[0-9][.e]|Infinity|NaN")
_encode = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode


class Precise(float):
    """A JSON number that a float would change. `text` is how it was written, `worth` its value.

    It is a float to whoever wants one, near by; equal to another of the same worth and nothing
    else, as 1 and 1.0 differ in JSON.
    """

    text: str
    worth: str

    def __new__(cls, text: str) -> Precise:
        number = super().__new__(cls, text)
        number.text = text
        number.worth = worth(text)
        return number

    def __getnewargs__(self) -> tuple[Any]:
        return (self.text,)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Precise) and self.worth == other.worth

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self.worth)


def read_float(text: str) -> float:
    """The number of a JSON text with a point or an exponent, `Precise` where no float has it."""
    number = float(text)
    if len(text) <= _SURELY_HELD and "e" not in text and "E" not in text:
        return number
    held = math.isfinite(number) and worth(text) == worth(repr(number))
    return number if held else Precise(text)


def read_int(text: str) -> float:
    """The number of a JSON text of digits alone."""
    return int(text) if len(text) < _LONGEST_INT else Precise(text)


def worth(text: str) -> str:
    """A decimal number by its value: its figures without zeros at either end, and the exponent of
    the last one. `1.50`, `15e-1` and `1.5` are one."""
    mantissa, _, exponent = text.lower().partition("e")
    whole, _, fraction = mantissa.lstrip("+-").partition(".")
    digits = (whole + fraction).lstrip("0")
    figures = digits.rstrip("0")
    if not figures:
        return "0"
    sign = "-" if mantissa[0] == "-" else ""
    return f"{sign}{figures}e{_moved(exponent, len(digits) - len(figures) - len(fraction))}"


def _moved(exponent: str, by: int) -> str:
    if len(exponent) < _LONGEST_INT:
        return str(int(exponent or 0) + by)
    context = Context(prec=len(exponent) + 30, Emax=MAX_EMAX, Emin=MIN_EMIN)
    return f"{context.add(Decimal(exponent), Decimal(by)):f}"


def worth_of(number: float) -> str:
    """The value of a number as text; of what is no number (NaN, infinities) its name."""
    if isinstance(number, Precise):
        return number.worth
    if isinstance(number, int):
        digits = _digits(number)
        figures = digits.rstrip("0")
        return f"{figures}e{len(digits) - len(figures)}" if figures else "0"
    return worth(repr(number)) if math.isfinite(number) else repr(number)


def is_less(one: float, other: float) -> bool:
    """`one < other`, to the last digit."""
    precise = isinstance(one, Precise), isinstance(other, Precise)
    if not any(precise):
        return one < other
    named = (one, other)[precise[0]]
    if precise != (True, True) and not math.isfinite(named):  # beside NaN and infinities
        return bool(named == math.inf if precise[0] else named == -math.inf)
    return _rank(one) < _rank(other)


def _rank(number: float) -> tuple[int, Decimal, Decimal]:
    """Numbers in their order: by sign, by the place of the first figure, by the figures."""
    value = worth_of(number)
    if value == "0":
        return 0, Decimal(), Decimal()
    figures, _, exponent = value.lstrip("-").partition("e")
    first, size = Decimal(_moved(exponent, len(figures))), Decimal(f"0.{figures}")
    return (-1, first.copy_negate(), size.copy_negate()) if value[0] == "-" else (1, first, size)


def is_whole(number: float) -> bool:
    """Whether a number has no fraction."""
    if isinstance(number, Precise):
        return "e-" not in number.worth
    return isinstance(number, int) or number.is_integer()


def holds_precise(value: Any) -> bool:
    """Whether a number in a JSON value is `Precise`."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        kind = type(one)
        if kind is dict:
            waiting.extend(one.values())
        elif kind is list:
            waiting.extend(one)
        elif kind is Precise:
            return True
    return False


def exact_json(value: Any) -> str:
    """The canonical text of a value, but with numbers to the last digit: other numbers never have
    one text. Where floats and 64 bits hold all numbers, it is `canonical_json`."""
    try:
        text = _encode(value)
    except ValueError:  # an integer of more digits than Python writes
        return write(value, _by_worth)
    except (TypeError, RecursionError) as error:
        raise EncodeError(f"no JSON value: {error}") from None
    if "e-0" in text or (_MAY_BE_PRECISE.search(text) and holds_precise(value)):
        return write(value, _by_worth)
    return text


def _by_worth(number: float) -> str:
    if isinstance(number, Precise):
        return number.worth
    if isinstance(number, int):
        return _digits(number)
    return number_text(number) if math.isfinite(number) else _encode(number)


def _digits(number: int) -> str:
    return str(number) if number.bit_length() < _LONGEST_INT else f"{Decimal(number):f}"


def as_written(value: Any, *, indent: int | None = None) -> str | None:
    """The JSON text of a value, keys in their order, where numbers in it are `Precise`; None where
    any JSON writer has them right."""
    return write_in_order(value, indent, 1, _with_all_digits) if holds_precise(value) else None


def _with_all_digits(number: float) -> str:
    return number.text if isinstance(number, Precise) else _by_worth(number)
