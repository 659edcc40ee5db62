"""Large texts are classed by where they differ: never milder than the whole of them would be."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replay.comparison import compare as comparing
from replay.comparison.compare import compare
from replay.comparison.differences import Difference
from replay.comparison.differing import differing
from replay.dialects.answer import Answer

WORDS = st.lists(
    st.sampled_from(["paid", "order", "8812", "€5", '"Ada"', " ", "\n", "2026-03-05", "x" * 9, "-"])
)
TEXTS = st.one_of(WORDS.map("".join), WORDS.map(" ".join), st.text(max_size=30))
LONG = "All of the orders were paid in time. " * 30_000


def held(before: str, after: str):
    return compare(Answer(text=before), Answer(text=after))


@pytest.mark.parametrize(
    ("one", "other", "left"),
    [
        ("a b c", "a x c", ("b", "x")),
        ("It costs 15 EUR", "It costs 25 EUR", ("15", "25")),
        ("a b", "ab", ("a b", "ab")),
        ("pay now", "pay", ("pay now", "pay")),
        ("aa aa", "aa aa aa", ("aa", "aa aa")),
        ("", "x", ("", "x")),
    ],
)
def test_whole_words_are_left(one, other, left):
    assert differing(one, other) == left


def test_words_beside_may_be_left_too():
    assert differing("one two 3 four five", "one two 4 four five", 3) == (
        "two 3 four",
        "two 4 four",
    )
    assert differing("2 a", "3 a", 10) == ("2 a", "3 a")


@given(TEXTS, TEXTS, TEXTS, TEXTS)
def test_what_is_left_stands_between_the_same(head, one, other, tail):
    before, after = head + one + tail, head + other + tail
    left, right = differing(before, after)
    assert any(
        before == before[:place] + left + before[place + len(left) :]
        and after == before[:place] + right + before[place + len(left) :]
        for place in range(len(before) + 1)
    )


@given(TEXTS, TEXTS, TEXTS, TEXTS)
def test_a_large_text_is_never_classed_milder(head, one, other, tail):
    before, after = head + one + tail, head + other + tail
    whole = held(before, after).difference
    limit, comparing.LOOKED_THROUGH = comparing.LOOKED_THROUGH, -1
    try:
        large = held(before, after).difference
    finally:
        comparing.LOOKED_THROUGH = limit
    assert large.severity >= whole.severity
    assert (large == Difference.SAME) == (whole == Difference.SAME)


@pytest.mark.parametrize(
    ("put", "instead", "expected", "says"),
    [
        ("Late.", "Too late.", "wording", "other wording"),
        ("Order 8812.", "Order 8813.", "facts", "names 8813, recorded named 8812"),
        ("Late.", "Late. ", "equivalent", "other white space"),
        ("It is 1,000 EUR.", "It is 1000 EUR.", "equivalent", "numbers spelled otherwise"),
        (
            "Use Acme 1.10 million.",
            "Use Acme 1.1 million.",
            "equivalent",
            "numbers spelled otherwise",
        ),
        (
            "Use version 1.10.",
            "Use version 1.1.",
            "facts",
            "names version 1.1, recorded named version 1.10",
        ),
    ],
)
def test_megabytes_that_differ_in_a_word(put, instead, expected, says):
    found = held(f"{LONG}{put} {LONG}", f"{LONG}{instead} {LONG}")
    assert (found.difference, found.summary) == (expected, says)


def test_megabytes_that_have_nothing_in_common_are_not_looked_through():
    found = held("x" * 5_000_000, "Short.")
    assert found.difference == "facts"
    assert found.summary == "other text, too large to look through for facts: 5,000,000 characters"
