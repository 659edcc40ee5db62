"""Reading decoded JSON that nobody promised a shape for: each getter answers with an empty value
instead of failing, so that no record can break the page that shows it."""

import re
from hashlib import blake2b
from math import isfinite
from typing import Any
from unicodedata import category

from runs.messages import exact, otlp

_OPENED = 2_000_000
"""Characters up to which a pointer may lead into the JSON that a text holds."""
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
_FILLERS = "\u115f\u1160\u2800\u3164\uffa0"
"""Letters and signs by their category that have no ink."""
_SPACE = re.compile(r"\s+")


def obj(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def items(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def text(value: object) -> str:
    return value if isinstance(value, str) else ""


def number(value: object) -> float | None:
    """A number as a float; None for anything else, and for one that no float holds."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        found = float(value)
    except OverflowError:  # a whole number may have any number of digits
        return None
    return found if isfinite(found) else None


def pick(value: object, *path: str) -> Any:
    """The member at `path`, or None where any step of it is missing or no object."""
    for key in path:
        value = obj(value).get(key)
    return value


def named(members: dict[str, Any], *names: str) -> tuple[str, Any]:
    """The first of `names` that is there and not null, with its value; (last name, None) else."""
    found = ((name, members[name]) for name in names if members.get(name) is not None)
    return next(found, (names[-1], None))


def clean(value: str) -> str:
    """`value` fit for a page or a text column: controls become their pictures (NUL is ␀, ESC is ␛),
    lone surrogates and C1 controls the replacement character."""
    return _CONTROL.sub(_picture, value)


def is_blank(value: str) -> bool:
    """Whether nothing of `value` is seen: white space, marks for direction, joiners, fillers."""
    return all(category(one)[0] in "ZCM" or one in _FILLERS for one in value)


def _picture(match: re.Match[str]) -> str:
    code = ord(match[0])
    return chr(0x2400 + code) if code < 0x20 else "␡" if code == 0x7F else "\ufffd"


def cut_name(value: str, limit: int) -> str:
    """A name fit for a column of `limit` characters. A longer one keeps its start, an ellipsis and
    the hash of the whole, so that two of them stay two."""
    if len(value) <= limit:
        return value if value.isprintable() else clean(value)
    whole = blake2b(value.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()
    return f"{clean(value[: limit - len(whole) - 1])}…{whole}"


def one_line(value: str, limit: int) -> str:
    """`value` on one line of at most `limit` characters; an ellipsis says that there is more."""
    # A line needs only its first characters: a 20 MB text must not be copied for it.
    head = value[: limit + 1]
    if head.isprintable() and "  " not in head and head[:1] != " ":  # most are: spare them the rest
        return head.rstrip() if len(head) <= limit else head[: limit - 1].rstrip() + "…"
    start = _SPACE.sub(" ", clean(value[: limit * 8])).strip()
    cut = len(start) > limit or len(value) > limit * 8
    return start[: limit - 1].rstrip() + "…" if cut else start


def plural(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def _inside(value: object) -> object:
    if not isinstance(value, str) or len(value) > _OPENED:
        return value
    try:
        return exact.loads(value)
    except ValueError:
        return None


def escape(key: str) -> str:
    """An object key as a step of a JSON pointer (RFC 6901)."""
    return key.replace("~", "~0").replace("/", "~1")


def at(document: object, pointer: str) -> Any:
    """The value at a JSON pointer, which may lead on into JSON that a text holds, and to a span's
    attribute by its key. Raises KeyError where there is none."""
    value = document
    for step in pointer.split("/")[1:] if pointer else []:
        key = step.replace("~1", "/").replace("~0", "~")
        value = _inside(value)
        if isinstance(value, dict):
            value = value[key]
        elif isinstance(value, list) and key.isdecimal() and int(key) < len(value):
            value = value[int(key)]
        elif (named := otlp.opened(value)) is not None:
            value = named[key]
        else:
            raise KeyError(pointer)
    return value
