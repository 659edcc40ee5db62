"""JSON for the eye, exact to the digit: numbers keep the text they were sent with.

`json` alone turns `1e2` into 100.0 and refuses integers past 4,300 digits; a page that shows a
recording must do neither.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from json.encoder import encode_basestring
from typing import Any

import msgspec

from rewyn_sdk.exact import Precise
from runs.formats.jsonbytes import MAX_DEPTH, depth_exceeds

INDENT = "  "
MOST_INDENTED = 64 * 1024 * 1024
"""Characters that are made of a record to show its start."""
_string = encode_basestring
"""What `json.dumps(…, ensure_ascii=False)` does with a text."""


class Number(float):
    """A number that remembers how it was written."""

    text: str

    def __new__(cls, text: str) -> "Number":
        number = super().__new__(cls, text)
        number.text = text
        return number


@dataclass(frozen=True, slots=True)
class Shown:
    """What of a text is on the page. `size` counts the whole in characters (`cut`: more exists)."""

    text: str
    size: int
    cut: bool


def loads(data: bytes | str) -> Any:
    """Decode JSON, keeping each number's digits. Raises ValueError for what is no JSON."""
    text = data.decode("utf-8", "replace") if isinstance(data, bytes) else data
    try:
        return json.loads(text, parse_float=Number, parse_int=_integer, parse_constant=_refuse)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _integer(text: str) -> int | Number:
    # "-0" would lose its sign, and int() refuses texts of more than 4,300 digits.
    return int(text) if len(text) < 4000 and text != "-0" else Number(text)


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")


def number(value: object) -> str:
    """A JSON number as it was written; empty for anything else."""
    if isinstance(value, Number | Precise):
        return value.text
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else ""


def same(a: object, b: object) -> bool:
    """Equal as JSON, digits included: 1 is not 1.0, and true is not 1."""
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, Number) and isinstance(b, Number):
        return a.text == b.text
    return type(a) is type(b) and a == b


@dataclass(frozen=True, slots=True)
class Indented:
    """A value as indented JSON, piece by piece, as often as one wants."""

    value: object

    def __iter__(self) -> Iterator[str]:
        return _pieces(self.value, indented=True)


def pretty(value: object, limit: int) -> Shown:
    """`value` as indented JSON of at most `limit` characters; `size` counts all of that text."""
    taken: list[str] = []
    length = 0
    for piece in Indented(value):
        taken.append(piece)
        length += len(piece)
        if length > limit:
            return Shown("".join(taken)[:limit], _length(value), True)
    return Shown("".join(taken), length, False)


def compact(value: object) -> str:
    return "".join(_pieces(value, indented=False))


def _pieces(value: object, *, indented: bool) -> Iterator[str]:
    """A value's JSON in order. Without recursion, which costs a frame a level for each piece."""
    margins = ["\n"] if indented else [""]
    open_ones: list[tuple[Iterator[tuple[str, Any]], str]] = []
    before, is_first = "", True
    while True:
        if isinstance(value, dict | list) and value:
            start, end = "{}" if isinstance(value, dict) else "[]"
            yield before + start
            open_ones.append((_members(value), end))
            margins.append(margins[-1] + (INDENT if indented else ""))
            is_first = True
        else:
            yield before + _scalar(value)
        while open_ones:
            found = next(open_ones[-1][0], None)
            if found is not None:
                key, value = found
                before = ("" if is_first else ",") + margins[-1] + key
                is_first = False
                break
            margins.pop()
            yield margins[-1] + open_ones.pop()[1]
            is_first = False
        else:
            return


def _members(value: dict[Any, Any] | list[Any]) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        return ((_string(str(key)) + ": ", member) for key, member in value.items())
    return (("", member) for member in value)


def _scalar(value: object) -> str:
    if isinstance(value, str):
        return _string(value)
    if isinstance(value, dict | list):
        return "{}" if isinstance(value, dict) else "[]"
    return number(value) or json.dumps(value, default=str)


def _length(value: object) -> int:
    """How long the indented text of a value is, by counting: deep values are mostly margins."""
    total = 0
    waiting: list[tuple[object, int]] = [(value, 0)]
    while waiting:
        one, margin = waiting.pop()
        if not isinstance(one, dict | list) or not one:
            total += len(_scalar(one))
            continue
        inner = margin + len(INDENT)
        total += 2 + len(one) * (inner + 2) + margin
        if isinstance(one, dict):
            total += sum(len(_string(str(key))) + 2 for key in one)
        waiting.extend(
            (member, inner) for member in (one.values() if isinstance(one, dict) else one)
        )
    return total


_TOKEN = re.compile(
    rb'(?P<string>"(?:[^"\\]|\\.)*")|(?P<open>[{\[])|(?P<close>[}\]])'
    rb"|(?P<comma>,)|(?P<colon>:)|(?P<space>[ \t\r\n]+)|(?P<atom>[^\s{}\[\],:\"]+)|(?P<odd>.)",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of re-indented JSON: `kind` is key, string, number, literal or mark (the rest)."""

    kind: str
    text: str


def reindent(data: bytes, limit: int) -> tuple[list[Token], bool]:
    """The recorded bytes with fresh white space between the tokens and nothing else changed:
    digits, escapes, doubled keys and key order stay. Also says whether all of it is there.
    """
    tokens: list[Token] = []
    depth = length = 0
    fresh = False  # just behind an opening bracket
    for match in _TOKEN.finditer(data):
        kind = match.lastgroup or "odd"
        if kind == "space":
            continue
        depth -= kind == "close"
        if (fresh and kind != "close") or (kind == "close" and not fresh):
            tokens.append(Token("mark", "\n" + INDENT * max(depth, 0)))
            length += len(tokens[-1].text)
        depth += kind == "open"
        fresh = kind in ("open", "comma")
        token = _token(kind, match[0], tokens)
        if length + len(token.text) > limit:
            return [*tokens, Token(token.kind, token.text[: limit - length])], False
        tokens.append(token)
        length += len(token.text)
    return tokens, True


def is_roomy(data: bytes) -> bool:
    """Whether indenting would take more than memory should hold: what nests deeply has hundreds of
    blanks before each value, and a value may be two bytes."""
    parts = data.count(b",") + data.count(b"[") + data.count(b"{")
    margin = (MOST_INDENTED - len(data)) // (len(INDENT) * max(parts, 1))
    return margin < MAX_DEPTH and depth_exceeds(data, max(margin, 0))


def indented(data: bytes, limit: int) -> Shown:
    """`reindent` as one text, a hundred times faster where the bytes are sound JSON."""
    if is_roomy(data):
        tokens, whole = reindent(data, limit)
        return Shown("".join(token.text for token in tokens)[:limit], len(data), not whole)
    try:
        text = msgspec.json.format(data, indent=len(INDENT)).decode("utf-8", "replace")
    except (msgspec.DecodeError, RecursionError):
        tokens, whole = reindent(data, limit)
        return Shown("".join(token.text for token in tokens)[:limit], len(data), not whole)
    return Shown(text[:limit], len(data), len(text) > limit)


def _token(kind: str, raw: bytes, before: list[Token]) -> Token:
    text = raw.decode("utf-8", "replace")
    if kind == "colon":
        _name_key(before)
        return Token("mark", ": ")
    if kind == "atom":
        kind = "literal" if text in ("true", "false", "null") else "number"
    return Token(kind if kind in ("string", "literal", "number") else "mark", text)


def _name_key(before: list[Token]) -> None:
    if before and before[-1].kind == "string":
        before[-1] = Token("key", before[-1].text)
