"""Reading JSON that somebody else wrote: the wanted type, or its empty value, never an error."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from rewyn_sdk.encode import write_in_order
from rewyn_sdk.exact import as_written, read_float, read_int
from runs.formats.jsonbytes import depth_exceeds
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
    return write_in_order(value, None, 1) if _DOUBTFUL.search(plain) else plain


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


def is_deep(written: str) -> bool:
    """Whether a JSON text nests deeper than anybody means it to: what walks values calls itself for
    each level, and some hundreds are the end of that. Such a value is held as its text."""
    return depth_exceeds(written.encode("utf-8", "surrogatepass"), MOST_DEPTH)


def merged(into: dict[str, Any], more: Mapping[str, Any]) -> None:
    """Put ``more`` over ``into``, objects member by member, everything else whole."""
    for key, value in more.items():
        below = into.get(key)
        if isinstance(below, dict) and isinstance(value, dict):
            merged(below, value)
        else:
            into[key] = value
