"""How the plan of a replay is put into words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from typing import Any

from django import template

from replay.models import Replay
from runs.messages.loose import clean
from runs.models import Family

register = template.Library()
_NAMES = {"max_tokens": "most tokens out", "system": "system text", "message": "one message",
          "tools_off": "tools switched off"}  # fmt: skip
_CONTROLS = {"models": "Model", "temperature": "Temperature", "max_tokens": "Most tokens out",
             "samples": "Samples", "system": "System text", "message": "One message",
             "tools_off": "Offered tools", "name": "Name", "effects": "Which calls",
             "gate.min_same": "Gate: same", "gate.max_cost": "Gate: cost",
             "gate.max_cost_ratio": "Gate: cost", "dangling": "Calls without a result",
             "dangling_result": "Calls without a result"}  # fmt: skip
_LIMITS = {
    "parallel": "{:,} at once",
    "per_minute": "{:,} a minute",
    "replay_budget": "${:f} a replay",
    "day_budget": "${:f} a day",
}


@register.filter
def control(field: str) -> str:
    """What the form calls the field that a mistake is in."""
    whole, _, place = field.rpartition(".")  # of several models one is at fault
    return _CONTROLS.get(whole if place.isdecimal() else field, field)


@register.filter
def changes_told(plan: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What is changed on purpose, each with what was recorded in front."""
    changes = plan.get("changes", ())
    return [(_NAMES.get(one["what"], one["what"]), clean(_change(one))) for one in changes]


def _change(one: Mapping[str, Any]) -> str:
    if one["what"] == "samples":
        return f"{one['replayed']} a call"
    if one["what"] == "system":
        count = one["texts_replaced"]
        return f"{count:,} text{'' if count == 1 else 's'} replaced"
    if one["what"] == "message":
        return f"in {one['calls']:,} call{'' if one['calls'] == 1 else 's'}"
    if one["what"] == "tools_off":
        unknown = f" (not offered anyway: {', '.join(one['unknown'])})" if one["unknown"] else ""
        return f"{', '.join(one['tools']) or 'none'}{unknown}"
    recorded = ", ".join(map(_plain, one.get("recorded", ()))) or "none"
    return f"{recorded} → {_plain(one.get('replayed'))}{_otherwise(one)}"


def _otherwise(one: Mapping[str, Any]) -> str:
    """What goes out in place of a number that was asked for."""
    if "sent" not in one:
        return ""
    others = [value for value in one["sent"] if value not in (None, one["replayed"])]
    told = [f"sent as {', '.join(map(_plain, others))}"] if others else []
    if None in one["sent"]:
        told.append("left out" if len(one["sent"]) == 1 else "left out of some calls")
    return f", {' or '.join(told)}"


@register.filter
def on_purpose(replay: Replay) -> str:
    """What a replay was asked to change, in one line, and what of it did not go out as asked."""
    asked = replay.controls
    sent = {one["what"]: _otherwise(one) for one in replay.plan.get("changes") or ()}
    told = [replay.candidate or "nothing but what your code does"]
    for name in ("temperature", "top_p"):
        if asked.get(name) is not None:
            told.append(f"{name} {asked[name]}{sent.get(name, '')}")
    if asked.get("samples"):
        told.append(f"{asked['samples']} samples a call")
    if asked.get("max_tokens") is not None:
        limit = f"at most {asked['max_tokens']:,} tokens"
        told.append(f"{limit}{sent.get('max_tokens', '')}")
    told += ["system text"] if asked.get("system") is not None else []
    told += ["one message"] if asked.get("message") else []
    told += [f"without {', '.join(asked['tools_off'])}"] if asked.get("tools_off") else []
    if asked.get("dangling"):
        told.append("calls without a result dropped")
    elif asked.get("dangling_result") is not None:
        told.append("a result supplied")
    if asked.get("effects"):
        told.append(f"{replay.total:,} chosen call{'' if replay.total == 1 else 's'}")
    return clean(" · ".join(told))


def _plain(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)


@register.filter
def limits_told(limits: Mapping[str, Any]) -> str:
    """The limits of a provider in one line."""
    return ", ".join(_limit(name, limits[name]) for name in _LIMITS if name in limits)


def _limit(name: str, number: Any) -> str:
    budget = name.endswith("_budget")
    return _LIMITS[name].format(Decimal(str(number)).normalize() if budget else number)


@register.filter
def really_run(components: Iterable[Mapping[str, Any]]) -> int:
    """How many effects beside the calls of a model really happen."""
    return sum(_beside_models(components))


def _beside_models(components: Iterable[Mapping[str, Any]]) -> Iterator[int]:
    for one in components:
        if one["runs"] == "live" and one["family"] != Family.COMPLETION:
            yield one.get("asked", one["effects"])
