import copy
import json
import pickle
import time
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewyn_sdk.canonical import canonical_json
from rewyn_sdk.diff import diff
from rewyn_sdk.encode import rig_json
from rewyn_sdk.errors import EncodeError
from rewyn_sdk.exact import (
    Precise,
    as_written,
    exact_json,
    holds_precise,
    is_less,
    is_whole,
    read_float,
    read_int,
    worth,
    worth_of,
)
from rewyn_sdk.jsontext import parse

DIGITS = st.text("0123456789", min_size=1, max_size=40)
EXPONENT = st.just("") | st.builds("e{}".format, st.integers(-400, 400))
NUMBERS = st.builds(
    lambda sign, whole, fraction, exponent: (
        f"{sign}{whole.lstrip('0') or '0'}{'.' + fraction if fraction else ''}{exponent}"
    ),
    st.sampled_from(["", "-"]),
    DIGITS,
    st.just("") | DIGITS,
    EXPONENT,
)
HELD = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.text()
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)  # fmt: skip


def read(text):
    return parse(text, exact=True)


@given(NUMBERS, NUMBERS)
def test_numbers_have_one_worth_exactly_when_they_are_equal(one, other):
    assert (worth(one) == worth(other)) == (Decimal(one) == Decimal(other))
    values = read(one), read(other)
    assert (worth_of(values[0]) == worth_of(values[1])) == (Decimal(one) == Decimal(other))
    assert is_less(*values) == (Decimal(one) < Decimal(other))
    assert is_whole(values[0]) == (Decimal(one).to_integral_value() == Decimal(one))


@given(NUMBERS)
def test_a_number_is_a_plain_one_where_that_has_it(text):
    value = read(text)
    if isinstance(value, Precise):
        assert value.text == text and float(value) == float(text)
    else:
        assert Decimal(repr(value)) == Decimal(text)


@given(HELD)
def test_what_floats_hold_has_its_canonical_text(value):
    assert exact_json(value) == canonical_json(value)
    assert as_written(value) is None


@given(NUMBERS, NUMBERS)
def test_exact_texts_differ_where_numbers_do(one, other):
    sides = [exact_json(read(f'{{"a": [{text}]}}')) for text in (one, other)]
    if Decimal(one) != Decimal(other):
        assert sides[0] != sides[1]
    for text, side in zip((one, other), sides, strict=True):
        assert Decimal(json.loads(side, parse_float=str, parse_int=str)["a"][0]) == Decimal(text)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("1e400", "2e400"),
        ("1e400", "-1e400"),
        ("1e-400", "0"),
        ("1e400", "null"),
        ("NaN", "null"),
        ("Infinity", "1e400"),
        ("0.1234567890123456781", "0.1234567890123456782"),
        ("9007199254740993.0", "9007199254740992.0"),
        ("111111111111111111111", "111111111111111111112"),
        ("1" * 5000, "1" * 4999 + "2"),
        ("1", "1.0"),
    ],
)
def test_other_numbers_are_changes_with_other_texts(one, other):
    before, after = read(f"[{one}]"), read(f"[{other}]")
    assert exact_json(before) != exact_json(after)
    assert len(diff(before, after)) == 1
    assert diff(before, read(f"[{one}]")) == []


def test_digits_are_kept_by_copies_and_writers():
    text = '{"b":[1e400,0.1234567890123456781,1.5],"a":0.00001}'
    value = read(text)
    assert holds_precise(value)
    for one in (value, copy.deepcopy(value), pickle.loads(pickle.dumps(value))):
        assert as_written(one) == text
    assert as_written({"a": [read("1e400")]}, indent=2) == '{\n  "a": [\n    1e400\n  ]\n}'
    assert rig_json(parse(text)) == '{"b":[null,0.12345678901234568,1.5],"a":0.00001}'


def test_a_precise_number_is_equal_to_its_like_alone():
    one, same, other = (read_float(text) for text in ("1e400", "10e399", "2e400"))
    assert [one == same, one != same, one == other, one != other] == [True, False, False, True]
    assert hash(one) == hash(same)
    assert one != float("inf") and read_int("9" * 4000) != 9


@pytest.mark.parametrize("named", [float("inf"), float("-inf"), float("nan")])
def test_beside_what_is_no_number(named):
    one = read("1e400")
    assert is_less(one, named) == (named == float("inf"))
    assert is_less(named, one) == (named == float("-inf"))


def test_integers_of_any_length_and_what_is_no_json():
    assert exact_json([10**5000, 10**5000 + 1]) == f"[1{'0' * 5000},1{'0' * 4999}1]"
    assert worth_of(10**5000) == "1e5000"
    with pytest.raises(EncodeError):
        exact_json([object()])


@pytest.mark.parametrize("number", ["1e-7", "1e400", "0.1234567890123456781"])
def test_what_nests_too_deep_to_be_written_is_refused(number):
    value = read(number)
    for _ in range(600):
        value = {"a": value}
    with pytest.raises(EncodeError):
        exact_json(value)


@pytest.mark.parametrize(
    "text",
    ["1e999999999", "1e-999999999", "1e" + "9" * 200_000, "0." + "3" * 200_000, "7" * 200_000,
     "1e-" + "0" * 200_000 + "5"],
)  # fmt: skip
def test_no_number_takes_long(text):
    start = time.process_time()
    value = read(text)
    exact_json([value])
    assert is_less(value, read("-1e400")) is False
    assert value == read(text)
    assert time.process_time() - start < 1
