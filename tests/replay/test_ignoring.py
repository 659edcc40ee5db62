"""What an ignore rule is, and what it does to a comparison; no database."""

from __future__ import annotations

import pytest
from drawn_answers import ANSWERS, WORDS, call
from hypothesis import given
from hypothesis import strategies as st

from replay.comparison.compare import Failed, compare, value_difference
from replay.dialects.answer import Answer
from replay.ignore_rules import masking
from replay.ignore_rules.rule import BadRule, made_of

ORDERS = {"name": "order ids", "pattern": "ord_[0-9A-Z]+"}


def rule(**members):
    return made_of({"name": "r", **members})


@pytest.mark.parametrize(
    ("members", "at_fault"),
    [
        ({}, "path"),
        ({"path": "calls/0"}, "path"),
        ({"path": "/**/*"}, "path"),
        ({"path": "/texts"}, "path"),
        ({"path": "/calls/~2"}, "path"),
        ({"path": "/calls" + "/a" * 20}, "path"),
        ({"path": "/text/\x00"}, "path"),
        ({"path": "/text", "tool": "get"}, "path"),
        ({"pattern": "(a+)+b"}, "pattern"),
        ({"pattern": "a" * 301}, "pattern"),
        ({"pattern": "abc\ud800"}, "pattern"),
        ({"pattern": 5}, "name"),
        ({"pattern": "abc", "name": " "}, "name"),
        ({"pattern": "abc", "name": "n" * 61}, "name"),
        ({"pattern": "abc", "tool": "t" * 201}, "tool"),
    ],
)
def test_a_rule_that_cannot_be_says_which_member_is_at_fault(members, at_fault):
    with pytest.raises(BadRule) as bad:
        rule(**members)
    assert bad.value.member == at_fault


@pytest.mark.parametrize(
    ("path", "before", "after", "expected"),
    [
        ("/calls/*/arguments/a~1b", '{"a/b": 1}', '{"a/b": 2}', "equivalent"),
        ("/calls/*/arguments/m~0n", '{"m~n": 1}', '{"m~n": 2}', "equivalent"),
        ("/calls/0/arguments/a", '{"a": 1}', '{"a": 2}', "equivalent"),
        ("/calls/1/arguments/a", '{"a": 1}', '{"a": 2}', "arguments"),
        ("/calls/*/arguments", '{"a": 1}', '{"b": 2}', "equivalent"),
        ("/calls/*/arguments/of/*/id", '{"of": [{"id": 1}]}', '{"of": [{"id": 2}]}', "equivalent"),
        ("/calls/**/id", '{"of": [{"id": 1}]}', '{"of": [{"id": null}]}', "equivalent"),
        ("/**/arguments/**/a", '{"a": 1}', '{"b": {"a": 2}}', "arguments"),
        ("/calls/*/arguments/a", '{"a": null}', "{}", "equivalent"),
        ("/calls/*/arguments/a", '{"a": 1, "b": 1}', '{"a": 2, "b": 2}', "arguments"),
        ("/calls/*/name", '{"a": 1}', '{"a": 2}', "arguments"),
    ],
)
def test_a_path_covers_what_stands_there_on_either_side(path, before, after, expected):
    sides = Answer(calls=(call("get", before),)), Answer(calls=(call("get", after),))
    assert compare(*sides, rules=[rule(path=path)]).difference == expected


def test_a_path_goes_into_json_in_a_fence():
    one, other, dearer = (
        Answer(f'```json\n{{"id": {id}, "eur": {eur}}}\n```')
        for id, eur in ((1, 5), (2, 5), (2, 6))
    )
    rules = [rule(path="/text/id")]
    assert compare(one, other).difference == "facts"
    assert compare(one, other, rules=rules).difference == "equivalent"
    found = compare(one, dearer, rules=rules)
    assert (found.difference, [change.path for change in found.changes]) == ("facts", ["/text/eur"])


def test_names_of_tools_are_covered_only_with_their_calls():
    sides = Answer(calls=(call("get"),)), Answer(calls=(call("put"),))
    assert compare(*sides, rules=[rule(path="/calls/*/name")]).difference == "tool_calls"
    assert compare(*sides, rules=[rule(path="/calls/*")]).difference == "equivalent"


