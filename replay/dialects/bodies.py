"""Changes within a recorded body, in the words of its API and in place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from replay.dialects.loose import items, mapping, text
from replay.dialects.prompt import CHAT, RESPONSES
from replay.dialects.reworded import MessageText, reworded

_TEXTS = ("text", "input_text", "output_text")


def put_system(api: str, body: dict[str, Any], system: str) -> None:
    """Put ``system`` in place of all system text that leads."""
    _SYSTEM.get(api, _messages_system)(body, system)


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


def put_message(body: dict[str, Any], message: MessageText) -> bool:
    """Reword the message wherever it stands; whether it stood anywhere."""
    asked = body.get("input")
    if isinstance(asked, str) and message.role == "user" and asked == message.old:
        body["input"] = message.new
        return True
    listed = [*items(body.get("messages")), *items(asked)]
    found = [_put(one, message) for one in listed if isinstance(one, dict)]
    return any(found)


def _put(one: dict[str, Any], message: MessageText) -> bool:
    content = one.get("content")
    if one.get("role") != message.role:
        return False
    if isinstance(content, str):
        one["content"] = message.new if content == message.old else content
        return content == message.old
    parts = [p for p in items(content) if isinstance(p, dict) and p.get("type") in _TEXTS]
    said = reworded([text(part.get("text")) for part in parts], message)
    if said is None:
        return False
    for part, new in zip(parts, said, strict=True):
        part["text"] = new
    gone = {id(part) for part in parts if part["text"] is None}
    one["content"] = [part for part in items(content) if id(part) not in gone]
    return True


def without_tools(body: dict[str, Any], off: frozenset[str]) -> set[str]:
    """Offer these tools no more; without any, what is said about tools goes too. Gives the names
    of all that were offered."""
    if "tools" not in body:
        return set()
    offered = [(names_of(mapping(tool)), tool) for tool in items(body["tools"])]
    kept = [tool for names, tool in offered if not names & off]
    body["tools"] = kept
    choice = mapping(body.get("tool_choice"))
    if not kept:
        for key in ("tools", "tool_choice", "parallel_tool_calls"):
            body.pop(key, None)
    elif names_of(choice) & off:
        del body["tool_choice"]
    return {name for names, _ in offered for name in names}


_PLAIN = ("function", "custom", "tool")


def name_of(tool: Mapping[str, Any]) -> str:
    """What a person calls a tool: by its name, or by its type where it has none."""
    own = mapping(tool.get("function")).get("name") or mapping(tool.get("custom")).get("name")
    kind = text(tool.get("type"))
    return text(own or tool.get("name")) or ("" if kind in _PLAIN else kind)


def names_of(tool: Mapping[str, Any]) -> set[str]:
    """What a tool, or the choice of one, may be called by on any of the three APIs: its name, and
    one the provider runs by its type, too (Anthropic's have both)."""
    kind = text(tool.get("type"))
    return {name_of(tool), "" if kind in _PLAIN else kind} - {""}


def open_call_ids(body: Mapping[str, Any]) -> list[str]:
    """The ids of tool calls that have no result in a body of any of the three APIs."""
    made, answered = _calls(body)
    return [one for one in made if one not in answered]


def _calls(body: Mapping[str, Any]) -> tuple[list[str], set[str]]:
    """The ids of tool calls and of results in a body of any of the three APIs."""
    made: list[str] = []
    answered: set[str] = set()
    for message in map(mapping, [*items(body.get("messages")), *items(body.get("input"))]):
        made += [text(mapping(one).get("id")) for one in items(message.get("tool_calls"))]
        if message.get("type") == "function_call":
            made.append(text(message.get("call_id")))
        answered |= {text(message.get("tool_call_id"))}
        if message.get("type") == "function_call_output":
            answered.add(text(message.get("call_id")))
        for part in map(mapping, items(message.get("content"))):
            if part.get("type") == "tool_use":
                made.append(text(part.get("id")))
            answered.add(text(part.get("tool_use_id")))
    return made, answered
