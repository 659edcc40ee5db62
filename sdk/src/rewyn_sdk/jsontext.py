"""JSON text to values, twice: as Rig takes it (strict), and as widely as can be told (lenient).

Both parse with the C scanner of the standard library and agree on what a valid text means: `-0`
is the float -0.0, integers stay exact, the last of a doubled key wins. They differ in what they
do with a text Rig would refuse: strict raises, lenient reads on and notes it.

| text                              | strict  | lenient                          |
|-----------------------------------|---------|----------------------------------|
| byte-order mark                   | refused | skipped, noted                   |
| NaN, Infinity, 1e400              | refused | the float, noted                 |
| lone surrogate escape             | refused | a lone surrogate, noted          |
| doubled key                       | marked (`Doubled`) | the last wins, noted  |
| nesting                           | < 128   | <= 256                           |
| text after the end, invalid UTF-8 | refused | refused                          |
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from typing import Any, NoReturn

from rewyn_sdk.errors import DecodeError
from rewyn_sdk.exact import Precise, read_float

STRICT_DEPTH = 127
MAX_DEPTH = 256

_SPACE = re.compile(r"[ \t\n\r]*")
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|.)", re.DOTALL)
_NESTING = re.compile(r'"(?:[^"\\]+|\\.)*"|[\[{]|[\]}]', re.DOTALL)


class Doubled(dict[str, Any]):
    """An object of a strict text with doubled keys; `doubled` names them."""

    doubled: frozenset[str] = frozenset()


def decode_text(data: bytes | bytearray | memoryview | str) -> str:
    """The text of UTF-8 bytes; DecodeError with the place of the first byte that is none."""
    if isinstance(data, str):
        return data
    raw = bytes(data)
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        before = raw[: error.start]
        column = error.start - (before.rfind(b"\n") + 1) + 1
        line = before.count(b"\n") + 1
        raise DecodeError("invalid UTF-8", line=line, column=column) from None


def parse(data: bytes | str, *, strict: bool = False, exact: bool = False) -> Any:
    """The one JSON value of a whole text; DecodeError if it is none. With `exact`, a number that no
    float holds keeps its digits (`exact.Precise`)."""
    return Scanner(decode_text(data), strict=strict, exact=exact).whole()


class Scanner:
    """Reads JSON values out of one text at given places.

    `notes` collects (code, message) of what was tolerated; callers empty it as they please.
    """

    def __init__(self, text: str, *, strict: bool = False, exact: bool = False) -> None:
        self.text = text
        self.strict = strict
        self.exact = exact
        self.notes: list[tuple[str, str]] = []
        self._limit = STRICT_DEPTH if strict else MAX_DEPTH
        self._surrogates = "\\ud" in text or "\\uD" in text
        self._decoder = json.JSONDecoder(
            object_pairs_hook=self._object,
            parse_float=self._float,
            parse_int=self._int,
            parse_constant=self._constant,
        )
        if not text.isascii():
            self._check_characters()

    def whole(self) -> Any:
        """The value that fills the text."""
        value, end = self.value(self.skip(self.start))
        self.end(end)
        return value

    @property
    def start(self) -> int:
        """Where the text begins, behind a byte-order mark."""
        return 1 if self.text.startswith("\ufeff") and not self.strict else 0

    def skip(self, place: int) -> int:
        """The next place that is no white space."""
        return _SPACE.match(self.text, place).end()  # type: ignore[union-attr]

    def peek(self, place: int) -> str:
        """The character at a place, "" at the end."""
        return self.text[place : place + 1]

    def expect(self, character: str, place: int) -> int:
        """The place after `character` and white space; DecodeError if it is not there."""
        if self.peek(place) != character:
            self.fail(f"expected `{character}`", place)
        return self.skip(place + 1)

    def end(self, place: int) -> None:
        """DecodeError unless only white space follows."""
        place = self.skip(place)
        if place != len(self.text):
            self.fail("trailing characters", place)

    def value(self, place: int, *, depth: int = 0) -> tuple[Any, int]:
        """The value that starts at `place`, inside `depth` open brackets, and its end."""
        try:
            value, end = self._decoder.raw_decode(self.text, place)
        except json.JSONDecodeError as error:
            self.fail(error.msg, error.pos)
        except RecursionError:
            self.fail("recursion limit exceeded", place)
        self._check_depth(place, end, depth)
        if self._surrogates and _has_lone_surrogate(self.text, place, end):
            self._tolerate("lone_surrogate", "lone surrogate in a string", place)
        return value, end

    def members(self, place: int, read: Callable[[str, int], int]) -> int:
        """Walk the object at `place`: `read(key, place of its value)` gives the value's end."""
        place = self.expect("{", place)
        if self.peek(place) == "}":
            return place + 1
        while True:
            if self.peek(place) != '"':
                self.fail("key must be a string", place)
            key, place = self.value(place)
            place = self.expect(":", self.skip(place))
            place = self.skip(read(key, place))
            if self.peek(place) == "}":
                return place + 1
            place = self.expect(",", place)

    def items(self, place: int, read: Callable[[int], int]) -> int:
        """Walk the array at `place`: `read(place of an item)` gives the item's end."""
        place = self.expect("[", place)
        if self.peek(place) == "]":
            return place + 1
        while True:
            place = self.skip(read(place))
            if self.peek(place) == "]":
                return place + 1
            place = self.expect(",", place)

    def fail(self, message: str, place: int) -> NoReturn:
        """DecodeError at a place of the text."""
        line = self.text.count("\n", 0, place) + 1
        column = place - (self.text.rfind("\n", 0, place) + 1) + 1
        raise DecodeError(message, line=line, column=column)

    def _tolerate(self, code: str, message: str, place: int) -> None:
        if self.strict:
            self.fail(message, place)
        self.notes.append((code, message))

    def _check_characters(self) -> None:
        if self.text.startswith("\ufeff"):
            self._tolerate("byte_order_mark", "byte-order mark", 0)
        try:
            self.text.encode()
        except UnicodeEncodeError as error:
            self._tolerate("lone_surrogate", "lone surrogate in a string", error.start)

    def _check_depth(self, place: int, end: int, depth: int) -> None:
        text = self.text
        brackets = text.count("[", place, end) + text.count("{", place, end)
        if brackets + depth <= self._limit:
            return
        for found in _NESTING.finditer(text, place, end):
            depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(found.group(), 0)
            if depth > self._limit:
                self.fail("recursion limit exceeded", found.start())

    def _object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        value = dict(pairs)
        if len(value) == len(pairs):
            return value
        names = [name for name, _ in pairs]
        doubled = frozenset(name for name in value if names.count(name) > 1)
        if self.strict:
            value = Doubled(value)
            value.doubled = doubled
        self.notes.append(("doubled_key", f"doubled key {min(doubled)!r}, the last one counts"))
        return value

    def _float(self, text: str) -> float:
        number = read_float(text) if self.exact else float(text)
        if math.isinf(number):
            self._out_of_range(text)
        return number

    def _int(self, text: str) -> int | float:
        if len(text) < 20:
            return -0.0 if text == "-0" else int(text)
        if math.isinf(float(text)):
            self._out_of_range(text)
        try:
            return int(text)
        except ValueError:  # beyond sys.get_int_max_str_digits()
            return Precise(text) if self.exact else float(text)

    def _out_of_range(self, text: str) -> None:
        self._tolerate("out_of_range", "number out of range", max(self.text.find(text), 0))

    def _constant(self, name: str) -> float:
        self._tolerate("not_a_number", f"{name} is no JSON", max(self.text.find(name), 0))
        return float(name)


def _has_lone_surrogate(text: str, start: int, end: int) -> bool:
    """Whether an escape names half a surrogate pair. Only strings hold backslashes in JSON."""
    high_ends_at = -1
    for found in _ESCAPE.finditer(text, start, end):
        unit = int(found.group(1) or "0", 16)
        low = 0xDC00 <= unit < 0xE000
        if low != (high_ends_at == found.start()):
            return True
        if not low and high_ends_at >= 0:
            return True
        high_ends_at = found.end() if 0xD800 <= unit < 0xDC00 else -1
    return high_ends_at >= 0
