"""Whether a JSON value fits a JSON Schema, by the keywords that answers' schemas use. Pure.

A keyword it does not know (`pattern` and `format` among them) is taken as fulfilled: it tells a
broken answer, it certifies none. Schemas come with recordings, so looking is bounded: of a schema
that refers to itself each part is held against a value once, and of a giant one some parts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rewyn_sdk.exact import is_less, is_whole, worth_of

DEPTH = 64
_ANYTHING: dict[str, Any] = {}
LOOKS = 50_000
"""Pairs of a value and a part of the schema that are looked at, a tenth of a second's work."""
_TYPES: dict[str, Callable[[Any], bool]] = {
    "object": lambda v: isinstance(v, dict),
    "array": lambda v: isinstance(v, list),
    "string": lambda v: isinstance(v, str),
    "boolean": lambda v: isinstance(v, bool),
    "null": lambda v: v is None,
    "number": lambda v: _is_number(v),
    "integer": lambda v: _is_number(v) and is_whole(v),
}
_LENGTHS = (
    (str, "minLength", "maxLength"),
    (list, "minItems", "maxItems"),
    (dict, "minProperties", "maxProperties"),
)


def conforms(value: Any, schema: Any) -> bool:
    """True unless `value` breaks `schema`."""
    return _Look(schema).fits(value, schema)


class _Look:
    """One value held against one schema, which `$ref` leads back into."""

    def __init__(self, root: Any) -> None:
        self._root = root
        self._found: dict[tuple[int, int], bool] = {}
        self._depth = 0

    def fits(self, value: Any, schema: Any) -> bool:
        if not isinstance(schema, dict):
            return schema is not False
        pair = id(value), id(schema)
        if pair in self._found:
            return self._found[pair]
        if self._depth > DEPTH or len(self._found) > LOOKS:
            return True
        self._found[pair] = True  # what refers to itself says nothing more
        self._depth += 1
        self._found[pair] = fits = self._fits(value, schema)
        self._depth -= 1
        return fits

    def _fits(self, value: Any, schema: dict[str, Any]) -> bool:
        if "$ref" in schema:
            return self.fits(value, self._referred(schema["$ref"]))
        return (
            _has_type(value, schema.get("type"))
            and ("enum" not in schema or any(_equal(value, one) for one in _list(schema["enum"])))
            and ("const" not in schema or _equal(value, schema["const"]))
            and _within_bounds(value, schema)
            and self._combines(value, schema)
            and self._holds_members(value, schema)
            and self._holds_items(value, schema)
        )

    def _combines(self, value: Any, schema: dict[str, Any]) -> bool:
        if not all(self.fits(value, part) for part in _list(schema.get("allOf"))):
            return False
        choices = (_list(schema.get(name)) for name in ("anyOf", "oneOf"))
        return all(any(self.fits(value, part) for part in some) for some in choices if some)

    def _holds_members(self, value: Any, schema: dict[str, Any]) -> bool:
        if not isinstance(value, dict):
            return True
        known = schema.get("properties")
        known = known if isinstance(known, dict) else {}
        required = _list(schema.get("required"))
        if any(name not in value for name in required if isinstance(name, str)):
            return False
        others = value.keys() - known.keys() if "patternProperties" not in schema else ()
        more = schema.get("additionalProperties")
        return all(self.fits(value[name], more) for name in others) and all(
            self.fits(value[name], known[name]) for name in value.keys() & known
        )

    def _holds_items(self, value: Any, schema: dict[str, Any]) -> bool:
        if not isinstance(value, list):
            return True
        first = _list(schema.get("prefixItems"))
        placed = all(map(self.fits, value, first))
        return placed and all(self.fits(item, schema.get("items")) for item in value[len(first) :])

    def _referred(self, reference: Any) -> Any:
        """The schema at a local `#/…` pointer; anything else is not looked up."""
        found = self._root
        if not isinstance(reference, str) or not reference.startswith("#"):
            return _ANYTHING
        for step in reference[1:].split("/")[1:]:
            found = found.get(step) if isinstance(found, dict) else None
        return found if found is not None else _ANYTHING


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _has_type(value: Any, wanted: Any) -> bool:
    names = wanted if isinstance(wanted, list) else [wanted]
    known = [_TYPES[name] for name in names if isinstance(name, str) and name in _TYPES]
    return not known or any(fits(value) for fits in known)


def _within_bounds(value: Any, schema: dict[str, Any]) -> bool:
    """Whether a number is as large, and anything else as long, as it may be."""
    if _is_number(value):
        above: Any = schema.get("exclusiveMinimum")
        below: Any = schema.get("exclusiveMaximum")
        return (
            _between(value, schema.get("minimum"), schema.get("maximum"))
            and not (_is_number(above) and not is_less(above, value))
            and not (_is_number(below) and not is_less(value, below))
        )
    return all(
        _between(len(value), schema.get(least), schema.get(most))
        for kind, least, most in _LENGTHS
        if isinstance(value, kind)
    )


def _between(value: Any, least: Any, most: Any) -> bool:
    return not (_is_number(least) and is_less(value, least)) and not (
        _is_number(most) and is_less(most, value)
    )


def _equal(one: Any, other: Any) -> bool:
    """As JSON has it: 1 and 1.0 are one number, and no number is true."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_equal(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_equal, one, other))
    if _is_number(one) and _is_number(other):
        return worth_of(one) == worth_of(other)
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)
