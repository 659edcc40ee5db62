"""What came of one request."""

from __future__ import annotations

from dataclasses import dataclass, field

from runs.refusals import Rejected


@dataclass(slots=True)
class Outcome:
    """Per-item result. `stored` counts new effects, `duplicate` those known already; `changed`
    names what the sender stated of the run otherwise than before."""

    run_id: str
    url: str
    created: bool = False
    stored: int = 0
    duplicate: int = 0
    rejected: list[Rejected] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)

    @property
    def took_nothing(self) -> bool:
        """Everything in it was rejected: nothing was stored and nothing was known."""
        return bool(self.rejected) and not (self.created or self.stored or self.duplicate)

    @property
    def conflicts(self) -> bool:
        return any(item.code in ("conflict", "position_taken") for item in self.rejected)

    @property
    def is_conflict(self) -> bool:
        """Nothing was taken as something else is there: the run stays as it is."""
        return self.took_nothing and self.conflicts
