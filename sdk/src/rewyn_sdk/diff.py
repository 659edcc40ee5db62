"""Differences of two JSON values, each with a JSON Pointer (RFC 6901) on both sides.

Scalars are compared by type and value: 1, 1.0 and True all differ. 0.0 and -0.0 are the same
number here (canonical JSON and hashes do tell them apart), and so are two NaNs. Lists are aligned,
so that an item put in front is one addition and not a change of every item behind it.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import count
from types import ModuleType
from typing import Any, Literal

from rewyn_sdk.align import align
from rewyn_sdk.canonical import canonical_json

Op = Literal["add", "remove", "replace"]


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
    for block in align([canonical_json(item) for item in a], [canonical_json(item) for item in b]):
        paired = min(block.end - block.start, block.new_end - block.new_start)
        # Equal blocks too: NaN and None, or 10**30 and 1e30, have one canonical text.
        for index, new_index in zip(
            range(block.start, block.start + paired), count(block.new_start), strict=False
        ):
            here, there = pointer(old, index), pointer(new, new_index)
            yield from _changes(a[index], b[new_index], here, there)
        for index in range(block.start + paired, block.end):
            yield Change("remove", pointer(old, index), None, a[index])
        for index in range(block.new_start + paired, block.new_end):
            yield Change("add", None, pointer(new, index), None, b[index])


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


class _Callable(ModuleType):
    """The package offers `diff` the function, and importing this module binds it to that name."""

    def __call__(self, a: Any, b: Any) -> list[Change]:
        return diff(a, b)


sys.modules[__name__].__class__ = _Callable
