"""From what somebody asked to change to the changes themselves, read from the recording."""

from __future__ import annotations

from typing import Any

from replay import recording
from replay.dialects import MessageText, Overrides
from replay.questions import Controls, Message
from rewyn_sdk.facts import as_list, as_object, request_history
from runs.models import Effect, Family, Run
from runs.refusals import Refused

ROLES = ("user", "assistant")


def overrides_of(controls: Controls, run: Run) -> Overrides:
    """The changes of a replay of `run`; Refused (`message_not_found`) where one has no place."""
    return Overrides(
        temperature=controls.temperature,
        system=controls.system,
        top_p=controls.top_p,
        max_tokens=controls.max_tokens,
        message=_reworded(controls.message, run) if controls.message else None,
        tools_off=controls.tools_off,
        dangling="drop" if controls.dangling == "drop" else None,
        dangling_result=controls.dangling_result,
    )


def _reworded(message: Message, run: Run) -> MessageText:
    role, text = message_at(run, message.effect, message.index)
    if not text:
        said = f"#{message.effect} has no message {message.index} with a text that can be changed."
        raise Refused("message_not_found", said, "message")
    return MessageText("user" if role == "user" else "assistant", text, message.text)


def message_at(run: Run, seq: int, index: int) -> tuple[str, str]:
    """Who says what at this place of a call's history; nothing where no text can be changed."""
    calls = Effect.objects.filter(run=run, family=Family.COMPLETION, seq=seq)
    effect = calls.first()
    record = recording.record(effect).value if effect else None
    request = as_object(as_object((record or {}).get("kind")).get("request"))
    history = as_list(request_history(request))
    found = as_object(history[index]) if index < len(history) else {}
    role = found.get("role")
    return (str(role), text_of(found)) if role in ROLES else ("", "")


def text_of(message: Any) -> str:
    """What a recorded message says, in one text."""
    return "".join(texts_of(message))


def texts_of(message: Any) -> list[str]:
    """What a recorded message says, in the texts it consists of."""
    content = as_object(message).get("content")
    if isinstance(content, str):
        return [content]
    parts = (as_object(part) for part in as_list(content))
    texts = (part.get("text") for part in parts if part.get("type", "text") == "text")
    return [text for text in texts if isinstance(text, str)]
