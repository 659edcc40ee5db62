"""Where two large texts differ: what is left of each without what both begin and end with. Pure."""

from __future__ import annotations

import re

_WORD = re.compile(r"\S*+")


def differing(one: str, other: str, beside: int = 0) -> tuple[str, str]:
    """The stretch of each that the other does not have at its place, in whole words, with at least
    `beside` characters of what stands before and behind.

    Linear: halves are compared at once, where letter by letter would take a second a megabyte.
    """
    start = max(alike(one, other) - beside, 0)
    start -= _length_of_word(one[:start][::-1])
    one, other = one[start:], other[start:]
    end = max(alike(one[::-1], other[::-1]) - beside, 0)
    end -= _length_of_word(one[len(one) - end :])
    return one[: len(one) - end], other[: len(other) - end]


def _length_of_word(text: str) -> int:
    """Of the word that a text begins with."""
    found = _WORD.match(text)
    return found.end() if found else 0


def alike(one: str, other: str) -> int:
    """With how many equal characters both begin."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
