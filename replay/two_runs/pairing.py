"""Which effect of one run stands beside which of another: by content, not by position. Pure.

First whoever asked the very same, in order; then the same in another order near by (parallel
calls); then whoever was told the same last; then the same key; then the same kind of call. Each
round looks only between what the rounds before it paired, so that an effect more or less moves
nothing else. Time is bounded by `rewyn_sdk.align`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rewyn_sdk.align import Budget, align

NEAR = 32
"""How many paired effects two that asked the same in another order may lie apart."""


@dataclass(frozen=True, slots=True)
class Marks:
    """What an effect is known by, from all that it asked down to what kind of call it is."""

    asked: str
    new: str
    key: str
    label: str


Pair = tuple[int | None, int | None]
_Range = tuple[list[int], list[int]]


def pair(left: Sequence[Marks], right: Sequence[Marks]) -> list[Pair]:
    """Places in both, side by side in reading order; None where nothing stands on a side."""
    budget = Budget()
    everything = list(range(len(left))), list(range(len(right)))
    names = [mark.asked for mark in left], [mark.asked for mark in right]
    ordered = _in_order(*names, [everything], budget)
    moved = _moved(*names, ordered)
    for level in ("new", "key", "label"):
        names = [getattr(mark, level) for mark in left], [getattr(mark, level) for mark in right]
        ordered += _in_order(*names, _between(ordered, moved, len(left), len(right)), budget)
        ordered.sort()
    return list(_rows(ordered, dict(moved), len(left), len(right)))


def _in_order(
    left: list[str], right: list[str], ranges: Sequence[_Range], budget: Budget
) -> list[tuple[int, int]]:
    return [found for one in ranges for found in _aligned(left, right, one, budget)]


def _aligned(
    left: list[str], right: list[str], places: _Range, budget: Budget
) -> Iterator[tuple[int, int]]:
    """Pairs of equal names in a range; the same ones whichever side is called left."""
    mine, theirs = places
    before, after = [left[place] for place in mine], [right[place] for place in theirs]
    if before > after:
        yield from ((b, a) for a, b in _aligned(right, left, (theirs, mine), budget))
        return
    for block in align(before, after, budget):
        if block.tag == "equal":
            yield from zip(
                mine[block.start : block.end], theirs[block.new_start : block.new_end], strict=True
            )


def _moved(
    left: list[str], right: list[str], ordered: list[tuple[int, int]]
) -> list[tuple[int, int]]:
    """Equal ones that no order pairs, if they stand near each other."""
    mine = _left_over(left, [place for place, _ in ordered])
    theirs = _left_over(right, [place for _, place in ordered])
    found: list[tuple[int, int]] = []
    for name, places in mine.items():
        found += _near(places, theirs.get(name, []))
    return sorted(found)


def _left_over(names: list[str], paired: list[int]) -> dict[str, list[tuple[int, int]]]:
    """Places without a partner by their name, each with how many paired ones stand before it."""
    found: dict[str, list[tuple[int, int]]] = {}
    taken = set(paired)
    for place, name in enumerate(names):
        if place not in taken:
            found.setdefault(name, []).append((place, bisect_left(paired, place)))
    return found


def _near(mine: list[tuple[int, int]], theirs: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    here = there = 0
    while here < len(mine) and there < len(theirs):
        (place, rank), (other, other_rank) = mine[here], theirs[there]
        if abs(rank - other_rank) <= NEAR:
            yield place, other
            here, there = here + 1, there + 1
        elif rank < other_rank:
            here += 1
        else:
            there += 1


def _between(
    ordered: list[tuple[int, int]], moved: list[tuple[int, int]], size: int, new_size: int
) -> list[_Range]:
    """What no pair holds yet, in stretches between pairs."""
    gone, taken = {a for a, _ in moved}, {b for _, b in moved}
    ranges, start, new_start = [], 0, 0
    for end, new_end in [*ordered, (size, new_size)]:
        mine = [place for place in range(start, end) if place not in gone]
        theirs = [place for place in range(new_start, new_end) if place not in taken]
        if mine and theirs:
            ranges.append((mine, theirs))
        start, new_start = end + 1, new_end + 1
    return ranges


def _rows(
    ordered: list[tuple[int, int]], moved: dict[int, int], size: int, new_size: int
) -> Iterator[Pair]:
    """The left side's order; what only the right side has stands before the pair it precedes."""
    elsewhere = set(moved.values())
    start = new_start = 0
    for end, new_end in [*ordered, (size, new_size)]:
        yield from ((place, moved.get(place)) for place in range(start, end))
        yield from ((None, place) for place in range(new_start, new_end) if place not in elsewhere)
        if end < size:
            yield end, new_end
        start, new_start = end + 1, new_end + 1
