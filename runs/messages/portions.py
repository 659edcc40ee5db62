"""How much of long lists one page shows: a portion of each, and where the rest is. Pure.

A call of 50,000 parts is a page like any other: it says how many there are and leads on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

PORTION = 200
"""Items of one list that are shown at once."""
PAGE = 1_000
"""Items of all lists of one page. Behind that, only those lists that were asked for show more
than `FEW`."""
FEW = 3
CHARACTERS = 1_500_000
"""So many characters of texts come with one page before it shows no more than heads of them."""


@dataclass(frozen=True, slots=True)
class Portion:
    """Some neighbours of a list: `items`, from number `first` (0 for the very first)."""

    name: str
    items: Sequence[Any]
    first: int
    total: int
    step: int = PORTION

    @property
    def end(self) -> int:
        return self.first + len(self.items)

    @property
    def is_whole(self) -> bool:
        return len(self.items) == self.total

    @property
    def previous(self) -> int | None:
        return max(self.first - self.step, 0) if self.first else None

    @property
    def next(self) -> int | None:
        return self.end if self.end < self.total else None


@dataclass(slots=True)
class Room:
    """What of a page is left. `asked` names the lists that were moved: where they begin."""

    asked: Mapping[str, int] = field(default_factory=dict)
    portion: int = PORTION
    items: int = PAGE
    characters: int = CHARACTERS

    def take(
        self, name: str, items: Sequence[Any], found: Callable[[Any], bool] | None = None
    ) -> Portion:
        """The portion of a list that is shown: the one asked for, else the first in which
        something was `found`, else the first."""
        if name in self.asked:
            return self._from(name, items, self.asked[name], self.portion)
        room = min(self.portion, max(self.items, FEW))
        if found is None or len(items) <= room:
            return self._from(name, items, 0, room)
        index = next((at for at, item in enumerate(items) if found(item)), 0)
        return self._from(name, items, index - index % room, room)

    def _from(self, name: str, items: Sequence[Any], first: int, room: int) -> Portion:
        first = first if first < len(items) else 0
        shown = items[first : first + room]
        self.items -= len(shown)
        return Portion(name, shown, first, len(items), self.portion)

    def most(self, usually: int, least: int) -> int:
        """How many characters of one text may be shown."""
        return usually if self.characters > 0 else least

    def spend(self, characters: int) -> None:
        self.characters -= characters
