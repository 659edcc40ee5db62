"""JSON as bytes: cut into members without touching them, checked, and read.

The rules are those of `rewyn_sdk.jsontext` (one corpus of tests runs through both): the last of a
doubled key wins, a lone surrogate and a NUL are taken, integers have any number of digits, nesting
goes to `MAX_DEPTH`. NaN and infinities are no JSON and are refused.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from itertools import accumulate
from typing import Any, TypeVar

import msgspec
from msgspec import Raw

from rewyn_sdk.canonical import canonical_bytes, number_text
from rewyn_sdk.errors import EncodeError
from runs.refusals import Refused

MAX_DEPTH = 256
"""Nesting the SDK reads back; a record nested deeper is refused."""

MAX_PARTS = 10_000_000
"""Values of one text, as its commas tell."""
MAX_SHORT_PARTS = 1_000_000
"""So many are too many where each takes less than `_SHORT` bytes."""
_SHORT = 6

T = TypeVar("T")
Piece = bytes | Raw
_any = msgspec.json.Decoder()
_members = msgspec.json.Decoder(dict[str, Raw])
_items = msgspec.json.Decoder(list[Raw])

_ESCAPE = re.compile(rb"\\(?:u([0-9a-fA-F]{4})|.)", re.DOTALL)
# Possessive, and content without a closing quote: no text, valid or not, is gone over twice.
_TEXT = rb'"(?:[^"\\]++|\\.)*+"?'
_STRING = re.compile(_TEXT, re.DOTALL)
_STRING_OR_BRACKET = re.compile(_TEXT + rb"|[\[{]|[\]}]", re.DOTALL)
_STRING_OR_SPACE = re.compile(_TEXT + rb"|[ \t\r\n]+", re.DOTALL)
_NOT_A_BRACKET = bytes(set(range(256)) - set(b"[]{}"))
_AS_SQUARE = bytes.maketrans(b"{}", b"[]")
_AS_STEPS = bytes.maketrans(b"[]", b"\x01\xff")
_STEPS_AT_ONCE = 1 << 16
_EASILY_WALKED, _MOST_WALKED = 500_000, 5_000_000
"""Brackets gone through one by one, in about a second and in ten."""
_ABYSS = 10_000
"""Levels of a text with more than a second's brackets: nothing beside it is looked for."""
_AT_BYTE = re.compile(r" ?\(byte (\d+)\)")
_BOM = b"\xef\xbb\xbf"


class Document:
    """One JSON text of a request, cut into views of the very bytes sent."""

    def __init__(self, data: bytes) -> None:
        self.data = data.removeprefix(_BOM)
        self._stand_in: bytes | None = None
        _check_utf8(self.data)
        if is_crowded(self.data):
            raise Refused("too_many", "The body has too many values.", limit=MAX_PARTS)

    def members(self, piece: Piece | None = None, field: str | None = None) -> dict[str, Raw]:
        """The members of an object (the whole text, or a piece of it), the last of a name wins."""
        found = self._decode(_members, self.data if piece is None else piece, field)
        if self._stand_in is None:
            return found
        return {self._original_name(name): raw for name, raw in found.items()}

    def items(self, piece: Piece, field: str | None = None) -> list[Raw]:
        """The elements of an array of this text."""
        return self._decode(_items, piece, field)

    def original(self, raw: Raw) -> bytes:
        """The bytes of a member or element as they were sent."""
        data = bytes(raw)
        return data.replace(self._stand_in, b"\\u") if self._stand_in else data

    def _original_name(self, name: str) -> str:
        assert self._stand_in is not None
        before, *halves = name.split(self._stand_in.decode())
        return before + "".join(chr(int(half[:4], 16)) + half[4:] for half in halves)

    def _decode(self, decoder: msgspec.json.Decoder[T], piece: Piece, field: str | None) -> T:
        try:
            return self._attempt(decoder, piece)
        except msgspec.ValidationError:
            kind = "an object" if decoder is _members else "a list"
            raise Refused("invalid", f"Expected {kind}.", field) from None
        except msgspec.DecodeError as error:
            raise _malformed(bytes(piece), str(error)) from None

    def _attempt(self, decoder: msgspec.json.Decoder[T], piece: Piece) -> T:
        try:
            return decoder.decode(piece)
        except RecursionError:
            return self._attempt(decoder, _flattened(bytes(piece)))
        except msgspec.ValidationError:
            raise
        except msgspec.DecodeError:
            data = bytes(piece)
            if not _has_surrogate_escape(data):
                raise
            self._stand_in = self._stand_in or _unused_pair(self.data)
            return decoder.decode(_without_lone_surrogates(data, self._stand_in))


