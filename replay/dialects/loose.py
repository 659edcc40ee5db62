"""Reading JSON that somebody else wrote: the wanted type, or its empty value, never an error."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from rewyn_sdk.canonical import number_text
from rewyn_sdk.exact import as_written, read_float, read_int
from runs.usage import MAX_TOKENS

_DOUBTFUL = re.compile(r"e-0[5-9]")


def mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def items(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def text(value: object) -> str:
    return value if isinstance(value, str) else ""


def maybe_text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def count(value: object) -> int | None:
    """A token count by the rule of ``runs.usage``, else ``None``: unknown and not zero."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if type(value) is int and 0 <= value <= MAX_TOKENS else None


def compact_json(value: Any) -> str:
    """JSON without spaces, keys in their order, numbers to the last digit, floats as Rig writes
    them (``1e-7``).

    That is how a recorded JSON tool result was shown to the model.
    """
    if (precise := as_written(value)) is not None:
        return precise
    plain = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return _written(value) if _DOUBTFUL.search(plain) else plain


def _written(value: Any) -> str:
    if isinstance(value, dict):
        members = (f"{json.dumps(k, ensure_ascii=False)}:{_written(v)}" for k, v in value.items())
        return "{" + ",".join(members) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_written, value)) + "]"
    if isinstance(value, float):
        return number_text(value)
    return json.dumps(value, ensure_ascii=False)


def read_value(data: bytes | str) -> Any:
    """The value of a JSON text, with all digits of its numbers. Raises ``ValueError``."""
    return json.loads(data, parse_float=read_float, parse_int=read_int)


def parsed(written: str) -> tuple[bool, Any]:
    """Whether a text is JSON, and its value."""
    try:
        return True, read_value(written)
    except (ValueError, RecursionError):
        return False, None


MOST_DEPTH = 200


def is_deep(value: Any) -> bool:
    """Whether a value nests deeper than anybody means it to: what walks values calls itself for
    each level, and some hundreds are the end of that. Such a value is held as its text."""
    levels, found = 0, [value]
    while found and levels <= MOST_DEPTH:
        found = [
            inner
            for one in found
            if isinstance(one, dict | list)
            for inner in (one.values() if isinstance(one, dict) else one)
        ]
        levels += 1
    return bool(found)


def merged(into: dict[str, Any], more: Mapping[str, Any]) -> None:
    """Put ``more`` over ``into``, objects member by member, everything else whole."""
    for key, value in more.items():
        below = into.get(key)
        if isinstance(below, dict) and isinstance(value, dict):
            merged(below, value)
        else:
            into[key] = value
