"""Each class of difference from both sides: what is in it, and what just is not."""

from __future__ import annotations

import json
import time

import pytest
from drawn_answers import ANSWERS, CALLS, JSON, WORDS, call
from hypothesis import given
from hypothesis import strategies as st

from replay.comparison import compare as compare_module
from replay.comparison.compare import Comparison, Failed, compare, matched, value_difference
from replay.comparison.differences import Difference, worst
from replay.dialects.answer import Answer, AnswerCall
from replay.dialects.answers import call_of


def text_class(before: str, after: str) -> str:
    return compare(Answer(text=before), Answer(text=after)).difference


def calls_class(before: list[AnswerCall], after: list[AnswerCall]) -> Comparison:
    return compare(Answer(calls=tuple(before)), Answer(calls=tuple(after)))


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("It is paid.", "It is paid.", "same"),
        ("It is  paid.\n", "It is paid.", "equivalent"),
        ("It costs 1,000.50 in all.", "It costs 1000.5 in all.", "equivalent"),
        ('{"a": 1, "b": 2.0}', '{"b":2,"a":1}', "equivalent"),
        ("It is paid.", "It has been paid.", "wording"),
        ("1. Pay\n2. Wait", "- Pay\n- Wait it out", "wording"),
        ("Paid €49.90 today.", "Today we paid 49.90 EUR.", "wording"),
        ("On 5 March 2026 it ends.", "It ends 2026-03-05.", "wording"),
        ("Ask for “Ada” there.", "There, ask for Ada please.", "wording"),
        ("It is 49.90 EUR.", "It is 49.80 EUR.", "facts"),
        ("It is 49.90 EUR.", "It is 49.90 USD.", "facts"),
        ("You have 2 charges.", "You have 3 charges.", "facts"),
        ("It ends 2026-03-05.", "It ends on 6 March 2026.", "facts"),
        ("Call at 14:30.", "Call at 3 pm.", "facts"),
        ("See order ch_77A1.", "See order ch_77A2.", "facts"),
        ("Read https://a.example/x.", "Read https://a.example/y.", "facts"),
        ("The 'Munch museum' is open.", "The 'Nobel museum' is open.", "facts"),
        ("The order is late.", "The order 8812 is late.", "facts"),
        ('{"total": 10}', '{"total": 11}', "facts"),
        ('{"paid": true}', '{"paid": false}', "facts"),
        ('{"why": "it is late"}', '{"why": "it came late"}', "wording"),
        ('{"paid": null}', "{}", "facts"),
        ('{"of": [null]}', '{"of": []}', "facts"),
        ('{"of": {"eur": 1, "to": null}}', '{"of": {"eur": 1}}', "facts"),
        ('```json\n{"a": 1, "b": 2}\n```', '```json\n{"b": 2.0,"a": 1}\n```', "equivalent"),
        ('```json\n{"a": 1}\n```', '```json\n{"a": 2}\n```', "facts"),
        ('```json\n{"a": 1}\n```', '{"a": 1}', "wording"),
    ],
)
def test_texts(before, after, expected):
    assert text_class(before, after) == expected


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("It is 1e3.", "It is 1000.", "equivalent"),
        ("It is 1e3.", "It is 1e4.", "facts"),
        ("It is 1\u00a0000 EUR.", "It is 1,000 EUR.", "equivalent"),
        ("It is 1'000.", "It is 1000.", "equivalent"),
        ("It is −5.", "It is -5.0.", "equivalent"),
        ("It is −5.", "It is 5.", "facts"),
        # A dot before three digits may be a thousand: it is only itself.
        ("It is 1.000 EUR.", "It is 1 EUR.", "facts"),
        ("It is 1.000 EUR.", "It is 1000 EUR.", "facts"),
        # Zeros in front may be part of a name.
        ("It is order 0042.", "It is order 42.", "facts"),
        ("It is ch_0042.", "It is ch_42.", "facts"),
        ("It is v1.10.", "It is v1.1.", "facts"),
        ("Due 03/05/2026.", "Due 3/5/2026.", "equivalent"),
        ("It is " + "1" * 40 + "2.", "It is " + "1" * 40 + "3.", "facts"),
        ("It has 5 kg.", "It has 5 kilograms.", "wording"),
        ("It has 5 kg.", "It has 5kg.", "wording"),
        ("It has 5 kg.", "It has 5 of them.", "wording"),
        ("It has 5 mg.", "It has 5 g.", "facts"),
        ("Take 5mg.", "Take 5g.", "facts"),
        ("In 5 days.", "In 5 weeks.", "facts"),
        ("It is 5%.", "It is 5 percent.", "wording"),
        ("Seat 12A.", "Seat 12B.", "facts"),
        ("It is $1.5M.", "It is 1.5 million dollars.", "wording"),
        ("It is $1.5M.", "It is $1.5K.", "facts"),
        ("It is $1.5 million.", "It is $1.5 billion.", "facts"),
        ("It is 10k.", "It is 10,000 all in all.", "wording"),
        ("It is 5 dollars.", "It is $5.", "wording"),
        ("It is 5 dollars.", "It is 5 euros.", "facts"),
        ("It is A$5.", "It is $5.", "facts"),
        ("It is ₺5.", "It is ₿5.", "facts"),
        ("It is -$5.", "It is -5 USD.", "wording"),
        ("It is -$5.", "It is $5.", "facts"),
        ("Come at 3 pm.", "Come at 15:00.", "wording"),
        ("Come at 3 pm.", "Come at 3 am.", "facts"),
        ("From March 2026.", "From 2026, March on.", "facts"),
        ("From March 2026.", "From April 2026.", "facts"),
        ("Due in March.", "In March it is due.", "wording"),
        ("Due in March.", "Due in April.", "facts"),
        ("On Monday.", "It is on Monday.", "wording"),
        ("On Monday.", "On Tuesday.", "facts"),
        ("On Thursday, 5 March 2026.", "It is on 2026-03-05.", "wording"),
        ("On 2026/03/05.", "It is on 2026-03-05.", "wording"),
        ("On 2026/03/05.", "On 2026/03/06.", "facts"),
        ("Decimal 5.", "December 5.", "facts"),
        ("The answer is\n42.", "The answer is\n43.", "facts"),
        ("Order `ch_77A1` is late.", "Order ch_77A1 came late.", "wording"),
        ("Order `ch_77A1` is late.", "Order `ch_77A2` is late.", "facts"),
        ('Order "8812" is late.', "Order 8812 came late.", "wording"),
        ("Ask ‘Ada’ there.", "There, ask Ada.", "wording"),
        ("Ask ‘Ada’ there.", "Ask ‘Bob’ there.", "facts"),
        ('Ask "Ann" there.', "Ask Annette there.", "facts"),
        ("Set maxTokens.", "You set maxTokens.", "wording"),
        ("Set maxTokens.", "Set minTokens.", "facts"),
        ("See docs.example.com/a now.", "Now see docs.example.com/a.", "wording"),
        ("See example.com now.", "See example.org now.", "facts"),
        # In otherwise equal texts it counts where each stands, else facts are a set.
        ("Ada pays 5, Bob 6.", "Ada pays 6, Bob 5.", "facts"),
        ("A gets 10 and B gets 20.", "A gets  20 and B gets 10.", "facts"),
        ("Of 5 came 5, of 6 came 6.", "Of 5 came 5, of 6 came 5.", "facts"),
        ("“Ada” paid “Bob”.", "“Bob” paid “Ada”.", "facts"),
        ("From ch_1 to ch_2 by 3 pm.", "From ch_1 to ch_2 by 15:00.", "wording"),
        ("It has 5 kg or 6.", "It has 5 or 6 kg.", "wording"),
        ("Ada pays 5, Bob 6.", "Bob pays 6 and Ada 5.", "wording"),
        ("It is 5 %.", "It is 5.", "facts"),
        ("It is 5 %.", "It is 5 percent.", "wording"),
        ("It is 5-10 %.", "It is 5% to 10%.", "wording"),
        ("It is 5-10 %.", "It is 5-12 %.", "facts"),
        ("It is 5,0-10 %.", "It is 5.0-10 %.", "equivalent"),
        ("It is 5.0–10.0%.", "It is 5–10%.", "equivalent"),
        ("Install version 1.10.", "Install version 1.1.", "facts"),
        ("Install version 1.10.", "Version 1.10 is what to install.", "wording"),
        ("Install version 1.10.", "You need 1.10, install it.", "wording"),
        ("Install version 1.10.", "You need v1.10, install it.", "wording"),
        ("Install version 1.1.", "You need 1.10, install it.", "facts"),
        ("Use Python 3.10.", "Use Python 3.1.", "facts"),
        ("Python 3.10 is out.", "Python 3.1 is out.", "facts"),
        ("See section 4.20.", "See section 4.2.", "facts"),
        ("It comes with Acme 2.30.", "It comes with Acme 2.3.", "facts"),
        ("It is 1.50 dollars.", "It is 1.5 dollars.", "equivalent"),
        ("In Oslo 1.50 dollars.", "In Oslo 1.5 dollars.", "equivalent"),
        ("In Oslo 1.5 million.", "In Oslo 1.5 billion.", "facts"),
        ("The mean is 4.0.", "The mean is 4.", "equivalent"),
        # Digits in other groups than of thousands are no number.
        ("Pick 1,2,3.", "Pick 123.", "facts"),
        ("He is 5'6 tall.", "He is 56 tall.", "facts"),
        ("It has 12,34,567.", "It has 1234567.", "equivalent"),
        ("It is 1'234.5.", "It is 1234.5.", "equivalent"),
        ("It is 1.234.567,5.", "It is 1234567.5.", "equivalent"),
        (f"It is 1.{'2' * 40}3 million.", f"It is 1.{'2' * 41} million.", "facts"),
    ],
)
def test_facts_and_spelling_from_both_sides(one, other, expected):
    assert (text_class(one, other), text_class(other, one)) == (expected, expected)


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ([call("get", '{"a":1,"b":2}')], [call("get", '{"a":1,"b":2}', "other")], "same"),
        ([call("get", '{"a":1,"b":2}')], [call("get", '{"b":2, "a":1}')], "equivalent"),
        ([call("get", '{"a":1}')], [call("get", '{"a":1.0}')], "equivalent"),
        ([call("get", '{"q":"a  b"}')], [call("get", '{"q":"a b"}')], "equivalent"),
        ([call("get", '{"a":1e16}')], [call("get", '{"a":10000000000000000}')], "equivalent"),
        ([call("get", '{"a":1e16}')], [call("get", '{"a":10000000000000001}')], "arguments"),
        ([call("get", '{"a":null}')], [call("get", "{}")], "arguments"),
        (
            [call("get", '{"a":123456789012345678901234}')],
            [call("get", '{"a":123456789012345678901235}')],
            "arguments",
        ),
        ([call("get", '{"a":1}')], [call("get", '{"a":2}')], "arguments"),
        ([call("get", '{"a":1}')], [call("get", '{"a":1,"b":2}')], "arguments"),
        ([call("get", '{"a":1}')], [call("get", '{"a":"1"}')], "arguments"),
        ([call("get", '{"a":1}')], [call("get", '{"a":')], "arguments"),
        ([call("get")], [call("put")], "tool_calls"),
        ([call("get")], [], "tool_calls"),
        ([call("get"), call("put")], [call("put"), call("get")], "tool_calls"),
        ([call("get")], [call("get"), call("get")], "tool_calls"),
    ],
)
def test_calls(before, after, expected):
    assert calls_class(before, after).difference == expected


