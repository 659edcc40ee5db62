"""The order of kept stream items: what a stream can have sent, and what not (§2.5)."""

from __future__ import annotations

from typing import Any

from rewyn_sdk.errors import DecodeError

_GROWS = {"text": "text", "reasoning": "reasoning", "arguments": "tool_call"}
_ENDS = {"toolcall": "tool_call"}


def checked_sequence(items: list[Any]) -> list[Any]:
    """The items, DecodeError if a part starts twice, grows unopened, or ends as another kind.

    Parts may still be open at the end: a stream can break off.
    """
    opened: dict[int, str] = {}
    ended: set[int] = set()
    for index, item in enumerate(items):
        if item["item"] == "event":
            _take(item["value"], index, opened, ended)
    return items


def _take(event: dict[str, Any], index: int, opened: dict[int, str], ended: set[int]) -> None:
    part, what = event["part"], event["event"]
    if what == "start":
        if part in opened:
            raise DecodeError(f"item {index} names a part that has not started")
        if ("name" in event) != (event["kind"] == "tool_call"):
            raise DecodeError(f"item {index} does not match its part's kind")
        opened[part] = event["kind"]
        return
    if part not in opened:
        raise DecodeError(f"item {index} names a part that has not started")
    if part in ended:
        raise DecodeError(f"item {index} touches a part that already ended")
    if opened[part] != _kind(event):
        raise DecodeError(f"item {index} does not match its part's kind")
    if what == "end":
        ended.add(part)


def _kind(event: dict[str, Any]) -> str:
    if event["event"] == "end":
        content = str(event["content"]["type"])
        return _ENDS.get(content, content)
    return _GROWS[event["event"]]
