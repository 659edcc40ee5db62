"""The cluster rule from both sides, and docs/review.md, whose examples are run."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replay.comparison.compare import Changed, Comparison, Failed, compare
from replay.comparison.differences import Difference
from replay.dialects.answer import Answer, AnswerCall
from replay.review.clusters import cause, digest, general

TEXT = (Path(__file__).resolve().parents[2] / "docs" / "review.md").read_text()
ROWS = re.findall(r"^\| (.+?) \| (.+?) \| (\w+) \| (.+?) \| ([A-Z]) \|$", TEXT, re.MULTILINE)
CALL = re.compile(r"(\w+)\((\{.*?\})\)(?:; |$)")


def call(name: str, arguments: object, ident: str = "call-1") -> AnswerCall:
    return AnswerCall(ident, name, arguments, json.dumps(arguments))


def answer(written: str) -> Answer:
    if not written.startswith("`"):
        return Answer(text=written)
    made = CALL.findall(written.strip("`"))
    if not made:
        return Answer(text=written.strip("`"))
    return Answer(calls=tuple(call(name, json.loads(given)) for name, given in made))


def cause_of(recorded, replayed) -> tuple[str, ...]:
    return cause(compare(recorded, replayed), recorded, replayed)


@pytest.mark.parametrize(("recorded", "replayed", "difference", "told", "cluster"), ROWS)
def test_each_example_has_its_class_and_cause(recorded, replayed, difference, told, cluster):
    sides = answer(recorded), answer(replayed)
    assert compare(*sides).difference == difference
    assert ", ".join(cause_of(*sides)) == told


def test_the_examples_of_one_letter_are_one_cluster_and_others_are_not():
    letters: dict[str, set[str]] = {}
    for recorded, replayed, difference, _, letter in ROWS:
        found = cause_of(answer(recorded), answer(replayed))
        letters.setdefault(letter, set()).add(digest(difference, "desk", "desk/model", found))
    assert len(ROWS) > 10
    assert [len(found) for found in letters.values()] == [1] * len(letters)
    assert len(set.union(*letters.values())) == len(letters)


@pytest.mark.parametrize(
    "other",
    [
        ("arguments", "desk", "desk/model", ["/text"]),
        ("facts", "shop", "desk/model", ["/text"]),
        ("facts", "desk", "shop/model", ["/text"]),
        ("facts", "desk", "desk/model", ["/refusal"]),
    ],
)
def test_class_agent_key_and_cause_each_part_clusters(other):
    assert digest("facts", "desk", "desk/model", ["/text"]) != digest(*other)


def test_failures_cluster_by_the_way_they_fail():
    refused, said = Failed("http_400", "schema of tool 7"), Answer(text="Hi")
    assert cause_of(said, refused) == ("replayed: http_400",)
    assert cause_of(refused, said) == ("recorded: http_400",)
    assert cause_of(Failed("http_500"), refused) == ("recorded: http_500", "replayed: http_400")


def test_what_was_not_asked_needs_no_cause():
    assert cause_of(Answer(text="Hi"), None) == ()


def test_another_finish_is_told_by_its_path():
    sides = Answer(text="Hi", finish_reason="stop"), Answer(text="Hi", finish_reason="length")
    assert compare(*sides).difference == Difference.STRUCTURE
    assert cause_of(*sides) == ("/finish_reason",)


names = st.sampled_from(["get", "pay", "refund"])
arguments = st.dictionaries(st.sampled_from("abc"), st.integers(0, 3), max_size=3)
calls = st.lists(st.tuples(names, arguments), max_size=4)
paths = st.lists(
    st.lists(st.sampled_from(["text", "a", "0", "17"]), min_size=1, max_size=3), max_size=5
)


def answered(made, prefix: str) -> Answer:
    return Answer(calls=tuple(call(n, a, f"{prefix}-{i}") for i, (n, a) in enumerate(made)))


@given(calls, calls)
def test_ids_of_calls_do_not_matter(before, after):
    one = cause_of(answered(before, "x"), answered(after, "y"))
    assert one == cause_of(answered(before, "call"), answered(after, "toolu"))


@given(paths, st.randoms())
def test_the_order_of_changes_does_not_matter(steps, chance):
    changes = [Changed("/" + "/".join(["text", *each])) for each in steps]
    mixed = chance.sample(changes, len(changes))
    found, other = (Comparison(Difference.FACTS, "", tuple(each)) for each in (changes, mixed))
    assert cause(found, Answer(), Answer()) == cause(other, Answer(), Answer())


@given(paths, st.integers(0, 99))
def test_places_in_lists_do_not_matter(steps, place):
    path = "/" + "/".join(step for each in steps for step in each)
    assert general(re.sub(r"\d+", str(place), path)) == general(path)


@given(st.lists(st.text(max_size=8), max_size=5), st.randoms())
def test_a_digest_is_that_of_a_set(causes, chance):
    mixed = chance.sample(causes, len(causes))
    assert digest("facts", "a", "k", causes) == digest("facts", "a", "k", mixed)
