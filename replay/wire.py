"""The provider exchange that was recorded beside an effect."""

from __future__ import annotations

from typing import Any

from replay.dialects.loose import read_value
from runs.models import Effect
from runs.storage import segments


def wire_of(effect: Effect) -> dict[str, Any] | None:
    """The recorded exchange as an object, None where none was sent."""
    data = segments.read_wire(effect)
    if data is None:
        return None
    try:
        value = read_value(data)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
