"""Whether a JSON value fits a JSON Schema, by the keywords that answers' schemas use. Pure.

A keyword it does not know is taken as fulfilled: it tells a broken answer, it certifies none.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_TYPES: dict[str, Callable[[Any], bool]] = {
    "object": lambda v: isinstance(v, dict),
    "array": lambda v: isinstance(v, list),
    "string": lambda v: isinstance(v, str),
    "boolean": lambda v: isinstance(v, bool),
    "null": lambda v: v is None,
    "number": lambda v: isinstance(v, int | float) and not isinstance(v, bool),
    "integer": lambda v: (
        (isinstance(v, int) and not isinstance(v, bool))
        or (isinstance(v, float) and v.is_integer())
    ),
}
DEPTH = 64


def conforms(value: Any, schema: Any, root: Any = None, depth: int = 0) -> bool:
    """True unless `value` breaks `schema`."""
    if not isinstance(schema, dict) or depth > DEPTH:
        return schema is not False
    root = schema if root is None else root
    if "$ref" in schema:
        return conforms(value, _referred(root, schema["$ref"]), root, depth + 1)
    return (
        _has_type(value, schema.get("type"))
        and ("enum" not in schema or value in _list(schema["enum"]))
        and ("const" not in schema or value == schema["const"])
        and _combines(value, schema, root, depth + 1)
        and _holds_members(value, schema, root, depth + 1)
        and _holds_items(value, schema, root, depth + 1)
    )


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _has_type(value: Any, wanted: Any) -> bool:
    names = wanted if isinstance(wanted, list) else [wanted]
    known = [_TYPES[name] for name in names if isinstance(name, str) and name in _TYPES]
    return not known or any(fits(value) for fits in known)


def _combines(value: Any, schema: dict[str, Any], root: Any, depth: int) -> bool:
    if not all(conforms(value, part, root, depth) for part in _list(schema.get("allOf"))):
        return False
    choices = _list(schema.get("anyOf")) or _list(schema.get("oneOf"))
    return not choices or any(conforms(value, part, root, depth) for part in choices)


def _holds_members(value: Any, schema: dict[str, Any], root: Any, depth: int) -> bool:
    if not isinstance(value, dict):
        return True
    known = schema.get("properties")
    known = known if isinstance(known, dict) else {}
    if any(name not in value for name in _list(schema.get("required"))):
        return False
    if schema.get("additionalProperties") is False and value.keys() - known.keys():
        return False
    return all(conforms(value[name], known[name], root, depth) for name in value.keys() & known)


def _holds_items(value: Any, schema: dict[str, Any], root: Any, depth: int) -> bool:
    if not isinstance(value, list) or "items" not in schema:
        return True
    return all(conforms(item, schema["items"], root, depth) for item in value)


def _referred(root: Any, reference: Any) -> Any:
    """The schema at a local `#/…` pointer; anything else is not looked up."""
    found = root
    if not isinstance(reference, str) or not reference.startswith("#"):
        return {}
    for step in reference[1:].split("/")[1:]:
        found = found.get(step) if isinstance(found, dict) else None
    return found if found is not None else {}
