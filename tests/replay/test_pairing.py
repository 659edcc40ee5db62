"""Two runs beside each other by what was asked, whatever stands before it."""

from __future__ import annotations

import time

from hypothesis import given
from hypothesis import strategies as st

from replay.two_runs.pairing import Marks, pair


def marks(asked: str, label: str = "tool") -> Marks:
    return Marks(asked, asked, label, label)


named = st.builds(
    Marks,
    asked=st.sampled_from("abcdefgh"),
    new=st.sampled_from("ab"),
    key=st.sampled_from("kl"),
    label=st.just("x"),
)
runs = st.lists(named, max_size=14)
distinct = st.lists(st.integers(), unique=True, max_size=30).map(lambda n: [*map(str, n)])


@given(runs, runs)
def test_either_run_may_come_first(left, right) -> None:
    mirrored = {(b, a) for a, b in pair(right, left)}
    assert set(pair(left, right)) == mirrored


@given(runs, runs)
def test_every_effect_stands_in_one_row_and_each_side_keeps_its_order(left, right) -> None:
    rows = pair(left, right)
    assert sorted(a for a, _ in rows if a is not None) == list(range(len(left)))
    assert sorted(b for _, b in rows if b is not None) == list(range(len(right)))
    assert [a for a, _ in rows if a is not None] == list(range(len(left)))


@given(runs)
def test_a_run_beside_itself_is_the_same_all_along(run) -> None:
    assert pair(run, run) == [(place, place) for place in range(len(run))]


@given(distinct, st.data())
def test_an_effect_more_or_less_shifts_nothing_else(names, data) -> None:
    at = data.draw(st.integers(0, len(names)))
    left = [marks(name) for name in names]
    right = [*left[:at], marks("new", "other"), *left[at:]]
    expected = {(n, n + (n >= at)) for n in range(len(names))} | {(None, at)}
    assert set(pair(left, right)) == expected


@given(distinct, st.data())
def test_calls_in_another_order_are_paired_by_what_they_ask(names, data) -> None:
    other = data.draw(st.permutations(names))
    rows = pair([marks(name) for name in names], [marks(name) for name in other])
    assert {(names[a], other[b]) for a, b in rows} == {(name, name) for name in names}


def test_the_same_question_far_away_is_another_one() -> None:
    between = [marks(f"step {n}") for n in range(100)]
    rows = pair([marks("now"), *between], [*between, marks("now")])
    assert (0, None) in rows and (None, 100) in rows


def test_a_changed_call_stands_beside_the_one_it_took_the_place_of() -> None:
    left = [marks("ask", "model"), marks("order 1", "get"), marks("say", "model")]
    right = [marks("ask", "model"), marks("order 2", "get"), marks("say", "model")]
    assert pair(left, right) == [(0, 0), (1, 1), (2, 2)]


def test_a_model_call_with_another_past_is_known_by_what_it_was_told_last() -> None:
    left = [Marks("1", "paid", "m", "m"), Marks("2", "sent", "m", "m")]
    right = [Marks("3", "sent", "m", "m")]
    assert pair(left, right) == [(0, None), (1, 0)]


def test_two_thousand_effects_without_one_in_common_take_no_long() -> None:
    began = time.process_time()
    left = [Marks(f"a{n}", f"a{n}", "k", "x") for n in range(2000)]
    right = [Marks(f"b{n}", f"b{n % 7}", f"k{n % 2}", "x") for n in range(2000)]
    assert len(pair(left, right)) == 2000
    assert time.process_time() - began < 2
