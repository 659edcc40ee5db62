"""Aligning two lists of texts, in bounded time whatever they hold.

`difflib.SequenceMatcher` finds the blocks a reader would, but needs cubic time on hostile input.
So it gets what a budget allows. What is larger is split at items that occur once on either side
(as patience diff does), what has none goes to a longest common subsequence on big integers, and
what is beyond that too is one replacement.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

Tag = Literal["equal", "replace", "delete", "insert"]
_Range = tuple[int, int, int, int]


@dataclass(frozen=True, slots=True)
class Block:
    """Items start..end of one list against new_start..new_end of the other."""

    tag: Tag
    start: int
    end: int
    new_start: int
    new_end: int


@dataclass(slots=True)
class Budget:
    """What an alignment may still spend: steps of difflib (a second or so), cells of a table."""

    steps: int = 20_000_000
    cells: int = 100_000_000


def align(left: Sequence[str], right: Sequence[str], budget: Budget | None = None) -> list[Block]:
    """The blocks that turn `left` into `right`, in order and without gaps."""
    pairs = _Pairs(left, right, budget or Budget()).find()
    return list(_blocks(pairs, len(left), len(right)))


def _blocks(pairs: list[tuple[int, int]], size: int, new_size: int) -> Iterator[Block]:
    """Blocks of aligned pairs and of what lies between them."""
    place = new_place = 0
    pairs.append((size, new_size))
    run = 0
    for index, new_index in pairs:
        if (index, new_index) == (place + run, new_place + run) and index < size:
            run += 1
            continue
        if run:
            yield Block("equal", place, place + run, new_place, new_place + run)
        place, new_place = place + run, new_place + run
        if (place, new_place) != (index, new_index):
            yield Block(
                _tag(place, index, new_place, new_index), place, index, new_place, new_index
            )
        place, new_place, run = index, new_index, 1


def _tag(start: int, end: int, new_start: int, new_end: int) -> Tag:
    if start == end:
        return "insert"
    return "delete" if new_start == new_end else "replace"


class _Pairs:
    """Collects pairs (index left, index right) of items that stay."""

    def __init__(self, left: Sequence[str], right: Sequence[str], budget: Budget) -> None:
        self.left = left
        self.right = right
        self.budget = budget
        self.found: list[tuple[int, int]] = []

    def find(self) -> list[tuple[int, int]]:
        waiting = [(0, len(self.left), 0, len(self.right))]
        while waiting:
            start, end, new_start, new_end = self._trim(*waiting.pop())
            if start < end and new_start < new_end:
                waiting += self._split(start, end, new_start, new_end)
        return sorted(self.found)

    def _trim(self, start: int, end: int, new_start: int, new_end: int) -> _Range:
        """Take what both begin and end with."""
        left, right = self.left, self.right
        while start < end and new_start < new_end and left[start] == right[new_start]:
            self.found.append((start, new_start))
            start, new_start = start + 1, new_start + 1
        while start < end and new_start < new_end and left[end - 1] == right[new_end - 1]:
            end, new_end = end - 1, new_end - 1
            self.found.append((end, new_end))
        return start, end, new_start, new_end

    def _split(self, start: int, end: int, new_start: int, new_end: int) -> list[_Range]:
        """Pair what can be paired in a range; the ranges that are left to look at."""
        left, right = self.left[start:end], self.right[new_start:new_end]
        counts, new_counts = Counter(left), Counter(right)
        steps = min(len(left), len(right)) * sum(counts[item] * new_counts[item] for item in counts)
        if steps <= self.budget.steps:
            self.budget.steps -= steps
            self._add(_by_difflib(left, right), start, new_start)
            return []
        anchors = _anchors(left, right, counts, new_counts)
        if anchors:
            self._add(anchors, start, new_start)
            return _between(anchors, start, end, new_start, new_end)
        cells = len(left) * len(right)
        if cells <= self.budget.cells:
            self.budget.cells -= cells
            self._add(_by_subsequence(left, right), start, new_start)
        return []

    def _add(self, pairs: list[tuple[int, int]], start: int, new_start: int) -> None:
        self.found += [(index + start, new + new_start) for index, new in pairs]


def _by_difflib(left: Sequence[str], right: Sequence[str]) -> list[tuple[int, int]]:
    matcher = SequenceMatcher(None, left, right, autojunk=False)
    return [
        (block.a + step, block.b + step)
        for block in matcher.get_matching_blocks()
        for step in range(block.size)
    ]


def _anchors(
    left: Sequence[str], right: Sequence[str], counts: Counter[str], new_counts: Counter[str]
) -> list[tuple[int, int]]:
    """The longest rising run of items that occur exactly once on both sides."""
    places = {item: index for index, item in enumerate(right) if new_counts[item] == 1}
    pairs = [
        (index, places[item])
        for index, item in enumerate(left)
        if counts[item] == 1 and item in places
    ]
    ends: list[int] = []
    last: list[int] = []
    before: list[int] = []
    for number, (_, new_index) in enumerate(pairs):
        rank = bisect_left(ends, new_index)
        before.append(last[rank - 1] if rank else -1)
        ends[rank : rank + 1] = [new_index]
        last[rank : rank + 1] = [number]
    return _walk_back(pairs, before, last[-1] if last else -1)


def _walk_back(
    pairs: list[tuple[int, int]], before: list[int], number: int
) -> list[tuple[int, int]]:
    rising: list[tuple[int, int]] = []
    while number >= 0:
        rising.append(pairs[number])
        number = before[number]
    return rising[::-1]


def _between(
    anchors: list[tuple[int, int]], start: int, end: int, new_start: int, new_end: int
) -> list[_Range]:
    """The ranges around anchors that were found in a range."""
    ranges: list[_Range] = []
    place, new_place = start, new_start
    for index, new_index in anchors:
        ranges.append((place, index + start, new_place, new_index + new_start))
        place, new_place = index + start + 1, new_index + new_start + 1
    return [*ranges, (place, end, new_place, new_end)]


def _by_subsequence(left: Sequence[str], right: Sequence[str]) -> list[tuple[int, int]]:
    """A longest common subsequence, a row of the table in one integer (Hyyrö 2004)."""
    places: dict[str, int] = {}
    for index, item in enumerate(right):
        places[item] = places.get(item, 0) | 1 << index
    full = (1 << len(right)) - 1
    row, rows = full, [full]
    for item in left:
        both = row & places.get(item, 0)
        row = (row + both | row - both) & full
        rows.append(row)
    return _trace(rows, len(left), len(right))


def _trace(rows: list[int], index: int, new_index: int) -> list[tuple[int, int]]:
    pairs: list[tuple[int, int]] = []
    while index and new_index:
        if rows[index] >> new_index - 1 & 1:
            new_index -= 1
            continue
        index -= 1
        if rows[index] >> new_index - 1 & 1:
            new_index -= 1
            pairs.append((index, new_index))
    return pairs
