"""What a person changed, put into a prompt or into a recorded body and nothing else touched."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from replay.dialects.carry import reasons_always
from replay.dialects.loose import items, mapping
from replay.dialects.prompt import CHAT, RESPONSES, Note, Prompt, Text, Turn


@dataclass(frozen=True)
class Overrides:
    """The changes of a replay; ``None`` leaves what was recorded. A temperature of 0 is a value."""

    temperature: float | None = None
    system: str | None = None


def change_prompt(prompt: Prompt, overrides: Overrides) -> Prompt:
    """The prompt with the changes; a new system text takes the place of all that lead."""
    if overrides.temperature is not None:
        prompt = replace(prompt, temperature=overrides.temperature)
    if overrides.system is not None:
        rest = prompt.turns[len(prompt.leading_system()) :]
        lead = Turn("system", (Text(overrides.system, "/system"),), "/system")
        prompt = replace(prompt, turns=(lead, *rest))
    return prompt


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
    if overrides.system is not None:
        _SYSTEM.get(api, _messages_system)(changed, overrides.system)
    return changed, notes


def _rename_limit(body: dict[str, Any]) -> list[Note]:
    if "max_tokens" not in body or "max_completion_tokens" in body:
        return []
    renamed = {("max_completion_tokens" if k == "max_tokens" else k): v for k, v in body.items()}
    body.clear()
    body.update(renamed)
    said = "the model refuses max_tokens; the same limit goes out as max_completion_tokens"
    return [Note("max_tokens_renamed", "/max_tokens", said)]


def _leading(messages: list[Any]) -> int:
    """How many system messages lead."""
    for index, message in enumerate(messages):
        if mapping(message).get("role") not in ("system", "developer"):
            return index
    return len(messages)


def _chat_system(body: dict[str, Any], system: str) -> None:
    messages = items(body.get("messages"))
    lead = _leading(messages)
    role = mapping(messages[0]).get("role") if lead else "system"
    body["messages"] = [{"role": role, "content": system}, *messages[lead:]]


def _responses_system(body: dict[str, Any], system: str) -> None:
    asked = body.get("input")
    if isinstance(asked, list):
        lead = _leading(asked)
        if lead and not body.get("instructions"):
            first = {**mapping(asked[0]), "content": system}
            body["input"] = [first, *asked[lead:]]
            return
        body["input"] = asked[lead:]
    body["instructions"] = system


def _messages_system(body: dict[str, Any], system: str) -> None:
    blocks = items(body.get("system"))
    marker = mapping(blocks[-1]).get("cache_control") if blocks else None
    if marker is None:
        body["system"] = system
    else:
        # Where the prompt was cached it stays cached, so that cost and latency compare.
        body["system"] = [{"type": "text", "text": system, "cache_control": marker}]


_SYSTEM = {CHAT: _chat_system, RESPONSES: _responses_system}
