"""What a mode hands back to the job: how it ended and the columns that say it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Outcome:
    """`event` is the move of `states.py` that ends the job; `columns` go into the replay's row.

    `late` gives the outcome anew with each answer that comes after the end; it waits for them.
    """

    event: str
    columns: dict[str, Any] = field(default_factory=dict)
    error_code: str = ""
    error_text: str = ""
    late: Iterable[Outcome] = ()
