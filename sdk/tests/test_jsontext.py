import math
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewyn_sdk.errors import DecodeError
from rewyn_sdk.jsontext import MAX_DEPTH, Scanner, parse


def parses(text):
    try:
        parse(text, strict=True)
    except DecodeError:
        return False
    return True


def notes(text):
    scanner = Scanner(text)
    scanner.whole()
    return [code for code, _ in scanner.notes]


def test_strict_takes_what_rig_takes(parse_row):
    assert parses(parse_row["text"]) is parse_row["parses"]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("\ufeff{}", "byte_order_mark"),
        ("[NaN]", "not_a_number"),
        ("-Infinity", "not_a_number"),
        ("1e400", "out_of_range"),
        ("9" * 400, "out_of_range"),
        ('"\\ud800"', "lone_surrogate"),
        ('"\\udc00"', "lone_surrogate"),
        ('"\\ud83dx"', "lone_surrogate"),
        ('"\\ud83d\\ud83d\\ude80"', "lone_surrogate"),
        ('{"a":1,"a":2}', "doubled_key"),
    ],
)
def test_lenient_reads_on_and_says_so(text, code):
    assert notes(text) == [code]


@pytest.mark.parametrize("text", ['"\\ud83d\\ude80"', '"\\\\ud800"', "[1e308]", "-0", "{}"])
def test_what_is_well_is_not_noted(text):
    assert notes(text) == []


@pytest.mark.parametrize("strict", [True, False])
def test_numbers_mean_what_rig_reads(strict):
    read = parse("[-0, -0.0, 1.0, 1, 18446744073709551615, 1e2]", strict=strict)
    assert list(map(repr, read)) == ["-0.0", "-0.0", "1.0", "1", "18446744073709551615", "100.0"]


def test_integers_stay_exact_whatever_their_size():
    assert parse("[1000000000000000000000000000000]") == [10**30]


def test_numbers_beyond_any_integer_are_infinite():
    assert parse("[" + "9" * (sys.get_int_max_str_digits() + 1) + "]") == [math.inf]


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("levels", [MAX_DEPTH + 1, 1_000, 10_000, 200_000])
def test_deep_nesting_is_refused_with_a_word(levels, strict):
    with pytest.raises(DecodeError, match="recursion limit"):
        parse("[" * levels + "]" * levels, strict=strict)


def test_depth_counts_nesting_and_not_brackets():
    assert len(parse('["[[[", ' + "[]," * 400 + "{}]", strict=True)) == 402


def test_lenient_goes_deeper_than_strict():
    text = "[" * MAX_DEPTH + "]" * MAX_DEPTH
    assert parse(text) and not parses(text)


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize(
    ("text", "line", "column"),
    [('{"a":1,\n  oops}', 2, 3), ("[1]\n\n x", 3, 2), (b'{\n"a": "\xff"}', 2, 7), ("", 1, 1)],
)
def test_errors_name_the_place(text, line, column, strict):
    with pytest.raises(DecodeError) as caught:
        parse(text, strict=strict)
    assert (caught.value.line, caught.value.column) == (line, column)


def test_the_last_of_a_doubled_key_counts():
    assert parse('{"a":1,"a":2}') == parse('{"a":1,"a":2}', strict=True) == {"a": 2}


@given(st.text(max_size=60))
def test_no_text_makes_it_crash(text):
    assert isinstance(parses(text), bool)


@given(st.binary(max_size=60))
def test_no_bytes_make_it_crash(data):
    assert isinstance(parses(data), bool)
