"""Scalars as named facts, and whatever no reader knows as JSON, so that nothing is left out."""

import re
from typing import Any

from runs.messages import exact
from runs.messages.loose import escape, obj
from runs.messages.parts import Data, Fact

_HUMP = re.compile("(?<=[a-z0-9])(?=[A-Z])")


def say(value: object) -> str:
    """A small JSON value as text: a string without its quotes, all else as JSON."""
    return value if isinstance(value, str) else exact.compact(value)


def name_of(key: str) -> str:
    """A member's name as words: `max_tokens` and `maxTokens` are Max tokens."""
    return "API" if key == "api" else _HUMP.sub(" ", key).replace("_", " ").capitalize()


def facts_of(members: dict[str, Any], skip: set[str] | None = None) -> tuple[Fact, ...]:
    """The scalars that were set, named as a person would."""
    return tuple(
        Fact(name_of(key), say(value))
        for key, value in members.items()
        if value is not None and key not in (skip or set()) and not isinstance(value, dict | list)
    )


def rest(members: dict[str, Any], known: set[str], pointer: str) -> tuple[Data, ...]:
    """Members beyond the `known` ones that hold something."""
    return tuple(
        Data(value, f"{pointer}/{escape(key)}", name_of(key))
        for key, value in members.items()
        if key not in known and value not in (None, [], {})
    )


def structured(members: dict[str, Any], known: set[str], pointer: str) -> tuple[Data, ...]:
    """Like `rest`, without the scalars (`facts_of` has those)."""
    return tuple(
        data for data in rest(members, known, pointer) if isinstance(data.value, dict | list)
    )


def usage_facts(usage: dict[str, Any]) -> tuple[Fact, ...]:
    """Every figure that was reported, one level deep."""
    plain = [Fact(name_of(k), say(v)) for k, v in usage.items() if not isinstance(v, dict | None)]
    nested = [
        Fact(f"{name_of(outer)}, {name_of(inner).lower()}", say(v))
        for outer, members in usage.items()
        for inner, v in obj(members).items()
        if v is not None
    ]
    return (*plain, *nested)
