"""What one maker's Chat Completions wants otherwise than OpenAI's, put into a body before it goes.

As Mistral documents its API (2026-11): call ids are nine letters or digits, the seed is
`random_seed`, the limit `max_tokens`, and a stream tells its usage without being asked.
"""

from __future__ import annotations

import copy
import hashlib
import re
from collections.abc import Mapping
from typing import Any

from replay.dialects import Note
from replay.dialects.loose import items

_ID = re.compile(r"[A-Za-z0-9]{9}")
_RENAMED = {"seed": "random_seed", "max_completion_tokens": "max_tokens"}


def for_mistral(body: Mapping[str, Any]) -> tuple[dict[str, Any], list[Note]]:
    """The body as Mistral takes it, and a note for each thing that is said otherwise."""
    changed, notes = copy.deepcopy(dict(body)), []
    for old, new in _RENAMED.items():
        if old in changed:
            changed[new] = changed.pop(old)
            notes.append(Note("param_renamed", f"/{old}", f"{old} goes out as {new}"))
    changed.pop("stream_options", None)
    if sum(_as_system(message) for message in items(changed.get("messages"))):
        said = "Mistral has no role developer; it goes out as system"
        notes.append(Note("role_reworded", "/messages", said))
    respelled = False
    for message in items(changed.get("messages")):
        if isinstance(message, dict):
            respelled = _respell(message) or respelled
    if respelled:
        said = "Mistral takes call ids of nine letters or digits; others are respelled"
        notes.append(Note("call_id_respelled", "/messages", said))
    return changed, notes


def _as_system(message: Any) -> bool:
    """Make a developer's message one of the system; whether it was one."""
    if not isinstance(message, dict) or message.get("role") != "developer":
        return False
    message["role"] = "system"
    return True


def _respell(message: dict[str, Any]) -> bool:
    """Respell the ids of a message; whether there was one to respell."""
    calls = [call for call in items(message.get("tool_calls")) if isinstance(call, dict)]
    places = [(call, "id") for call in calls] + [(message, "tool_call_id")]
    found = False
    for holder, name in places:
        given = holder.get(name)
        if isinstance(given, str) and not _ID.fullmatch(given):
            holder[name] = hashlib.blake2b(given.encode("utf-8", "replace")).hexdigest()[:9]
            found = True
    return found
