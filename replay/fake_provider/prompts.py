"""What the fake provider reads out of a request, whichever API it came by."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any

Body = Mapping[str, Any]


def last_text(body: Body) -> str:
    """The text of the last user or tool message: what the answer is about."""
    for message in reversed(_turns(body)):
        text = " ".join(_texts(message)).strip()
        if text and message.get("role") != "assistant":
            return text
    return ""


def last_is_result(body: Body) -> bool:
    """Whether the request hands back a tool's result (rather than asks something new)."""
    turns = _turns(body)
    if not turns:
        return False
    last = turns[-1]
    if last.get("role") == "tool" or last.get("type") == "function_call_output":
        return True
    content = last.get("content")
    return isinstance(content, list) and any(_kind(part) == "tool_result" for part in content)


def offered_tools(body: Body) -> list[tuple[str, Mapping[str, Any]]]:
    """Name and schema of each function offered, in order."""
    tools = body.get("tools")
    found = []
    for tool in tools if isinstance(tools, list) else []:
        inner = tool.get("function") if isinstance(tool.get("function"), dict) else tool
        if isinstance(inner.get("name"), str):
            schema = inner.get("parameters") or inner.get("input_schema") or {}
            found.append((inner["name"], schema))
    return found


def count_tokens(value: object) -> int:
    """A plausible, repeatable count: a token for each four bytes of text, media not counted."""
    return math.ceil(sum(len(text.encode("utf-8", "replace")) for text in _walk(value)) / 4)


def _turns(body: Body) -> list[Mapping[str, Any]]:
    turns = body.get("messages", body.get("input", []))
    if isinstance(turns, str):
        return [{"role": "user", "content": turns}]
    return [turn for turn in turns if isinstance(turn, dict)] if isinstance(turns, list) else []


def _kind(part: object) -> object:
    return part.get("type") if isinstance(part, dict) else None


def _texts(message: Mapping[str, Any]) -> Iterator[str]:
    content = message.get("content", message.get("output"))
    if isinstance(content, str):
        yield content
    for part in content if isinstance(content, list) else []:
        if isinstance(part, dict) and isinstance(part.get("text"), str):
            yield part["text"]
        elif _kind(part) == "tool_result":
            yield from _texts(part)


_MEDIA = {"image_url", "file_data", "data", "url"}


def _walk(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _walk(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            if key not in _MEDIA:
                yield from _walk(item)
    elif value is not None:
        yield json.dumps(value)
