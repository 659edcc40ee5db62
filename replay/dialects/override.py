"""What a person changed, put into a prompt or into a recorded body and nothing else touched."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from replay.dialects.bodies import names_of, put_message, put_system, without_tools
from replay.dialects.carry import reasons_always
from replay.dialects.prompt import CHAT, MESSAGES, RESPONSES, Note, Prompt, Text, Turn
from replay.dialects.reworded import MessageText, reworded


@dataclass(frozen=True)
class Overrides:
    """The changes of a replay; ``None`` leaves what was recorded. A temperature of 0 is a value.

    ``tools_off`` are names of tools that are not offered. ``dangling`` is for calls without a
    result: ``drop`` leaves them out, else ``dangling_result`` is what stands in the result's place.
    """

    temperature: float | None = None
    system: str | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    message: MessageText | None = None
    tools_off: tuple[str, ...] = ()
    dangling: Literal["drop"] | None = None
    dangling_result: str | None = None


def change_prompt(prompt: Prompt, overrides: Overrides) -> Prompt:
    """The prompt with the changes; a new system text takes the place of all that lead."""
    if overrides.temperature is not None:
        prompt = replace(prompt, temperature=overrides.temperature)
    if overrides.top_p is not None:
        prompt = replace(prompt, options=replace(prompt.options, top_p=overrides.top_p))
    if overrides.max_tokens is not None:
        prompt = replace(prompt, max_tokens=overrides.max_tokens)
    if overrides.system is not None:
        rest = prompt.turns[len(prompt.leading_system()) :]
        lead = Turn("system", (Text(overrides.system, "/system"),), "/system")
        prompt = replace(prompt, turns=(lead, *rest))
    if overrides.message is not None:
        prompt = _with_message(prompt, overrides.message)
    if overrides.tools_off:
        prompt = _without_tools(prompt, frozenset(overrides.tools_off))
    if overrides.dangling == "drop":
        return replace(prompt, no_result=None)
    if overrides.dangling_result is not None:
        return replace(prompt, no_result=overrides.dangling_result)
    return prompt


def _with_message(prompt: Prompt, message: MessageText) -> Prompt:
    turns = tuple(_turn(turn, message) for turn in prompt.turns)
    notes = prompt.notes if turns != prompt.turns else (*prompt.notes, NOT_THERE)
    return replace(prompt, turns=turns, notes=notes)


def _turn(turn: Turn, message: MessageText) -> Turn:
    texts = [part for part in turn.parts if isinstance(part, Text)]
    said = reworded([part.text for part in texts], message)
    if turn.role != message.role or said is None:
        return turn
    new = dict(zip(map(id, texts), said, strict=True))
    parts = (
        replace(part, text=new[id(part)] or "", native=None) if isinstance(part, Text) else part
        for part in turn.parts
        if not isinstance(part, Text) or new[id(part)] is not None
    )
    return replace(turn, parts=tuple(parts))


def _without_tools(prompt: Prompt, off: frozenset[str]) -> Prompt:
    offered = {tool.name for tool in prompt.tools}
    offered |= {name for tool in prompt.hosted_tools for name in names_of(tool.item)}
    tools = tuple(tool for tool in prompt.tools if tool.name not in off)
    hosted = tuple(tool for tool in prompt.hosted_tools if not names_of(tool.item) & off)
    choice = prompt.tool_choice
    if isinstance(choice, tuple):
        choice = tuple(name for name in choice if name not in off) or None
    if not tools and not hosted:
        choice = None
    notes = (*prompt.notes, *map(not_offered, sorted(off - offered)))
    return replace(prompt, tools=tools, hosted_tools=hosted, tool_choice=choice, notes=notes)


def not_offered(name: str) -> Note:
    """The note for a tool that is to be switched off where it is not on."""
    return Note("tool_not_there", "", f"the tool {name} is not offered in this call anyway")


NOT_THERE = Note(
    "message_not_there", "", "the edited message is not in this call; it goes out as recorded"
)


def change_body(
    api: str, body: Mapping[str, Any], model: str, overrides: Overrides
) -> tuple[dict[str, Any], list[Note]]:
    """A recorded body with the model and the changes in it, every other field as it was.

    The one exception is noted: OpenAI's reasoning models refuse ``max_tokens`` and take the same
    limit as ``max_completion_tokens``.
    """
    changed = copy.deepcopy(dict(body))
    notes: list[Note] = []
    if api == CHAT and changed.get("model") != model and reasons_always(model):
        notes += _rename_limit(changed)
    changed["model"] = model
    if overrides.temperature is not None:
        changed["temperature"] = overrides.temperature
    if overrides.top_p is not None:
        changed["top_p"] = overrides.top_p
    if overrides.max_tokens is not None:
        changed[_limit_name(api, changed, model)] = overrides.max_tokens
    if overrides.system is not None:
        put_system(api, changed, overrides.system)
    if overrides.message is not None and not put_message(changed, overrides.message):
        notes.append(NOT_THERE)
    if overrides.tools_off:
        offered = without_tools(changed, frozenset(overrides.tools_off))
        notes += map(not_offered, sorted(set(overrides.tools_off) - offered))
    return changed, notes


def _limit_name(api: str, body: Mapping[str, Any], model: str) -> str:
    if api == RESPONSES:
        return "max_output_tokens"
    if api == MESSAGES:
        return "max_tokens"
    newer = "max_completion_tokens" in body or reasons_always(model)
    return "max_completion_tokens" if newer else "max_tokens"


def _rename_limit(body: dict[str, Any]) -> list[Note]:
    if "max_tokens" not in body or "max_completion_tokens" in body:
        return []
    renamed = {("max_completion_tokens" if k == "max_tokens" else k): v for k, v in body.items()}
    body.clear()
    body.update(renamed)
    said = "the model refuses max_tokens; the same limit goes out as max_completion_tokens"
    return [Note("max_tokens_renamed", "/max_tokens", said)]
