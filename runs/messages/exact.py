"""JSON for the eye, exact to the digit: numbers keep the text they were sent with.

`json` alone turns `1e2` into 100.0 and refuses integers past 4,300 digits; a page that shows a
recording must do neither.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import msgspec

INDENT = "  "


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
    if isinstance(value, Number):
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


def pretty(value: object, limit: int) -> Shown:
    """`value` as indented JSON of at most about `limit` characters."""
    taken: list[str] = []
    length = 0
    for piece in _pieces(value, ""):
        taken.append(piece)
        length += len(piece)
        if length > limit:
            return Shown("".join(taken)[:limit], len(compact(value)), True)
    text = "".join(taken)
    return Shown(text, len(text), False)


def compact(value: object) -> str:
    return "".join(_pieces(value, None))


def _pieces(value: object, margin: str | None) -> Iterator[str]:
    if isinstance(value, dict):
        members = ((_string(str(key)) + ": ", member) for key, member in value.items())
        yield from _container("{", "}", members, margin)
    elif isinstance(value, list):
        yield from _container("[", "]", (("", member) for member in value), margin)
    elif isinstance(value, str):
        yield _string(value)
    else:
        yield number(value) or json.dumps(value, default=str)


def _container(
    start: str, end: str, members: Iterator[tuple[str, Any]], margin: str | None
) -> Iterator[str]:
    inner = None if margin is None else margin + INDENT
    empty = True
    yield start
    for key, member in members:
        yield "" if empty else ","
        yield "" if inner is None else "\n" + inner
        yield key
        yield from _pieces(member, inner)
        empty = False
    yield end if empty or margin is None else f"\n{margin}{end}"


def _string(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)


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
        depth += kind == "open"
        fresh = kind in ("open", "comma")
        token = _token(kind, match[0], tokens)
        if length + len(token.text) > limit:
            return [*tokens, Token(token.kind, token.text[: limit - length])], False
        tokens.append(token)
        length += len(token.text)
    return tokens, True


def indented(data: bytes, limit: int) -> Shown:
    """`reindent` as one text, a hundred times faster where the bytes are sound JSON."""
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
