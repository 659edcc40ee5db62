"""Values out of a recording, made fit for a JSON column and short enough for a row."""

from __future__ import annotations

import math
from typing import Any

from rewyn_sdk.canonical import canonical_json
from runs.messages.loose import clean

KEPT = 400
"""Characters of a value that are kept; what is cut says its true size."""
SAFE_INTEGER = 2**53


def shown(value: Any) -> Any:
    """A short scalar as it is; anything else as text, its size named where it is cut."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int) and abs(value) <= SAFE_INTEGER:
        return int(value)
    if isinstance(value, float) and math.isfinite(value):
        return float(value)
    return cut(value if isinstance(value, str) else canonical_json(value))


def cut(text: str, limit: int = KEPT) -> str:
    if len(text) <= limit:
        return clean(text)
    return f"{clean(text[:limit])}… ({len(text):,} characters)"