def test_parallel_calls_match_by_content():
    a, b, c = call("get", '{"n":1}'), call("get", '{"n":2}'), call("get", '{"n":3}')
    assert calls_class([a, b], [b, a]).difference == "equivalent"
    assert list(matched([a, b], [b, c])) == [(b, b), (a, c)]


def test_parallel_calls_match_by_content_however_it_is_spelled():
    a, b = call("get", '{"q":"to  Oslo","n":1}'), call("get", '{"q":"to  Rome","n":2}')
    other = [call("get", '{"n":2.0,"q":"to Rome"}'), call("get", '{"n":1.0,"q":"to Oslo"}')]
    assert list(matched([a, b], other)) == [(b, other[0]), (a, other[1])]
    assert calls_class([a, b], other).difference == "equivalent"
    other[0] = call("get", '{"n":3,"q":"to Rome"}')
    assert calls_class([a, b], other).summary == "get: other n"


def test_the_changed_argument_is_named():
    found = calls_class(
        [call("refund", '{"to":{"eur":10}}')], [call("refund", '{"to":{"eur":20}}')]
    )
    assert found.summary == "refund: other to/eur"
    assert [(c.path, c.recorded, c.replayed) for c in found.changes] == [
        ("/calls/0/arguments/to/eur", 10, 20)
    ]