def read(data: bytes) -> Any:
    """The value of one JSON text, for looking at. Refused("malformed") if it is none."""
    try:
        return _any.decode(data)
    except (msgspec.DecodeError, RecursionError):
        return read_exactly(data)


def read_finite(data: bytes) -> Any:
    """As `read`, but a number that no float holds is a text of its digits."""
    try:
        return _any.decode(data)
    except (msgspec.DecodeError, RecursionError):
        return read_exactly(data, number=_finite)


def _finite(digits: str) -> int | float | str:
    value = _integer(digits)
    return digits if value in (math.inf, -math.inf) else value


def read_exactly(data: bytes, pairs: Any = None, number: Any = None) -> Any:
    """As `read`, by the standard library: every digit kept, lone surrogates as they are.

    `pairs` makes something else of each object's members, `number` of each number's digits.
    """
    try:
        return _loads(data, pairs, number)
    except json.JSONDecodeError as error:
        raise _malformed(data, f"{error.msg} (byte {error.pos})") from None
    except RecursionError:
        raise Refused("too_deep", "The JSON is nested too deeply.") from None


def _loads(data: bytes, pairs: Any, number: Any) -> Any:
    text = data.decode()
    try:
        return json.loads(
            text,
            object_pairs_hook=pairs,
            parse_constant=_no_constant,
            parse_float=number,
            parse_int=number,
        )
    except json.JSONDecodeError:
        raise
    except ValueError:  # more digits than int() takes
        return json.loads(
            text, object_pairs_hook=pairs, parse_constant=_no_constant, parse_int=_integer
        )


def _no_constant(name: str) -> Any:
    raise json.JSONDecodeError(f"{name} is no JSON", name, 0)


def _integer(digits: str) -> int | float:
    try:
        return int(digits)
    except ValueError:
        return float(digits)


def canonical(data: bytes) -> bytes:
    """The canonical form of a JSON text, but other for other digits: a number that the form would
    write differently stands in it as a text of its digits behind a NUL. Refused if it is no JSON.
    """
    try:
        return canonical_bytes(read_exactly(data, number=_by_digits))
    except EncodeError:
        raise Refused("too_deep", "The JSON is nested too deeply.") from None


def _by_digits(digits: str) -> int | float | str:
    value = _integer(digits) if digits.lstrip("-").isdigit() else float(digits)
    return value if number_text(value) == digits else f"\0{digits}"


def depth_exceeds(data: bytes, limit: int) -> bool:
    """Whether the JSON text nests deeper than `limit`; about memory speed for ordinary records."""
    if data.count(b"[") + data.count(b"{") <= limit:
        return False
    brackets = _STRING.sub(b"", data).translate(_AS_SQUARE, _NOT_A_BRACKET)
    for level in range(limit):
        outer = brackets.replace(b"[]", b"")  # without the innermost level
        if not outer:
            return False
        if len(outer) * 2 > len(brackets):  # few and deep: going on like this would take long
            return _climbs_over(brackets, limit - level)
        brackets = outer
    return bool(brackets)


def is_crowded(data: bytes) -> bool:
    """Whether a JSON text, or lines of it, would become more values than memory should hold.

    A value may be two bytes long and a hundred in memory. Told by the commas between them, or by
    the lines: many in all, or many for so short a text.
    """
    if len(data) <= MAX_SHORT_PARTS:
        return False
    if _are_many(data.count(b"\n"), len(data)):
        return True
    if data.count(b",") <= MAX_SHORT_PARTS:
        return False
    if data.count(b'"') > 2 * MAX_PARTS:
        return True
    return _are_many(_STRING.sub(b"", data).count(b","), len(data))


def _are_many(parts: int, size: int) -> bool:
    return parts > MAX_PARTS or (parts > MAX_SHORT_PARTS and parts * _SHORT > size)


def _climbs_over(brackets: bytes, limit: int) -> bool:
    """Whether more than `limit` of the brackets are ever open at once."""
    depth = 0
    for start in range(0, len(brackets), _STEPS_AT_ONCE):
        steps = brackets[start : start + _STEPS_AT_ONCE].translate(_AS_STEPS)
        depths = list(accumulate(memoryview(steps).cast("b"), initial=depth))
        if max(depths) > limit:
            return True
        depth = depths[-1]
    return False


