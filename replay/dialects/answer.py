"""One answer of a model, in no API's words, so that two sides compare alike."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

USAGE = ("input", "output", "cache_read", "cache_write", "reasoning")


class BadAnswer(ValueError):
    """A body that is no answer of the API it came from; the message says what is missing."""


@dataclass(frozen=True)
class AnswerCall:
    """``arguments`` is the parsed text, ``None`` where it is no JSON."""

    id: str
    name: str
    arguments: Any
    arguments_text: str


@dataclass(frozen=True)
class Answer:
    """What a model said.

    ``finish_reason`` is ``stop``, ``length``, ``tool_calls`` or ``content_filter``, else the API's
    own word, ``None`` when it gave none. ``usage`` has the five parts of ``USAGE``; ``None`` is
    unknown. *input* includes cached reads and writes, *output* includes reasoning.
    """

    text: str = ""
    calls: tuple[AnswerCall, ...] = ()
    reasoning: str = ""
    refusal: str | None = None
    finish_reason: str | None = None
    usage: Mapping[str, int | None] = field(default_factory=lambda: usage_parts())
    model: str | None = None
    response_id: str | None = None
    raw: Any = None


def usage_parts(**known: int | None) -> dict[str, int | None]:
    """The five parts, those not given unknown."""
    return {part: known.get(part) for part in USAGE}


def settled_finish(reason: str | None, calls: tuple[AnswerCall, ...]) -> str | None:
    """``stop`` beside a tool call is ``tool_calls``: some servers say one, some the other."""
    return "tool_calls" if reason == "stop" and calls else reason
