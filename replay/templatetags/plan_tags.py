"""How the plan of a replay is put into words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from django import template

from runs.messages.loose import clean
from runs.models import Family
from runs.steps.timeline import lane_of

register = template.Library()
_NAMES = {"max_tokens": "most tokens out", "system": "system text", "message": "one message",
          "tools_off": "tools switched off"}  # fmt: skip
_LIMITS = {
    "parallel": "{:,} at once",
    "per_minute": "{:,} a minute",
    "replay_budget": "${:,.2f} a replay",
    "day_budget": "${:,.2f} a day",
}


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
    return f"{recorded} → {_plain(one.get('replayed'))}"


def _plain(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)


@register.filter
def lane(family: str) -> str:
    """The colour of a family."""
    return lane_of(family)


@register.filter
def limits_told(limits: Mapping[str, Any]) -> str:
    """The limits of a provider in one line."""
    return ", ".join(_LIMITS[name].format(limits[name]) for name in _LIMITS if name in limits)


@register.filter
def really_run(components: Iterable[Mapping[str, Any]]) -> int:
    """How many effects beside the calls of a model really happen."""
    return sum(_beside_models(components))


def _beside_models(components: Iterable[Mapping[str, Any]]) -> Iterator[int]:
    for one in components:
        if one["runs"] == "live" and one["family"] != Family.COMPLETION:
            yield one.get("asked", one["effects"])