def test_other_tools_are_named():
    found = calls_class([call("list_charges")], [call("refund_charge")])
    assert found.summary == "drops list_charges, calls refund_charge"


def test_figures_that_changed_places_are_named():
    found = compare(Answer(text="A gets 10, B gets 20."), Answer(text="A gets 20, B gets 10."))
    assert (found.difference, found.summary) == ("facts", "names 20 where recorded named 10")


def test_thousands_of_names_stall_nothing():
    start = time.process_time()
    for word in ('"n{}"', "version {0}.{0}"):
        texts = (" ".join(word.format(n) for n in range(s, s + 9000)) for s in (0, 10_000))
        assert text_class(*texts) == "facts"
    assert time.process_time() - start < 5


def test_other_facts_are_named():
    found = compare(Answer(text="It is 2 × 49.90 EUR."), Answer(text="It is 49.90 EUR."))
    assert (found.difference, found.summary) == ("facts", "no longer names 2")


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (Answer("a", finish_reason="stop"), Answer("a", finish_reason="length"), "structure"),
        (Answer("a", finish_reason="stop"), Answer("a", finish_reason=None), "same"),
        (Answer("a"), Answer("", refusal="I cannot."), "structure"),
        (Answer("", refusal="I cannot."), Answer("", refusal="I will not."), "wording"),
        (
            Answer(calls=(call("get"),), finish_reason="tool_calls"),
            Answer(text="Done.", finish_reason="stop"),
            "tool_calls",
        ),
        (
            Answer(calls=(call("get"),), finish_reason="tool_calls"),
            Answer(calls=(call("get"),), finish_reason="length"),
            "structure",
        ),
    ],
)
def test_structure(before, after, expected):
    assert compare(before, after).difference == expected


