"""One request to a model, in no API's words.

A reader makes a ``Prompt`` of a Rig request or of a wire body; a writer spells it for one API and
tells in ``Note`` what it had to leave out or say otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

CHAT = "openai.chat"
RESPONSES = "openai.responses"
MESSAGES = "anthropic.messages"
NO_RESULT = "No result provided"
"""Stands as the result of a call that has none, unless somebody says otherwise."""

Kind = Literal["image", "audio", "video", "document"]
Source = Literal["url", "base64", "file", "text", "unknown"]


@dataclass(frozen=True)
class Note:
    """Something that is not sent as it was recorded. ``path`` is a JSON Pointer into the source."""

    code: str
    path: str
    message: str


@dataclass(frozen=True)
class Native:
    """The provider's own object for a part, sent back as it is to the API it came from."""

    api: str
    item: Mapping[str, Any]


@dataclass(frozen=True)
class Text:
    text: str
    path: str = ""
    native: Native | None = None


@dataclass(frozen=True)
class Media:
    """An image, sound, film or document; ``value`` is a URL, base64, a file id or a text."""

    kind: Kind
    source: Source
    value: str
    mime: str | None = None
    detail: str | None = None
    path: str = ""


@dataclass(frozen=True)
class Call:
    """A tool call; ``written`` is the argument text where the model's was no JSON object."""

    id: str
    name: str
    arguments: Mapping[str, Any]
    written: str | None = None
    path: str = ""
    native: Native | None = None


@dataclass(frozen=True)
class Result:
    call_id: str
    name: str
    parts: tuple[Text | Media, ...]
    is_error: bool = False
    path: str = ""


@dataclass(frozen=True)
class Reasoning:
    text: str
    redacted: bool = False
    path: str = ""
    native: Native | None = None


@dataclass(frozen=True)
class Opaque:
    """An object of one API that has no meaning here; only that API gets it back."""

    native: Native
    path: str = ""


Part = Text | Media | Call | Result | Reasoning | Opaque
Role = Literal["system", "user", "assistant"]


@dataclass(frozen=True)
class Turn:
    role: Role
    parts: tuple[Part, ...]
    path: str = ""

    def text(self) -> str:
        """The turn's own words, joined."""
        return "".join(part.text for part in self.parts if isinstance(part, Text))


@dataclass(frozen=True)
class Tool:
    name: str
    description: str
    schema: Mapping[str, Any]
    strict: bool | None = None
    path: str = ""


@dataclass(frozen=True)
class Schema:
    """The shape the answer must have."""

    schema: Mapping[str, Any]
    name: str = "response_schema"
    strict: bool = True
    path: str = "/output_schema"


@dataclass(frozen=True)
class Options:
    """Settings every API knows, by one name. ``None`` is unset; zero is a value."""

    reasoning: str | Mapping[str, Any] | None = None
    cache: str | None = None
    service_tier: str | None = None
    verbosity: str | None = None
    parallel_tool_calls: bool | None = None
    top_p: float | None = None
    seed: int | None = None
    stop: tuple[str, ...] = ()


ToolChoice = Literal["auto", "none", "required"] | tuple[str, ...]


@dataclass(frozen=True)
class Prompt:
    """A request. ``api`` is the API it was recorded on, ``None`` where that is not one we speak.

    ``params`` are fields of that API's body without a name here; ``provider_options`` are addressed
    to providers by name, then to all of their APIs (``*``) or one. ``no_result`` is said for a call
    that has no result; ``None`` leaves such a call out.
    """

    turns: tuple[Turn, ...]
    tools: tuple[Tool, ...] = ()
    hosted_tools: tuple[Native, ...] = ()
    tool_choice: ToolChoice | None = None
    temperature: float | None = None
    max_tokens: int | None = None
    schema: Schema | None = None
    json_only: bool = False
    """The answer must be JSON, of any shape."""
    options: Options = field(default_factory=Options)
    params: Mapping[str, Any] = field(default_factory=dict)
    params_path: str = "/additional_params"
    options_path: str = "/options"
    provider_options: Mapping[str, Any] = field(default_factory=dict)
    api: str | None = None
    stream: bool = False
    no_result: str | None = NO_RESULT
    notes: tuple[Note, ...] = ()

    def system(self) -> str:
        """The text of the system turns that lead the conversation."""
        return "\n\n".join(turn.text() for turn in self.leading_system())

    def leading_system(self) -> list[Turn]:
        """The system turns before anything else."""
        lead: list[Turn] = []
        for turn in self.turns:
            if turn.role != "system":
                break
            lead.append(turn)
        return lead
