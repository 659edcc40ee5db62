"""Whether a request that arrives is the recorded one: Rig's comparison (§5.4 of the format).

Both sides are normalised first: decoded as Rig would and written again, the call ids Rig makes
renamed in order of appearance, tool arguments in canonical form. Never compared: ids, parents,
events, outcomes, times. Sides that are not both of shape R44 are compared as they stand, without
null members.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rewyn_sdk.canonical import canonical_json, stable_hash
from rewyn_sdk.encode import rig_json
from rewyn_sdk.errors import DecodeError
from rewyn_sdk.jsontext import parse
from rewyn_sdk.r44 import EFFECT

_OPAQUE = frozenset(
    {
        *("arguments", "payload", "raw", "item", "additional_params", "parameters"),
        *("output_schema", "provider_options", "value"),
    }
)
_MISSING = object()


@dataclass(frozen=True, slots=True)
class Mismatch:
    """The first difference, in Rig's words.

    `path` (such as `payload.request.chat_history[2].content`) is None where Rig gives none: for
    tool calls, other families and hashes.
    """

    what: str
    path: str | None = None
    recorded: Any = None
    arrived: Any = None

    def __str__(self) -> str:
        return self.what


def normalised(kind: Mapping[str, Any]) -> dict[str, Any]:
    """A record's `kind` as Rig compares it; DecodeError if it is none of shape R44."""
    return _prepared(EFFECT(dict(kind)))


def request_hash(kind: Mapping[str, Any]) -> int:
    """What Rig's hash mode compares; DecodeError if the kind is none of shape R44."""
    return stable_hash(normalised(kind))


def compare_requests(recorded: Mapping[str, Any], arrived: Mapping[str, Any]) -> Mismatch | None:
    """The first difference of two records' `kind`, None if Rig would call them equal."""
    try:
        sides = normalised(recorded), normalised(arrived)
    except DecodeError:
        sides = _loosely(recorded), _loosely(arrived)
    return _compare(*sides)


def compare_hashes(recorded: Mapping[str, Any], arrived: Mapping[str, Any]) -> Mismatch | None:
    """As `compare_requests`, in hash mode: 0.0 and -0.0 differ, and there is no path."""
    one, other = request_hash(recorded), request_hash(arrived)
    if one == other:
        return None
    return Mismatch(f"hash 0x{one:016x} was recorded, 0x{other:016x} arrived", None, one, other)


def divergence(
    key: str,
    effect_id: int | None,
    recorded: Mapping[str, Any],
    arrived: Mapping[str, Any],
    mismatch: Mismatch,
) -> str:
    """Rig's whole sentence for a mismatch of the record `effect_id` under `key`."""
    return (
        f"replay divergence: `{key}` recorded {effect_name(recorded)} (effect:{effect_id}) "
        f"but received {effect_name(arrived)}: {mismatch.what}"
    )


def effect_name(kind: Mapping[str, Any]) -> str:
    """What Rig calls an effect in texts: its tag, or the label of a custom one."""
    tag = str(kind.get("effect"))
    return str(kind.get("kind")) if tag == "custom" else tag


def _prepared(effect: dict[str, Any]) -> dict[str, Any]:
    effect = _renamed(effect)
    if effect.get("effect") == "tool_call" and isinstance(effect.get("args"), str):
        effect["args"] = _canonical_args(effect["args"])
    return effect


def _canonical_args(args: str) -> str:
    try:
        return canonical_json(parse(args, strict=True))
    except DecodeError:
        return args


def _loosely(kind: Mapping[str, Any]) -> dict[str, Any]:
    return _prepared(_without_nulls(dict(kind)))


