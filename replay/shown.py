"""Values out of a recording, made fit for a JSON column and short enough for a row."""

from __future__ import annotations

import math
from typing import Any

from replay.comparison.differing import alike
from rewyn_sdk.exact import Precise, exact_json
from runs.messages.loose import clean

KEPT = 400
"""Characters of a value that are kept; what is cut says its true size."""
BEFORE = 40
"""Characters that are kept before the place where two long texts differ."""
SAFE_INTEGER = 2**53


def shown(value: Any) -> Any:
    """A short scalar as it is; anything else as text, its size named where it is cut."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int) and abs(value) <= SAFE_INTEGER:
        return int(value)
    if isinstance(value, float) and math.isfinite(value) and not isinstance(value, Precise):
        return float(value)
    return cut(_text(value))


def both_shown(one: Any, other: Any) -> tuple[Any, Any]:
    """Two values that differ, so that it is seen: of long ones from where they do."""
    first, second = shown(one), shown(other)
    if first != second or not isinstance(first, str):
        return first, second
    texts = _text(one), _text(other)
    start = max(alike(*texts) - BEFORE, 0) if texts[0] != texts[1] else 0
    return _from(texts[0], start), _from(texts[1], start)


def _from(text: str, start: int) -> str:
    end = start + KEPT
    if not start:
        return cut(text)
    more = "…" if end < len(text) else ""
    return f"…{clean(text[start:end])}{more} ({len(text):,} characters)"


def _text(value: Any) -> str:
    """A text as it is, a number as it was written, anything else as JSON."""
    if isinstance(value, Precise):
        return value.text
    return value if isinstance(value, str) else exact_json(value)


def readable(value: Any) -> Any:
    """A value in which every JSON reader finds what it says: numbers that a float does not hold,
    and what is no number, are texts there."""
    if isinstance(value, dict):
        return {name: readable(one) for name, one in value.items()}
    if isinstance(value, list):
        return [readable(one) for one in value]
    is_odd = isinstance(value, float) and (isinstance(value, Precise) or not math.isfinite(value))
    return _text(value) if is_odd else value


def cut(text: str, limit: int = KEPT) -> str:
    if len(text) <= limit:
        return clean(text)
    return f"{clean(text[:limit])}… ({len(text):,} characters)"
