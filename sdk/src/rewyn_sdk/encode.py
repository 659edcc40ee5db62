"""JSON text as Rig writes it: two spaces a level or one line, keys as they are, its own floats."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from rewyn_sdk.canonical import number_text, quoted
from rewyn_sdk.errors import EncodeError


def rig_json(value: Any, *, indent: int | None = None) -> str:
    """The JSON text of a value; NaN and infinities become null; EncodeError if it has none."""
    separators = (",", ":") if indent is None else (",", ": ")
    try:
        text = json.dumps(
            value, ensure_ascii=False, allow_nan=False, indent=indent, separators=separators
        )
        # json writes 1e-05 where serde_json writes 0.00001; all else is the same.
        return write_in_order(value, indent, 1) if "e-0" in text else text
    except ValueError:
        return write_in_order(value, indent, 1)
    except (TypeError, RecursionError) as error:
        raise EncodeError(f"no JSON value: {error}") from None


def write_in_order(
    value: Any, indent: int | None, level: int, number: Callable[[float], str] = number_text
) -> str:
    """JSON text with keys as they are and a rule of its own for floats."""
    if isinstance(value, dict) and value:
        colon = ":" if indent is None else ": "
        members = [
            f"{quoted(name)}{colon}{write_in_order(one, indent, level + 1, number)}"
            for name, one in value.items()
        ]
        return "{" + _layout(members, indent, level) + "}"
    if isinstance(value, (list, tuple)) and value:
        items = [write_in_order(one, indent, level + 1, number) for one in value]
        return "[" + _layout(items, indent, level) + "]"
    if isinstance(value, float):
        return number(value)
    return json.dumps(value, ensure_ascii=False)


def _layout(parts: list[str], indent: int | None, level: int) -> str:
    if indent is None:
        return ",".join(parts)
    gap = "\n" + " " * (indent * level)
    return gap + f",{gap}".join(parts) + "\n" + " " * (indent * (level - 1))
