"""Two answers side by side: what is marked, and that nothing of a text is lost."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replay.comparison.compare import Failed
from replay.comparison.sides import SHOWN, Block, Piece, changed_in, requests, side_by_side
from replay.dialects.answer import Answer, AnswerCall


def call(name: str, **arguments) -> AnswerCall:
    return AnswerCall("c", name, arguments, json.dumps(arguments))


def marked(blocks: tuple[Block, ...]) -> list[str]:
    return [p.text for block in blocks for p in (*block.title, *block.body) if p.mark]


def said(blocks: tuple[Block, ...]) -> str:
    return "".join(piece.text for block in blocks for piece in block.body)


def test_only_the_words_that_changed_are_marked():
    sides = side_by_side(Answer("It is 14 degrees."), Answer("It is 15 degrees."))
    assert (marked(sides.recorded), marked(sides.replayed)) == (["14"], ["15"])


def test_lines_are_marked_whole():
    sides = side_by_side(Answer("one\ntwo\n"), Answer("one\nthree\n"), "lines")
    assert (marked(sides.recorded), marked(sides.replayed)) == (["two\n"], ["three\n"])


def test_json_shows_the_finish_reason_too():
    sides = side_by_side(
        Answer("a", finish_reason="stop"), Answer("a", finish_reason="length"), "json"
    )
    assert marked(sides.replayed) == ['  "finish_reason": "length"\n']


def test_a_call_beside_the_call_it_matches():
    sides = side_by_side(
        Answer(calls=(call("get", n=1), call("get", n=2))),
        Answer(calls=(call("get", n=2), call("get", n=3))),
    )
    assert [said((block,)) for block in sides.recorded] == ['{\n  "n": 2\n}', '{\n  "n": 1\n}']
    assert (marked(sides.recorded), marked(sides.replayed)) == (["1"], ["3"])


def test_other_tools_are_marked_by_name():
    sides = side_by_side(Answer(calls=(call("list"),)), Answer(calls=(call("refund"),)))
    assert (sides.recorded[0].title, sides.replayed[0].title) == (
        (Piece("del", "list"),), (Piece("ins", "refund"),)
    )  # fmt: skip


@pytest.mark.parametrize("other", [None, Failed("http_400", "no such model")])
def test_with_no_answer_beside_it_nothing_is_marked(other):
    sides = side_by_side(Answer("Pack an umbrella."), other)
    assert marked(sides.recorded) == []
    assert said(sides.recorded) == "Pack an umbrella."


def test_a_failure_says_the_provider_s_words():
    sides = side_by_side(Answer("a"), Failed("http_400", "no such model"))
    assert (sides.replayed[0].kind, said(sides.replayed)) == ("failure", "no such model")


def test_an_empty_answer_has_no_blocks():
    assert side_by_side(Answer("a"), Answer("")).replayed == ()


def test_a_long_text_says_its_true_size():
    sides = side_by_side(Answer("a " * SHOWN), Answer("b"))
    assert sides.recorded[0].size == 2 * SHOWN
    assert len(said(sides.recorded)) == SHOWN


def test_control_characters_are_shown():
    assert said(side_by_side(Answer("a\x00b"), Answer("c")).recorded) == "a␀b"


@given(st.text(max_size=60), st.text(max_size=60), st.sampled_from(["words", "lines"]))
def test_no_character_is_lost_or_added(before, after, show):
    sides = side_by_side(Answer(before), Answer(after), show)
    assert len(said(sides.recorded)) == len(before)
    assert len(said(sides.replayed)) == len(after)


def test_bodies_of_requests_differ_by_their_members_and_not_by_their_order():
    same = requests({"a": 1, "b": {"d": 1, "c": 2}}, {"b": {"c": 2, "d": 1}, "a": 1}, marks=True)
    assert marked(same.recorded) == marked(same.replayed) == []
    other = requests({"a": 1}, {"a": 2}, marks=True)
    assert (marked(other.recorded), marked(other.replayed)) == (["1"], ["2"])
    assert marked(requests({"a": 1}, {"a": 2}, marks=False).recorded) == []


def test_long_texts_that_differ_far_behind_are_marked():
    one, other = ({"image": "A" * 50_000 + end} for end in ("x", "y"))
    assert marked(requests(one, other, marks=True).recorded)
    assert not marked(requests(one, one, marks=True).recorded)
    assert len(said(requests(one, other, marks=True).recorded)) < 5_000


def test_a_changed_text_is_told_in_one():
    told = [(p.mark, p.text) for p in changed_in("Be kind and brief.", "Be very kind.")]
    assert "".join(text for mark, text in told if mark != "ins") == "Be kind and brief."
    assert "".join(text for mark, text in told if mark != "del") == "Be very kind."


def test_a_change_far_behind_in_a_text_is_shown():
    long = "word " * 50_000
    assert ("ins", "new") in [(p.mark, p.text) for p in changed_in(f"{long}old", f"{long}new")]


def test_of_a_request_the_conversation_comes_last():
    talk = [{"role": "user", "content": "a" * 3_000}] * 40
    pair = requests({"messages": talk, "model": "a"}, {"model": "b", "messages": talk}, marks=True)
    assert (marked(pair.recorded), marked(pair.replayed)) == (["a"], ["b"])


def test_of_a_long_text_that_stays_the_ends_beside_the_change_are_told():
    long = "word " * 2_000
    told = changed_in(f"{long}old", f"{long}new")
    assert [p.mark for p in told] == ["", "", "del", "ins"]
    assert sum(len(p.text) for p in told) < 700
