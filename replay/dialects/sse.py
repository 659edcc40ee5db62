"""Server-sent events: bytes as they come, events as they are complete."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from replay.dialects.loose import read_value


@dataclass(frozen=True)
class Event:
    """``data`` is the parsed JSON; ``done`` marks the ``[DONE]`` that ends a chat stream."""

    name: str | None
    data: Any
    done: bool = False


class BadStream(ValueError):
    """An event whose data is no JSON."""


class EventReader:
    """Feed it bytes in pieces of any size; it gives back the events that are whole."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> list[Event]:
        """The events completed by ``data``. Raises ``BadStream`` for one that is no JSON."""
        self._rest += data
        blocks = self._rest.replace(b"\r\n", b"\n").split(b"\n\n")
        # A carriage return alone at the end may be half of a line end.
        self._rest = blocks.pop()
        return [event for block in blocks if (event := _event(block))]

    def end(self) -> list[Event]:
        """What a stream left that ended without its last blank line."""
        block, self._rest = self._rest, b""
        event = _event(block.replace(b"\r\n", b"\n"))
        return [event] if event else []


def _event(block: bytes) -> Event | None:
    name, lines = None, []
    for line in block.decode("utf-8", "replace").split("\n"):
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if field == "event":
            name = value
        elif field == "data":
            lines.append(value)
    if not lines:
        return None
    data = "\n".join(lines)
    if data.strip() == "[DONE]":
        return Event(name, None, done=True)
    try:
        return Event(name, read_value(data))
    except ValueError as error:
        raise BadStream(f"an event of the stream is no JSON: {data[:100]}") from error