def doubled_key(data: bytes, value: Any) -> str | None:
    """A key that some object of the text has twice, else None. `value` is what `read` gave."""
    try:
        # Writing the value again keeps each colon inside its strings, so that only a member that
        # was dropped can make the count smaller.
        if msgspec.json.encode(value).count(b":") == data.count(b":"):
            return None
    except (UnicodeEncodeError, msgspec.MsgspecError, ValueError, TypeError):
        pass
    found: list[str] = []

    def look(pairs: list[tuple[str, Any]]) -> None:
        times = Counter(name for name, _ in pairs)
        if len(times) != len(pairs):
            found.append(min(name for name, count in times.items() if count > 1))

    read_exactly(data, look)
    return found[0] if found else None


def minified(data: bytes) -> bytes:
    """The same JSON text on one line: white space between tokens gone, every token as it was."""
    return _STRING_OR_SPACE.sub(lambda m: m[0] if m[0][:1] == b'"' else b"", data)


def _check_utf8(data: bytes) -> None:
    step = 1 << 20
    if len(data) <= step:
        _check_utf8_piece(data, 0)
        return
    start = 0
    while start < len(data):
        end = start + step
        while end < len(data) and data[end] & 0xC0 == 0x80 and end < start + step + 4:
            end += 1
        _check_utf8_piece(data[start:end], start)
        start = end


def _check_utf8_piece(piece: bytes, start: int) -> None:
    try:
        piece.decode()
    except UnicodeDecodeError as error:
        place = start + error.start
        raise Refused(
            "invalid_utf8", f"The body is not UTF-8: byte {place} does not fit.", byte=place
        ) from None


def _malformed(data: bytes, problem: str) -> Refused:
    """The answer to a text that is no JSON, with the place where it stops being one."""
    at = _AT_BYTE.search(problem)
    place = min(int(at[1]), len(data)) if at else len(data)
    line = data.count(b"\n", 0, place) + 1
    column = place - (data.rfind(b"\n", 0, place) + 1) + 1
    what = _AT_BYTE.sub("", problem).removeprefix("JSON is malformed: ")
    return Refused(
        "malformed",
        f"The body is not valid JSON: {what} at line {line}, column {column} (byte {place}).",
        byte=place,
        line=line,
        column=column,
    )


def _flattened(data: bytes) -> bytes:
    """The text with everything nested far beyond the limit blanked; no byte changes its place.

    A value that was blanked is still nested too deeply, so the record it is in is refused.
    Refused("too_deep") where going through the brackets would take long for a hostile text.
    """
    opening = data.count(b"[") + data.count(b"{")
    if opening > _MOST_WALKED or (opening > _EASILY_WALKED and depth_exceeds(data, _ABYSS)):
        raise Refused("too_deep", "The JSON is nested too deeply.")
    out, depth, start, keep = bytearray(data), 0, 0, MAX_DEPTH + 64
    for found in _STRING_OR_BRACKET.finditer(data):
        token = found[0]
        if token in b"[{":
            depth += 1
            if depth == keep:
                start = found.end()
        elif token in b"]}":
            if depth == keep:
                out[start : found.start()] = b" " * (found.start() - start)
            depth -= 1
    if depth >= keep:  # never closed
        out[start:] = b" " * (len(out) - start)
    return bytes(out)


def _has_surrogate_escape(data: bytes) -> bool:
    return b"\\ud" in data or b"\\uD" in data


def _unused_pair(data: bytes) -> bytes:
    """Two bytes, one character, that the text does not have."""
    return next(pair for n in range(0x80, 0x800) if (pair := chr(n).encode()) not in data)


def _without_lone_surrogates(data: bytes, stand_in: bytes) -> bytes:
    """The text with the `\\u` of each lone surrogate replaced by a stand-in as long."""
    out = bytearray(data)
    high: re.Match[bytes] | None = None
    for found in _ESCAPE.finditer(data):
        unit = int(found[1] or b"0", 16)
        joined = high is not None and high.end() == found.start()
        if 0xDC00 <= unit < 0xE000 and joined:
            high = None
            continue
        if high is not None:
            out[high.start() : high.start() + 2] = stand_in
        high = found if 0xD800 <= unit < 0xDC00 else None
        if 0xDC00 <= unit < 0xE000:
            out[found.start() : found.start() + 2] = stand_in
    if high is not None:
        out[high.start() : high.start() + 2] = stand_in
    return bytes(out)


def quoted(text: str) -> bytes:
    """A text as a JSON string."""
    return json.dumps(text, ensure_ascii=True).encode()


def object_of(members: dict[str, bytes]) -> bytes:
    """The members as one JSON object, each value as it came."""
    return b"{" + b",".join(quoted(n) + b":" + data for n, data in members.items()) + b"}"
