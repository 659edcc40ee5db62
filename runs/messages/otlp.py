"""OTLP's own spelling of a span's attributes, opened: a list of `{"key": …, "value":
{"stringValue": …}}`, as exporters and collectors write it (OTLP/JSON, `common.v1.KeyValue`)."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

_WHOLE = re.compile(r"-?[0-9]{1,19}")
_LEVELS = 60
"""Values inside values that are opened; deeper ones stay as they came."""


def attributes(value: object) -> tuple[dict[str, Any], str]:
    """What may be a span's attributes in `value`, and the pointer from `value` to them: the object
    itself, a list of pairs, or either one under `attributes` of a span written as a whole."""
    if isinstance(value, list):
        return opened(value) or {}, ""
    members = value if isinstance(value, dict) else {}
    inner = members.get("attributes")
    held = inner if isinstance(inner, dict) else opened(inner)
    return (held, "/attributes") if held else (members, "")


def opened(value: object) -> dict[str, Any] | None:
    """The attributes of such a list by their keys; None for anything else."""
    listed = value if isinstance(value, list) else []
    if not listed or not all(map(_is_pair, listed)):
        return None
    return {one["key"]: _value(one["value"], _LEVELS) for one in listed}


def _is_pair(value: object) -> bool:
    if not isinstance(value, dict) or not isinstance(value.get("key"), str):
        return False
    held = value.get("value")
    return isinstance(held, dict) and len(held) <= 1 and held.keys() <= _READERS.keys()


def _value(value: Any, levels: int) -> Any:
    """An `AnyValue` as the plain JSON it stands for; one without any member stands for nothing."""
    if value == {}:
        return None
    kind, held = next(iter(value.items())) if isinstance(value, dict) else ("", None)
    read = _READERS.get(kind)
    return read(held, levels - 1) if read and levels else value


def _plain(held: Any, levels: int) -> Any:
    return held


def _whole(held: Any, levels: int) -> Any:
    """A whole number may come as text: it has 64 bits, more than other readers of JSON keep."""
    return int(held) if isinstance(held, str) and _WHOLE.fullmatch(held) else held


def _list(held: Any, levels: int) -> Any:
    listed = held.get("values", []) if isinstance(held, dict) else None
    return [_value(one, levels) for one in listed] if isinstance(listed, list) else held


def _object(held: Any, levels: int) -> Any:
    listed = held.get("values", []) if isinstance(held, dict) else None
    if not isinstance(listed, list) or not all(map(_is_pair, listed)):
        return held
    return {one["key"]: _value(one["value"], levels) for one in listed}


_READERS: dict[str, Callable[[Any, int], Any]] = {
    "stringValue": _plain,
    "boolValue": _plain,
    "intValue": _whole,
    "doubleValue": _plain,
    "bytesValue": _plain,
    "arrayValue": _list,
    "kvlistValue": _object,
}
