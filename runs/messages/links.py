"""Which effect answered which tool call, and which call a result is for.

A record of a tool has no call id, so calls and effects are matched by name and arguments; what
does not line up is left without a link, never guessed.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from runs.messages import exact
from runs.messages.parts import Call, Message, Part, Request, Result

LOOKED_AT = 1_000
"""Calls of one answer that are looked at; those behind are shown without a link."""


@dataclass(frozen=True, slots=True)
class ToolEffect:
    """A tool effect behind a model call. `arguments` as decoded from its `args` text."""

    seq: int
    name: str
    arguments: Any


def answered_in(calls: Sequence[Call], effects: Sequence[ToolEffect]) -> dict[int, int]:
    """Position in `calls` → seq of the effect that served it.

    Equal calls take equal effects in order. A sole call and a sole effect of one name belong
    together even if a hook changed the arguments on the way.
    """
    free = list(effects)
    found: dict[int, int] = {}
    calls = calls[:LOOKED_AT]
    for index, call in enumerate(calls):
        match = next((e for e in free if _serves(e, call)), None)
        if match is not None:
            free.remove(match)
            found[index] = match.seq
    return found | _sole(calls, free, found)


def _serves(effect: ToolEffect, call: Call) -> bool:
    asked = call.arguments
    return effect.name == call.name and exact.same(effect.arguments, asked)


def _sole(calls: Sequence[Call], free: list[ToolEffect], found: dict[int, int]) -> dict[int, int]:
    open_calls = [(i, call.name) for i, call in enumerate(calls) if i not in found]
    names = Counter(name for _, name in open_calls)
    left = Counter(effect.name for effect in free)
    return {
        index: next(effect.seq for effect in free if effect.name == name)
        for index, name in open_calls
        if names[name] == 1 and left[name] == 1
    }


def with_tool_names(request: Request) -> Request:
    """`request` with the tool's name on each result that only has the id of its call."""
    parts = [part for message in request.messages for part in message.parts]
    names = {part.id: part.name for part in parts if isinstance(part, Call) and part.id}
    unnamed = any(isinstance(part, Result) and not part.name for part in parts)
    if not unnamed:
        return request
    turns = tuple(_named(message, names) for message in request.messages)
    return replace(request, messages=turns)


def _named(message: Message, names: dict[str, str]) -> Message:
    return replace(message, parts=tuple(_named_part(part, names) for part in message.parts))


def _named_part(part: Part, names: dict[str, str]) -> Part:
    if isinstance(part, Result) and not part.name:
        return replace(part, name=names.get(part.call_id, ""))
    return part