def test_a_rule_of_a_tool_holds_for_its_calls_alone():
    before = Answer("ord_1", (call("get", '{"id": "ord_1"}'), call("put", '{"id": "ord_1"}')))
    after = Answer("ord_1", (call("get", '{"id": "ord_2"}'), call("put", '{"id": "ord_2"}')))
    found = compare(before, after, rules=[rule(pattern="ord_[0-9]+", tool="get")])
    assert (found.difference, found.summary) == ("arguments", "put: other id")
    both = [rule(pattern="ord_[0-9]+", tool=name) for name in ("get", "put")]
    assert compare(before, after, rules=both).difference == "equivalent"


def test_a_silenced_difference_says_which_rule_and_what_it_would_be():
    found = compare(Answer("See ord_A1."), Answer("See ord_A2."), rules=[made_of(ORDERS)])
    assert (found.difference, found.ignored, found.rules) == (
        "equivalent",
        "facts",
        ("order ids",),
    )
    assert found.summary == "ignored: order ids (else facts: names ord_A2, recorded named ord_A1)"
    assert [(one.recorded, one.replayed) for one in found.changes] == [
        ("See ord_A1.", "See ord_A2.")
    ]


def test_a_rule_that_explains_nothing_is_not_named():
    dates = made_of({"name": "dates", "pattern": "[0-9]{4}-[0-9]{2}-[0-9]{2}"})
    sides = Answer("On 2026-01-02: ord_A1."), Answer("On 2026-01-02: ord_A2.")
    assert compare(*sides, rules=[dates, made_of(ORDERS)]).rules == ("order ids",)


def test_what_is_left_is_told_with_what_was_ignored():
    found = compare(Answer("See ord_A1."), Answer("Look at ord_A2."), rules=[made_of(ORDERS)])
    assert (found.difference, found.ignored) == ("wording", "facts")
    assert found.summary.startswith("other wording; ignored: order ids (else facts")


SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (Answer('{"n": 1}'), Answer('{"n": "x"}'), "structure"),
        (Answer('{"n": 1}'), Failed("http_400"), "error"),
        (Answer('{"n": 1}'), None, "not_asked"),
    ],
)
def test_a_broken_schema_a_failure_and_an_absent_side_always_count(before, after, expected):
    assert compare(before, after, SCHEMA, [rule(path="/text")]).difference == expected


def test_a_finish_reason_can_be_ignored():
    sides = Answer("a", finish_reason="stop"), Answer("a", finish_reason="length")
    assert compare(*sides, rules=[rule(path="/finish_reason")]).ignored == "structure"
    assert compare(*sides, rules=[rule(pattern="stop|length")]).difference == "structure"


def test_a_text_too_long_for_patterns_is_compared_as_it_is(monkeypatch):
    monkeypatch.setattr(masking, "MOST_TEXT", 10)
    sides = Answer("See it: ord_A1"), Answer("See it: ord_A2")
    assert compare(*sides, rules=[made_of(ORDERS)]).difference == "facts"


def test_values_are_compared_under_rules_too():
    orders = [made_of(ORDERS)]
    assert value_difference({"id": "ord_1"}, {"id": "ord_2"}, orders).ignored == "facts"
    assert value_difference('{"id": 1}', '{"id": 2}', [rule(path="/result/id")]).ignored == "facts"


RULES_DRAWN = st.lists(
    st.sampled_from(
        [
            rule(path="/text"),
            rule(path="/calls/*/arguments/**/a"),
            rule(path="/calls/*", tool="get"),
            rule(path="/finish_reason"),
            rule(pattern="[0-9ab]{1,3}"),
            rule(pattern="[ab]+", path="/**/arguments"),
        ]
    ),
    max_size=3,
)


@given(ANSWERS, ANSWERS, RULES_DRAWN)
def test_rules_only_make_milder_and_the_same_from_both_sides(a, b, rules):
    plain, found = compare(a, b), compare(a, b, rules=rules)
    assert found.difference.severity <= plain.difference.severity
    assert found.ignored in (None, plain.difference)
    assert bool(found.rules) == (found.difference != plain.difference)
    assert compare(b, a, rules=rules).difference == found.difference


@given(WORDS, WORDS, RULES_DRAWN)
def test_rules_break_on_no_text(before, after, rules):
    found = compare(Answer(f'{{"{before}'), Answer(after), rules=rules)
    assert found.summary or not found.difference.is_change
