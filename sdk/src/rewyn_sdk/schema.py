"""Types that decode a JSON value as Rig's typed decoder does, and write it as Rig would.

A type is a function from a decoded value to the value Rig would write for it: unknown fields gone,
optional ones null or left out, integers where a float is meant as floats. It raises DecodeError
for what Rig refuses. The tables that use these are in `r44`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from rewyn_sdk.errors import DecodeError
from rewyn_sdk.jsontext import Doubled

Type = Callable[[Any], Any]

_UUID = re.compile(r"(?i)(urn:uuid:)?(\{)?[0-9a-f]{8}(-?)([0-9a-f]{4}\3){3}[0-9a-f]{12}(?(2)\})")
_MISSING = object()


@dataclass(frozen=True, slots=True)
class Field:
    """How a field is read and written.

    `absent`: "refused", "null" (written as null) or "omitted". An omitted field is left out when
    its value is null or `default`.
    """

    type: Type
    absent: str = "refused"
    default: Any = None


def required(type: Type) -> Field:
    """A field that must be there."""
    return Field(type)


def nulled(type: Type) -> Field:
    """A field that may be missing and is then written as null."""
    return Field(nullable(type), "null")


def optional(type: Type, default: Any = None) -> Field:
    """A field that is left out when null, or when it has its default."""
    return Field(nullable(type), "omitted", default)


def name_of(value: Any) -> str:
    """What a wrong value is, in words."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "boolean `true`", False: "boolean `false`"}[value]
    if isinstance(value, int):
        return f"integer `{value}`"
    if isinstance(value, float):
        return f"floating point `{value!r}`"
    kinds: dict[Any, str] = {str: "string", list: "sequence"}
    return kinds.get(type(value), "map")


def wrong(value: Any, expected: str) -> DecodeError:
    """The error for a value of a wrong type."""
    return DecodeError(f"invalid type: {name_of(value)}, expected {expected}")


def unknown(kind: str, name: Any, expected: Mapping[str, Any] | tuple[str, ...]) -> DecodeError:
    """The error for a name that is none of the expected ones."""
    return DecodeError(f"unknown {kind} `{name}`, expected {_listed(tuple(expected))}")


def _listed(names: tuple[str, ...]) -> str:
    quoted = [f"`{name}`" for name in names]
    if len(quoted) <= 2:
        return " or ".join(quoted) or "nothing"
    return "one of " + ", ".join(quoted)


def anything(value: Any) -> Any:
    """Opaque JSON."""
    return value


def text(value: Any) -> str:
    """A string."""
    if isinstance(value, str):
        return value
    raise wrong(value, "a string")


def some_text(value: Any) -> str:
    """A string that is not empty."""
    if text(value) == "":
        raise DecodeError("a name cannot be empty")
    return str(value)


def identifier(value: Any) -> str | None:
    """A string where the empty one counts as absent."""
    return text(value) or None


def boolean(value: Any) -> bool:
    """true or false."""
    if isinstance(value, bool):
        return value
    raise wrong(value, "a boolean")


def unsigned(bits: int) -> Type:
    """An integer from 0 below 2^bits; a float is none, whatever its value."""

    def decode(value: Any) -> int:
        if type(value) is not int or value >= 2**64:
            raise wrong(value, f"u{bits}")
        if not 0 <= value < 2**bits:
            raise DecodeError(f"invalid value: integer `{value}`, expected u{bits}")
        return value

    return decode


def double(value: Any) -> float:
    """A number, kept as a float."""
    if isinstance(value, float) or (type(value) is int and abs(value) < 2**1023):
        return float(value)
    raise wrong(value, "f64")


def provider_call_id(value: Any) -> str:
    """A call id the provider gave."""
    if text(value) == "":
        raise DecodeError("a provider call id cannot be empty")
    return str(value)


def uuid(value: Any) -> str:
    """A UUID in any usual spelling, written in lower case with dashes."""
    if not _UUID.fullmatch(text(value)):
        raise DecodeError(f"UUID parsing failed: {value!r}")
    return str(UUID(value))


def nullable(type: Type) -> Type:
    """The type, or null."""
    return lambda value: None if value is None else type(value)


def array(item: Type, *, empty: str | None = None) -> Type:
    """A list; `empty` is the refusal of one without items."""

    def decode(value: Any) -> list[Any]:
        if not isinstance(value, list):
            raise wrong(value, "a sequence")
        if empty and not value:
            raise DecodeError(empty)
        return [_at(item, one, index) for index, one in enumerate(value)]

    return decode