def _without_nulls(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_nulls(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        name: one if name in _OPAQUE else _without_nulls(one)
        for name, one in value.items()
        if one is not None
    }


def _renamed(effect: dict[str, Any]) -> dict[str, Any]:
    """Rig-made call ids become a count of their first appearances, wherever a string has them."""
    local: set[str] = set()
    _find_local_ids(effect, local)
    local.discard("")
    if not local:
        return effect
    ids = re.compile("|".join(map(re.escape, sorted(local, key=len, reverse=True))))
    ranks: dict[str, str] = {}

    def rank(found: re.Match[str]) -> str:
        return ranks.setdefault(found.group(), f"00000000-0000-4000-8000-{len(ranks):012}")

    renamed: dict[str, Any] = _with_strings(effect, lambda text: ids.sub(rank, text))
    return renamed


def _find_local_ids(value: Any, found: set[str]) -> None:
    inside = value.values() if isinstance(value, dict) else value
    if len(value) == 1 and isinstance(value, dict) and isinstance(value.get("local"), str):
        found.add(value["local"])
    for item in inside:
        if isinstance(item, dict | list):
            _find_local_ids(item, found)


def _with_strings(value: Any, change: Any) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list):
        return [_with_strings(item, change) for item in value]
    if isinstance(value, dict):
        return {name: _with_strings(item, change) for name, item in value.items()}
    return value


def _compare(recorded: dict[str, Any], arrived: dict[str, Any]) -> Mismatch | None:
    families = recorded.get("effect"), arrived.get("effect")
    if families[0] != families[1]:
        what = f"family {families[0]} was recorded, {families[1]} arrived"
        return Mismatch(what, None, *families)
    if families[0] == "tool_call":
        return _compare_calls(recorded, arrived)
    return _first_difference("payload", recorded, arrived)


def _compare_calls(recorded: dict[str, Any], arrived: dict[str, Any]) -> Mismatch | None:
    names = recorded.get("name"), arrived.get("name")
    if names[0] != names[1]:
        return Mismatch(f"tool `{names[0]}` was recorded, `{names[1]}` arrived", None, *names)
    args = recorded.get("args"), arrived.get("args")
    if args[0] == args[1]:
        return None
    what = f"arguments differ for `{names[0]}`: recorded `{args[0]}`, arrived `{args[1]}`"
    return Mismatch(what, None, *args)


def _first_difference(path: str, recorded: Any, arrived: Any) -> Mismatch | None:
    if isinstance(recorded, dict) and isinstance(arrived, dict):
        return _first_in_object(path, recorded, arrived)
    if isinstance(recorded, list) and isinstance(arrived, list):
        return _first_in_list(path, recorded, arrived)
    if _same(recorded, arrived):
        return None
    texts = f"recorded `{rig_json(recorded)}`, arrived `{rig_json(arrived)}`"
    return Mismatch(f"{path} differs: {texts}", path, recorded, arrived)


def _first_in_object(path: str, recorded: Any, arrived: Any) -> Mismatch | None:
    for name in sorted(recorded.keys() | arrived.keys()):
        here = f"{path}.{name}"
        one, other = recorded.get(name, _MISSING), arrived.get(name, _MISSING)
        if other is _MISSING:
            return Mismatch(f"{here} was recorded but did not arrive", here, one)
        if one is _MISSING:
            return Mismatch(f"{here} arrived but was not recorded", here, arrived=other)
        found = _first_difference(here, one, other)
        if found:
            return found
    return None


def _first_in_list(path: str, recorded: list[Any], arrived: list[Any]) -> Mismatch | None:
    if len(recorded) != len(arrived):
        what = f"{path} has {len(recorded)} recorded elements, {len(arrived)} arrived"
        return Mismatch(what, path, recorded, arrived)
    for index, (one, other) in enumerate(zip(recorded, arrived, strict=True)):
        found = _first_difference(f"{path}[{index}]", one, other)
        if found:
            return found
    return None


def _same(one: Any, other: Any) -> bool:
    one, other = _as_rig_reads(one), _as_rig_reads(other)
    return type(one) is type(other) and bool(one == other)


def _as_rig_reads(value: Any) -> Any:
    if type(value) is int and not -(2**63) <= value < 2**64:
        return float(value) if abs(value) < 2**1023 else value
    return value
