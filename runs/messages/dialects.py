"""Which dialect a provider body speaks, told by its shape, and the adapter for it."""

from collections.abc import Callable
from typing import Any

from runs.messages import anthropic, openai_chat, openai_responses
from runs.messages.loose import items, obj, text
from runs.messages.parts import Answer, Data, Media, Request

_ANTHROPIC_BLOCKS = {"tool_use", "tool_result", "thinking", "redacted_thinking", "document"}

Reader = tuple[Callable[[dict[str, Any], str], Request], Callable[[dict[str, Any], str], Answer]]
_READERS: dict[str, Reader] = {
    "openai.chat": (openai_chat.request, openai_chat.answer),
    "openai.responses": (openai_responses.request, openai_responses.answer),
    "anthropic.messages": (anthropic.request, anthropic.answer),
}


def wire_request(body: object, pointer: str) -> Request:
    """A provider request body; what no adapter knows is shown as the JSON it is."""
    reader = _READERS.get(detect(body))
    if reader is None:
        return Request("unknown", parts=(Data(body, pointer, unknown=True),))
    return reader[0](obj(body), pointer)


def wire_answer(body: object, pointer: str) -> Answer:
    """A provider response body, likewise."""
    reader = _READERS.get(detect_answer(body))
    if reader is None:
        return Answer(parts=(Data(body, pointer, unknown=True),))
    return reader[1](obj(body), pointer)


def wire_media(value: object) -> Media | None:
    """The media that a content part of any dialect is, if it is one."""
    read = [*openai_chat.content([value], ""), *anthropic.blocks([value], "")]
    return next((part for part in read if isinstance(part, Media)), None)


def detect(body: object) -> str:
    """`openai.chat`, `openai.responses`, `anthropic.messages`, or empty for none of them."""
    members = obj(body)
    if "messages" in members:
        return "anthropic.messages" if _is_anthropic(members) else "openai.chat"
    return "openai.responses" if "input" in members and "model" in members else ""


def detect_answer(body: object) -> str:
    members = obj(body)
    if "choices" in members or "error" in members:
        return "openai.chat" if members.get("type") != "error" else "anthropic.messages"
    if isinstance(members.get("output"), list):
        return "openai.responses"
    anthropic_like = isinstance(members.get("content"), list) and "role" in members
    return "anthropic.messages" if anthropic_like else ""


def _is_anthropic(members: dict[str, Any]) -> bool:
    if "system" in members or any("input_schema" in obj(t) for t in items(members.get("tools"))):
        return True
    turns = [obj(turn) for turn in items(members["messages"])]
    blocks = (obj(block) for turn in turns for block in items(turn.get("content")))
    return any(text(b.get("type")) in _ANTHROPIC_BLOCKS or "source" in b for b in blocks)
