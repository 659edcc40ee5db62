import json
import math
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewyn_sdk import canonical_bytes, canonical_json, stable_hash
from rewyn_sdk.errors import EncodeError
from rewyn_sdk.jsontext import parse

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(10**25), 10**25)
    | st.floats()
    | st.sampled_from([1e-5, 1.5e-5, 1e-7, 1e16, 1e15, 5e-324, -0.0])
    | st.text()
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


def reference_number(x):
    """§6.2 of the format, as it stands there."""
    if isinstance(x, int) and -(2**63) <= x < 2**64:
        return str(x)
    x = float(x)
    if x != x or abs(x) == math.inf:
        return "null"
    sign, digits, exp = Decimal(repr(x)).as_tuple()
    d, s = "".join(map(str, digits)).lstrip("0"), "-" if sign else ""
    if not d:
        return s + "0.0"
    while len(d) > 1 and d[-1] == "0":
        d, exp = d[:-1], exp + 1
    point = len(d) + exp
    if exp >= 0 and point <= 16:
        return s + d + "0" * exp + ".0"
    if 0 < point <= 16:
        return s + d[:point] + "." + d[point:]
    if -5 < point <= 0:
        return s + "0." + "0" * -point + d
    plus = "+" if point > 0 else ""
    return s + (d if len(d) == 1 else d[0] + "." + d[1:]) + "e" + plus + str(point - 1)


def reference(v):
    """§6.2 of the format, as it stands there."""
    if v is None or isinstance(v, bool):
        return json.dumps(v)
    if isinstance(v, (int, float)):
        return reference_number(v)
    if isinstance(v, str):
        return json.dumps(v, ensure_ascii=False)
    if isinstance(v, list):
        return "[" + ",".join(map(reference, v)) + "]"
    pairs = (json.dumps(k, ensure_ascii=False) + ":" + reference(v[k]) for k in sorted(v))
    return "{" + ",".join(pairs) + "}"


def test_text_and_hash_are_rigs(hash_row):
    value = parse(hash_row["text"])
    assert canonical_json(value) == hash_row["json_text"]
    assert stable_hash(value) == int(hash_row["stable_hash"])


@pytest.mark.parametrize(
    ("value", "digest"),
    [
        ("run", 3756214662760930808),
        ({}, 645223143103797797),
        (None, 6601085983368743140),
        ({"a": "é\n\u0001/", "b": [1, 1.0, 1e16, 2e-7]}, 15945904431631640560),
    ],
)
def test_hash_vectors_of_the_format(value, digest):
    assert stable_hash(value) == digest


@given(VALUES)
def test_equals_the_slow_reference(value):
    assert canonical_json(value) == reference(value)


@given(VALUES)
def test_reading_the_text_gives_the_text(value):
    text = canonical_json(value)
    assert canonical_json(parse(text)) == text


@given(st.dictionaries(st.text(), SCALARS))
def test_key_order_does_not_matter(value):
    assert canonical_json(value) == canonical_json(dict(reversed(value.items())))


def test_a_lone_surrogate_keeps_its_three_bytes():
    assert canonical_bytes("a\ud800") == b'"a\xed\xa0\x80"'


def test_an_integer_beyond_a_double_keeps_its_digits():
    assert canonical_json(10**400) == "1" + "0" * 400


@pytest.mark.parametrize("value", [object(), {1: "x", "a": 2}, b"bytes", [{1, 2}]])
def test_what_is_no_json_is_refused(value):
    with pytest.raises(EncodeError):
        canonical_json(value)


def test_endless_nesting_is_refused():
    value: list = []
    value.append(value)
    with pytest.raises(EncodeError):
        canonical_json(value)
