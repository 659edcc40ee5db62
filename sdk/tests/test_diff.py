import json
import time

import jsonpatch
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewyn_sdk import Change, diff, to_json_patch
from rewyn_sdk.diff import equal

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(0, 3) | st.sampled_from([0.0, 1.0, 1.5, "", "a", "/~"]),
    lambda inner: (
        st.lists(inner, max_size=6)
        | st.dictionaries(st.sampled_from(["a", "b", "/", "~", "a/b", "", "0"]), inner, max_size=4)
    ),
    max_leaves=25,
)


def text(value):
    """The exact text, in which 1, 1.0 and true differ."""
    return json.dumps(value, sort_keys=True)


@given(VALUES, VALUES)
def test_the_patch_rebuilds_the_other_value(a, b):
    patch = jsonpatch.JsonPatch(to_json_patch(diff(a, b)))
    assert text(patch.apply(a)) == text(b)


@given(VALUES, VALUES)
def test_no_change_means_the_same_text(a, b):
    assert equal(a, b) is (text(a) == text(b))
    assert (diff(a, b) == []) is (text(a) == text(b))


@given(VALUES, VALUES)
def test_pointers_lead_to_the_values_on_both_sides(a, b):
    for change in diff(a, b):
        assert change.old == at(a, change.old_pointer)
        assert change.new == at(b, change.new_pointer)


def at(document, pointer):
    return jsonpatch.JsonPointer(pointer).resolve(document) if pointer is not None else None


@pytest.mark.parametrize(("a", "b"), [(1, 1.0), (1, True), (0, False), (0.0, False), ("1", 1)])
def test_scalars_differ_by_type(a, b):
    assert diff(a, b) == [Change("replace", "", "", a, b)]
    assert diff([a], [b]) == [Change("replace", "/0", "/0", a, b)]


@pytest.mark.parametrize(("a", "b"), [(10**30, 1e30), (float("nan"), None)])
def test_values_with_one_canonical_text_still_differ(a, b):
    assert [change.op for change in diff([a], [b])] == ["replace"]


def test_signed_zeros_are_one_number_and_nan_is_itself():
    assert diff([0.0, float("nan")], [-0.0, float("nan")]) == []


def test_an_item_put_in_front_is_one_addition():
    a = [{"n": n} for n in range(200)]
    assert diff(a, [{"n": "new"}, *a]) == [Change("add", None, "/0", None, {"n": "new"})]


def test_a_change_inside_a_moved_item_has_both_places():
    a = [{"role": "user", "text": "hi"}, {"role": "assistant", "text": "yes"}]
    b = [{"role": "system"}, *a[:1], {"role": "assistant", "text": "no"}]
    assert diff({"m": a}, {"m": b}) == [
        Change("add", None, "/m/0", None, {"role": "system"}),
        Change("replace", "/m/1/text", "/m/2/text", "yes", "no"),
    ]


def test_keys_are_escaped():
    assert diff({"a/b": {"~": 1}}, {"a/b": {}}) == [Change("remove", "/a~1b/~0", None, 1)]


def test_a_patch_of_removals_and_additions_in_one_list():
    assert to_json_patch(diff([1, 2, 3, 4], [0, 2, 5, 6, 4])) == [
        {"op": "replace", "path": "/2", "value": 5},
        {"op": "replace", "path": "/0", "value": 0},
        {"op": "add", "path": "/3", "value": 6},
    ]


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (list(range(50_000)), [-1, *range(40_000), *range(40_001, 50_000)]),
        ([i % 3 for i in range(9_000)], [i % 5 for i in range(9_000)]),
        (list(range(5_000)) * 10, [*range(3, 5_000), *list(range(5_000)) * 9]),
        ([[0, i] for i in range(4_000)], [[0, -i] for i in range(4_000, 0, -1)]),
    ],
    ids=["two edits", "repetition", "shifted repetition", "reversed"],
)
def test_large_lists_take_seconds_at_most(a, b):
    start = time.perf_counter()
    changes = diff(a, b)
    assert time.perf_counter() - start < 20
    assert changes


def test_distant_edits_of_a_large_list_stay_small():
    a = list(range(50_000))
    assert len(diff(a, [-1, *a[:40_000], *a[40_001:]])) == 2
