"""The classes a difference can have, from mild to severe."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum


class Difference(StrEnum):
    """Declared from mild to severe; what each means is in docs/replay.md."""

    SAME = "same"
    EQUIVALENT = "equivalent"
    WORDING = "wording"
    FACTS = "facts"
    ARGUMENTS = "arguments"
    TOOL_CALLS = "tool_calls"
    STRUCTURE = "structure"
    NOT_RECORDED = "not_recorded"
    NOT_ASKED = "not_asked"
    ERROR = "error"

    @property
    def severity(self) -> int:
        return _SEVERITIES[self]

    @property
    def label(self) -> str:
        return self.value.replace("_", " ")

    @property
    def is_change(self) -> bool:
        """True for what `changed` counts: everything beyond `equivalent`."""
        return self.severity > Difference.EQUIVALENT.severity


_SEVERITIES = {each: place for place, each in enumerate(Difference)}


def worst(found: Iterable[Difference]) -> Difference:
    """The most severe of them; `same` of none."""
    return max(found, key=lambda difference: difference.severity, default=Difference.SAME)