def positional(*items: Type) -> Type:
    """A list of fixed length."""

    def decode(value: Any) -> list[Any]:
        if not isinstance(value, list):
            raise wrong(value, f"a tuple of size {len(items)}")
        if len(value) != len(items):
            raise DecodeError(f"invalid length {len(value)}, expected {len(items)}")
        return [_at(items[index], one, index) for index, one in enumerate(value)]

    return decode


def mapping(item: Type, key: Type = text) -> Type:
    """An object with free keys."""

    def decode(value: Any) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise wrong(value, "a map")
        return {_at(key, name, name): _at(item, one, name) for name, one in value.items()}

    return decode


def words(*names: str) -> Type:
    """One of these strings."""

    def decode(value: Any) -> str:
        if text(value) not in names:
            raise unknown("variant", value, names)
        return str(value)

    return decode


def struct(fields: Mapping[str, Field], *, closed: bool = False, rest: Type | None = None) -> Type:
    """An object with these fields. `closed` refuses other keys, `rest` decodes and keeps them."""

    def decode(value: Any) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise wrong(value, "a map")
        _refuse_doubled(value, fields)
        others = [name for name in value if name not in fields] if closed or rest else []
        if closed and others:
            raise unknown("field", others[0], fields)
        found = _fields(value, fields)
        if rest:
            found.update({name: _at(rest, value[name], name) for name in others})
        return found

    return decode


def tagged(tag: str, variants: Mapping[str, Type]) -> Type:
    """An object whose variant is named by its own field `tag`."""

    def decode(value: Any) -> dict[str, Any]:
        name = _tag(value, tag)
        if name not in variants:
            raise unknown("variant", name, variants).inside(tag)
        return {tag: name, **variants[name](value)}

    return decode


def adjacent(tag: str, content: str, variants: Mapping[str, Type | None]) -> Type:
    """An object of two fields, the variant's name and its content (None: without content)."""

    def decode(value: Any) -> dict[str, Any]:
        name = _tag(value, tag)
        if name not in variants:
            raise unknown("variant", name, variants).inside(tag)
        type = variants[name]
        if type is None:
            return {tag: name}
        if content not in value:
            raise DecodeError(f"missing field `{content}`")
        return {tag: name, content: _at(type, value[content], content)}

    return decode


def external(variants: Mapping[str, Type | None]) -> Type:
    """A bare word (a variant without content), or an object of one key that names it."""

    def decode(value: Any) -> Any:
        name, held = _external(value)
        if name not in variants:
            raise unknown("variant", name, variants)
        type = variants[name]
        if type is None:
            if held is not _MISSING and held is not None:
                raise wrong(held, "unit variant")
            return name
        if held is _MISSING:
            raise DecodeError(f"invalid type: unit variant, expected the content of `{name}`")
        return {name: _at(type, held, name)}

    return decode


def _external(value: Any) -> tuple[str, Any]:
    if isinstance(value, str):
        return value, _MISSING
    if not isinstance(value, dict) or len(value) != 1:
        raise wrong(value, "a string or a map with a single key")
    return next(iter(value.items()))


def _at(type: Type, value: Any, step: str | int) -> Any:
    try:
        return type(value)
    except DecodeError as error:
        raise error.inside(step) from None


def _tag(value: Any, tag: str) -> str:
    if not isinstance(value, dict):
        raise wrong(value, "a map")
    _refuse_doubled(value, {tag: None})
    if tag not in value:
        raise DecodeError(f"missing field `{tag}`")
    return str(_at(text, value[tag], tag))


def _refuse_doubled(value: dict[str, Any], fields: Mapping[str, Any]) -> None:
    if type(value) is Doubled:
        for name in fields:
            if name in value.doubled:
                raise DecodeError(f"duplicate field `{name}`")


def _fields(value: dict[str, Any], fields: Mapping[str, Field]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, field in fields.items():
        if name not in value:
            if field.absent == "refused":
                raise DecodeError(f"missing field `{name}`")
            if field.absent == "null":
                found[name] = None
            continue
        decoded = _at(field.type, value[name], name)
        if field.absent != "omitted" or not (decoded is None or decoded == field.default):
            found[name] = decoded
    return found
