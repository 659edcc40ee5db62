"""Differences of two JSON values, each with a JSON Pointer (RFC 6901) on both sides.

Scalars are compared by type and value: 1, 1.0 and True all differ. 0.0 and -0.0 are the same
number here (canonical JSON and hashes do tell them apart), and so are two NaNs. Lists are aligned,
so that an item put in front is one addition and not a change of every item behind it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any, Literal

from rewyn_sdk.canonical import canonical_json

Op = Literal["add", "remove", "replace"]

# SequenceMatcher is quadratic where much repeats; beyond this many cells items pair by place.
_CELLS = 4_000_000


@dataclass(frozen=True, slots=True)
class Change:
    """One difference. The pointer of a side where the value is not there is None."""

    op: Op
    old_pointer: str | None
    new_pointer: str | None
    old: Any = None
    new: Any = None


def diff(a: Any, b: Any) -> list[Change]:
    """What turns `a` into `b`, in document order (removals and additions of a list in place)."""
    return list(_changes(a, b, "", ""))


def equal(a: Any, b: Any) -> bool:
    """Whether two JSON values are the same by the rule above."""
    return next(_changes(a, b, "", ""), None) is None


def pointer(base: str, step: str | int) -> str:
    """A JSON Pointer, one step deeper."""
    return f"{base}/{str(step).replace('~', '~0').replace('/', '~1')}"


def _changes(a: Any, b: Any, old: str, new: str) -> Iterator[Change]:
    if isinstance(a, dict) and isinstance(b, dict):
        yield from _object_changes(a, b, old, new)
    elif isinstance(a, list) and isinstance(b, list):
        yield from _list_changes(a, b, old, new)
    elif not _same_scalar(a, b):
        yield Change("replace", old, new, a, b)


def _same_scalar(a: Any, b: Any) -> bool:
    if type(a) is not type(b) or isinstance(a, (dict, list)):
        return False
    if isinstance(a, float) and math.isnan(a):
        return math.isnan(b)
    return bool(a == b)


def _object_changes(a: dict[str, Any], b: dict[str, Any], old: str, new: str) -> Iterator[Change]:
    for key, value in a.items():
        if key in b:
            yield from _changes(value, b[key], pointer(old, key), pointer(new, key))
        else:
            yield Change("remove", pointer(old, key), None, value)
    for key, value in b.items():
        if key not in a:
            yield Change("add", None, pointer(new, key), None, value)


def _list_changes(a: list[Any], b: list[Any], old: str, new: str) -> Iterator[Change]:
    for tag, start, end, new_start, new_end in _alignment(a, b):
        if tag == "equal":
            continue
        paired = min(end - start, new_end - new_start)
        for step in range(paired):
            here, there = pointer(old, start + step), pointer(new, new_start + step)
            yield from _changes(a[start + step], b[new_start + step], here, there)
        for index in range(start + paired, end):
            yield Change("remove", pointer(old, index), None, a[index])
        for index in range(new_start + paired, new_end):
            yield Change("add", None, pointer(new, index), None, b[index])


_Block = tuple[str, int, int, int, int]


def _alignment(a: list[Any], b: list[Any]) -> Iterable[_Block]:
    """Blocks of equal and of differing items, as SequenceMatcher gives them."""
    left, right = [_form(item) for item in a], [_form(item) for item in b]
    head = _common(left, right)
    tail = _common(left[head:][::-1], right[head:][::-1])
    ends = len(a) - tail, len(b) - tail
    middle = left[head : ends[0]], right[head : ends[1]]
    if not middle[0] or not middle[1] or _cells(*middle) > _CELLS:
        return [("replace", head, ends[0], head, ends[1])]
    blocks = SequenceMatcher(None, *middle, autojunk=False).get_opcodes()
    return [(tag, i + head, j + head, k + head, m + head) for tag, i, j, k, m in blocks]


def _form(item: Any) -> str:
    """Items that are equal by our rule have one form, even where JSON tells them apart."""
    return canonical_json(item).replace("-0.0", "0.0")


def _common(left: list[str], right: list[str]) -> int:
    count = 0
    for one, other in zip(left, right, strict=False):
        if one != other:
            break
        count += 1
    return count


def _cells(left: list[str], right: list[str]) -> int:
    """About the work SequenceMatcher has: pairs of equal items, and each item once."""
    return len(left) * len(right)


def to_json_patch(changes: Iterable[Change]) -> list[dict[str, Any]]:
    """The changes as RFC 6902 operations, which applied in order to the old value give the new.

    Replacements and removals come first, on old pointers from the back, so that none moves the
    place of another; additions follow on new pointers from the front.
    """
    changes = list(changes)
    in_place = [change for change in changes if change.op != "add"]
    added = [change for change in changes if change.op == "add"]
    patch: list[dict[str, Any]] = []
    for change in reversed(in_place):
        operation = {"op": change.op, "path": change.old_pointer}
        patch.append(operation if change.op == "remove" else {**operation, "value": change.new})
    patch += [{"op": "add", "path": change.new_pointer, "value": change.new} for change in added]
    return patch
