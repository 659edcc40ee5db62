import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runs.messages import exact

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text("ab\"\\/\n\x00\u2028é😀", max_size=6),
    lambda inner: st.lists(inner, max_size=4)
    | st.dictionaries(st.text("ab~/\"", max_size=4), inner, max_size=4),
    max_leaves=15,
)  # fmt: skip
NUMBERS = ["1e2", "1E+2", "1.0", "-0", "-0.0", "18446744073709551615", "0.30000000000000004"]


@pytest.mark.parametrize("text", [*NUMBERS, "9" * 5000, "1" + "0" * 30])
def test_a_number_keeps_its_digits(text: str) -> None:
    assert exact.pretty(exact.loads(f'{{"n":{text}}}'), 10_000).text == f'{{\n  "n": {text}\n}}'


@pytest.mark.parametrize(("a", "b"), [("1", "1.0"), ("1", "true"), ("0", "false"), ("0", "-0")])
def test_other_spellings_are_other_values(a: str, b: str) -> None:
    assert exact.same(exact.loads(a), exact.loads(a))
    assert not exact.same(exact.loads(a), exact.loads(b))


def test_re_indenting_keeps_doubled_keys_escapes_and_digits() -> None:
    tokens, whole = exact.reindent(rb'{"a":1e2,"a":"\u00e9\/", "b" : []}', 1000)
    text = "".join(token.text for token in tokens)
    assert text == '{\n  "a": 1e2,\n  "a": "\\u00e9\\/",\n  "b": []\n}'
    assert whole
    assert [token.text for token in tokens if token.kind == "key"] == ['"a"', '"a"', '"b"']


@given(value=json_values)
def test_re_indented_json_reads_the_same(value: object) -> None:
    tokens, _ = exact.reindent(json.dumps(value).encode(), 100_000)
    text = "".join(token.text for token in tokens)
    assert json.loads(text) == value
    assert exact.indented(json.dumps(value).encode(), 100_000).text == text
    assert json.loads(exact.pretty(value, 100_000).text) == value


@given(data=st.binary(max_size=60), limit=st.integers(0, 40))
def test_re_indenting_takes_any_bytes(data: bytes, limit: int) -> None:
    exact.reindent(data, limit)
    assert len(exact.indented(data, limit).text) <= limit


def test_a_long_value_is_cut_and_says_so() -> None:
    shown = exact.pretty({"text": "x" * 1000}, 100)
    assert shown.cut
    assert len(shown.text) == 100
    assert shown.size == len('{\n  "text": ""\n}') + 1000


def test_depth_beyond_the_parser_is_an_error_not_a_crash() -> None:
    with pytest.raises(ValueError):
        exact.loads("[" * 100_000)


@given(json_values)
def test_indented_json_is_that_of_the_standard_library_and_its_size_is_true(value) -> None:
    whole = json.dumps(value, indent=2, ensure_ascii=False)
    assert exact.pretty(value, 2**31).text == whole
    assert exact.pretty(value, 3).size == len(whole)
    assert json.loads(exact.compact(value)) == value