SCHEMA = {
    "type": "object",
    "properties": {"grade": {"type": "string", "enum": ["A", "B"]}},
    "required": ["grade"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        ('{"grade": "B"}', "facts"),
        ('{"grade": "C"}', "structure"),
        ("{}", "structure"),
        ('{"grade": "A", "why": 1}', "structure"),
        ("The grade is A.", "structure"),
    ],
)
def test_an_answer_that_breaks_the_schema(after, expected):
    assert compare(Answer('{"grade": "A"}'), Answer(after), SCHEMA).difference == expected


@pytest.mark.parametrize("levels", [100, 199, 600, 980, 5000, 200_000])
def test_whatever_nests_can_be_compared(levels):
    one, other = ("[" * levels + value + "]" * levels for value in "12")
    assert text_class(one, one + " ") == "equivalent"
    assert text_class(one, other) == "facts"
    nested = [call_of("get", "c1", f'{{"a":{written}}}') for written in (one, other)]
    assert calls_class(nested[:1], nested[:1]).difference == "same"
    assert calls_class(nested[:1], nested[1:]).difference == "arguments"


@pytest.mark.parametrize(
    ("part", "fits", "breaks"),
    [
        ({"minimum": 1}, "1", "0"),
        ({"maximum": 5}, "5", "6"),
        ({"exclusiveMinimum": 1}, "2", "1"),
        ({"exclusiveMaximum": 5}, "4", "5"),
        ({"minLength": 2}, '"ab"', '"a"'),
        ({"maxLength": 2}, '"ab"', '"abc"'),
        ({"minItems": 1}, "[1]", "[]"),
        ({"maxItems": 1}, "[1]", "[1, 2]"),
        ({"minProperties": 1}, '{"a": 1}', "{}"),
        ({"enum": [1]}, "1.0", "true"),
        ({"const": {"a": [0]}}, '{"a": [0.0]}', '{"a": [false]}'),
        ({"additionalProperties": {"type": "string"}}, '{"a": "b"}', '{"a": 1}'),
        ({"prefixItems": [{"type": "string"}], "items": False}, '["a"]', '["a", 1]'),
        ({"oneOf": [{"type": "string"}, {"type": "null"}]}, "null", "1"),
        ({"required": ["a", ["b"]]}, '{"a": 1}', "{}"),
    ],
)
def test_the_keywords_of_a_schema_from_both_sides(part, fits, breaks):
    schema = {"type": "object", "properties": {"v": part}}
    whole = Answer(f'{{"v": {fits}}}')
    assert compare(whole, Answer(f'{{"v": {fits}, "w": 1}}'), schema).difference == "facts"
    assert compare(whole, Answer(f'{{"v": {breaks}}}'), schema).difference == "structure"


