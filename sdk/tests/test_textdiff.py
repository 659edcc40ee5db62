import random
import time
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewyn_sdk import Span, line_diff, word_diff
from rewyn_sdk.align import Budget, align

TEXTS = st.text(st.sampled_from("ab .\n\t日é"), max_size=40)
RANDOM = random.Random(20261129)
WORDS = ["".join(RANDOM.choices("abcdefgh", k=RANDOM.randint(2, 9))) for _ in range(3_000)]


def rebuilt(spans):
    return "".join(span.text_a for span in spans), "".join(span.text_b for span in spans)


def prose(count, end=""):
    return " ".join(RANDOM.choice(WORDS) + end * (RANDOM.random() < 0.1) for _ in range(count))


def edited(text, share):
    words = text.split(" ")
    return " ".join(RANDOM.choice(WORDS) if RANDOM.random() < share else w for w in words)


@pytest.mark.parametrize("compare", [word_diff, line_diff])
@given(a=TEXTS, b=TEXTS)
def test_joined_spans_are_both_texts(compare, a, b):
    spans = compare(a, b)
    assert rebuilt(spans) == (a, b)
    assert all((span.op == "equal") is (span.text_a == span.text_b) for span in spans)
    assert all(span.text_a or span.text_b for span in spans)


@given(TEXTS)
def test_a_text_equals_itself(text):
    assert [span.op for span in word_diff(text, text)] == ["equal"] * bool(text)


def test_words_change_and_the_space_around_them_stays():
    assert word_diff("Hello big world,\nbye", "Hello small old world,\nbye") == [
        Span("equal", "Hello ", "Hello "),
        Span("replace", "big", "small old"),
        Span("equal", " world,\nbye", " world,\nbye"),
    ]


def test_white_space_alone_can_change():
    assert word_diff("a b", "a  b")[1] == Span("replace", " ", "  ")


def test_punctuation_is_no_part_of_a_word():
    assert word_diff("it is 41.", "it is 42.")[1] == Span("replace", "41", "42")


def test_scripts_without_spaces_change_by_character():
    assert word_diff("今日は晴れ", "今日は雨")[1:] == [Span("replace", "晴れ", "雨")]


def test_lines_keep_their_ends():
    assert line_diff("a\nb\n", "a\nc") == [
        Span("equal", "a\n", "a\n"),
        Span("replace", "b\n", "c"),
    ]


HOSTILE = [
    "2 % edited",
    "30 % edited",
    "unrelated",
    "one line, 30 % edited",
    "100 KB without a space",
    "1 MB of distinct words",
    "1 MB, every seventh other",
    "two words over and over",
    "repeats between distinct words",
    "repeats between distinct lines",
    "white space only",
    "line ends only",
]


@cache
def hostile():
    text = prose(16_000, ".\n")
    line = prose(16_000)
    counted = " ".join(f"w{n}" for n in range(150_000))
    return {
        "2 % edited": (text, edited(text, 0.02)),
        "30 % edited": (text, edited(text, 0.3)),
        "unrelated": (text, prose(16_000, ".\n")),
        "one line, 30 % edited": (line, edited(line, 0.3)),
        "100 KB without a space": ("x" * 100_000, "x" * 99_999 + "y"),
        "1 MB of distinct words": (counted, counted.replace("w", "v")),
        "1 MB, every seventh other": (counted, counted.replace("7", "x")),
        "two words over and over": ("x y " * 25_000, "y x z " * 17_000),
        "repeats between distinct words": (counted.replace(" ", " x "), "v x " * 70_000),
        "repeats between distinct lines": (counted.replace(" ", "\nx\n"), "v\nx\n" * 70_000),
        "white space only": (" \t" * 50_000, "\t " * 50_000),
        "line ends only": ("\n" * 100_000, "\n \n" * 50_000),
    }


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_texts_take_seconds_at_most(name):
    a, b = hostile()[name]
    start = time.perf_counter()
    spans = word_diff(a, b)
    assert time.perf_counter() - start < 20
    assert rebuilt(spans) == (a, b)


ITEMS = st.lists(st.sampled_from("abcdef"), max_size=14)


@pytest.mark.parametrize("budget", [(10**6, 10**6), (0, 10**6), (0, 0)])
@given(left=ITEMS, right=ITEMS)
def test_blocks_cover_both_lists(budget, left, right):
    blocks = align(left, right, Budget(*budget))
    places = [(block.start, block.new_start) for block in blocks]
    ends = [(block.end, block.new_end) for block in blocks]
    assert [*places, (len(left), len(right))] == [(0, 0), *ends]
    kept = [block for block in blocks if block.tag == "equal"]
    assert all(left[k.start : k.end] == right[k.new_start : k.new_end] for k in kept)


def longest(left, right):
    """The textbook length of a longest common subsequence."""
    rows = [0] * (len(right) + 1)
    for item in left:
        above = list(rows)
        for index, other in enumerate(right):
            best = max(above[index + 1], rows[index])
            rows[index + 1] = above[index] + 1 if item == other else best
    return rows[-1]


@given(
    st.lists(st.sampled_from("aabbc"), max_size=14), st.lists(st.sampled_from("aab"), max_size=14)
)
def test_big_integers_find_a_longest_subsequence(left, right):
    """Doubled, so that no item occurs once and no anchor shortens the way."""
    left, right = left * 2, right * 2
    blocks = align(left, right, Budget(steps=0))
    kept = sum(block.end - block.start for block in blocks if block.tag == "equal")
    assert kept == longest(left, right)