def test_a_schema_that_refers_to_itself_stalls_nothing():
    tree = {"type": "object", "properties": {"of": {"type": "array", "items": {"$ref": "#"}}}}
    deep = '{"of": [{"of": [{"of": [%s]}]}]}'
    assert compare(Answer(deep % "{}"), Answer(deep % "1"), tree).difference == "structure"
    itself = {"allOf": [{"$ref": "#"}, {"$ref": "#"}], "minProperties": 1}
    assert compare(Answer('{"a": 1}'), Answer("{}"), itself).difference == "structure"


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (Answer("a"), None, "not_asked"),
        (None, Answer("a"), "not_recorded"),
        (None, None, "same"),
        (Answer("a"), Failed("http_400", "bad model"), "error"),
        (Failed("http_429"), Answer("a"), "error"),
        (Failed("http_429"), Failed("http_429"), "same"),
        (Failed("http_429"), Failed("timeout"), "error"),
    ],
)
def test_sides_that_are_not_there(before, after, expected):
    assert compare(before, after).difference == expected


def test_the_provider_s_own_words_are_told():
    assert compare(Answer("a"), Failed("http_400", "no such model")).summary == (
        "http_400: no such model"
    )


def test_the_gravest_class_counts():
    before = Answer("One.", (call("get", '{"a":1}'),))
    after = Answer("Two.", (call("get", '{"a":2}'),))
    assert compare(before, after).difference == "arguments"


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ({"a": 1}, {"a": 1}, "same"),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, "equivalent"),
        (14, 15, "facts"),
        (1, 1.0, "equivalent"),
        ({"a": "b  c"}, {"a": "b c"}, "equivalent"),
        ({"a": None}, {}, "facts"),
        ([10**30], [10**30 + 1], "facts"),
        ("fine", "good", "wording"),
    ],
)
def test_values(before, after, expected):
    assert value_difference(before, after).difference == expected


def test_severity_is_the_declared_order():
    assert worst([Difference.FACTS, Difference.SAME, Difference.ARGUMENTS]) == "arguments"
    assert [d.value for d in Difference if not d.is_change] == ["same", "equivalent"]


@given(ANSWERS)
def test_an_answer_is_the_same_as_itself(answer):
    found = compare(answer, answer)
    assert (found.difference, found.changes) == ("same", ())


@given(ANSWERS, ANSWERS)
def test_both_directions_give_one_class(a, b):
    assert compare(a, b).difference == compare(b, a).difference


@given(ANSWERS, ANSWERS)
def test_what_differs_says_where_and_why(a, b):
    found = compare(a, b)
    assert bool(found.summary) or not found.difference.is_change
    assert bool(found.changes) or found.difference == "same"


@given(JSON, JSON)
def test_documents_that_differ_are_never_the_same(a, b):
    found = text_class(json.dumps({"of": a}), json.dumps({"of": b}))
    assert (found == "same") == (json.dumps(a) == json.dumps(b))


@given(WORDS)
def test_white_space_is_never_a_change(text):
    assert text_class(text, f"  {text.replace(' ', '   ')}  ") in ("same", "equivalent")


@given(st.lists(CALLS, max_size=4))
def test_every_call_finds_one_partner(calls):
    pairs = list(matched(calls, calls[::-1]))
    assert sorted(id(old) for old, _ in pairs) == sorted(map(id, calls))


def test_answers_in_json_are_held_against_each_other_once(monkeypatch):
    held: list[tuple[object, object]] = []
    real = compare_module.diff

    def counted(a, b):
        held.append((a, b))
        return real(a, b)

    monkeypatch.setattr(compare_module, "diff", counted)
    before, after = ({"of": [{"eur": n}]} for n in (5, 6))
    found = compare(*(Answer(text=json.dumps(one)) for one in (before, after)))
    assert [change.path for change in found.changes] == ["/text/of/0/eur"]
    assert [pair for pair in held if "of" in str(pair)] == [(before, after)]


@pytest.mark.parametrize(("opening", "closing"), ['""', "“”", "„“", "«»", "``"])
def test_a_long_name_is_cut_after_a_word_and_closed(opening: str, closing: str) -> None:
    name = f"{opening}Hi, I see two payments of the same sum on my card for last November{closing}"
    found = compare(Answer(text="It is paid."), Answer(text=f"It is {name}."))
    told = f"{opening}Hi, I see two payments of the same sum on my card for…{closing}"
    assert found.summary == f"also names {told}"


def test_a_long_name_without_a_blank_is_cut_anywhere() -> None:
    found = compare(Answer(text="See it."), Answer(text=f"See https://a.example/{'x' * 90} it."))
    assert found.summary == f"also names https://a.example/{'x' * 40}…"
