"""One view model of what an agent said, was told and was offered, whatever provider spoke.

`pointer` is always the JSON pointer (RFC 6901) of the thing inside the recorded document, so that
the page can offer the whole of what it shortens. Where a thing stood and how it was spelled there
(`pointer`, `raw`) is not what was said: two messages are equal if they say the same.
Templates choose a card by `kind`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeAlias


@dataclass(frozen=True, slots=True)
class Fact:
    """A small named value; `value` is ready to show, exact to the digit."""

    label: str
    value: str


@dataclass(frozen=True, slots=True)
class Text:
    text: str
    pointer: str = field(compare=False)
    label: str = ""
    citations: tuple[str, ...] = ()
    kind: ClassVar[str] = "text"


@dataclass(frozen=True, slots=True)
class Reasoning:
    text: str
    pointer: str = field(compare=False)
    redacted: bool = False
    kind: ClassVar[str] = "reasoning"


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call the model asked for. `invalid` is its argument text where that was no JSON;
    `opened` says that the arguments were JSON in a text once more than the dialect has it."""

    id: str
    name: str
    arguments: Any
    pointer: str = field(compare=False)
    invalid: str | None = None
    opened: bool = False
    kind: ClassVar[str] = "call"


@dataclass(frozen=True, slots=True)
class Result:
    """What a tool call came back with, as the model was told."""

    call_id: str
    name: str
    parts: tuple[Part, ...]
    pointer: str = field(compare=False)
    is_error: bool = False
    kind: ClassVar[str] = "result"


@dataclass(frozen=True, slots=True)
class Media:
    """An image, audio, video or document. `source` says what `value` is: `base64`, `url`, `file`
    (a provider's file id), `text`, `bytes` (a list of numbers) or `unknown`."""

    media: str
    source: str
    value: Any
    media_type: str
    pointer: str = field(compare=False)
    name: str = ""
    detail: str = ""
    kind: ClassVar[str] = "media"

    @property
    def size(self) -> int | None:
        """Bytes of the content, where it is in the recording."""
        length = len(self.value) if self.value else 0
        if self.source == "base64":
            return length * 3 // 4 - str(self.value)[-2:].count("=")
        if self.source == "text":
            return len(str(self.value).encode("utf-8", "replace"))
        return length if self.source == "bytes" else None

    @property
    def inside(self) -> bool:
        """The bytes themselves are recorded, so they can be shown without asking anybody."""
        return self.source in ("base64", "bytes")


@dataclass(frozen=True, slots=True)
class Data:
    """JSON: a structured result, or (`unknown`) a shape no adapter knows, shown as it is."""

    value: Any
    pointer: str = field(compare=False)
    label: str = ""
    unknown: bool = False
    kind: ClassVar[str] = "data"


Part: TypeAlias = Text | Reasoning | Call | Result | Media | Data


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation. `raw` is the recorded value, to tell a repeated turn by."""

    role: str
    parts: tuple[Part, ...]
    pointer: str = field(compare=False)
    name: str = ""
    raw: Any = field(default=None, repr=False, compare=False)

    @property
    def heading(self) -> str:
        """Who speaks; a turn that only brings results back is no person's, whatever its role."""
        if not self.parts or any(part.kind != "result" for part in self.parts):
            return self.role
        return "tool result" if len(self.parts) == 1 else "tool results"


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool the model was offered."""

    name: str
    description: str
    parameters: Any
    pointer: str = field(compare=False)
    raw: Any = field(default=None, repr=False, compare=False)

    @property
    def signature(self) -> str:
        """The parameters as one line, optional ones marked with `?`."""
        schema = self.parameters if isinstance(self.parameters, dict) else {}
        properties = schema.get("properties")
        required = schema.get("required")
        needed = required if isinstance(required, list) else []
        names = properties if isinstance(properties, dict) else {}
        return ", ".join(str(name) if name in needed else f"{name}?" for name in names)


@dataclass(frozen=True, slots=True)
class Document:
    """A text given to a model, found by a search or ranked; `score` as it was written."""

    id: str
    parts: tuple[Part, ...]
    pointer: str = field(compare=False)
    score: str = ""
    facts: tuple[Fact, ...] = ()


@dataclass(frozen=True, slots=True)
class Failure:
    """Why there is no answer."""

    kind: str
    message: str
    facts: tuple[Fact, ...] = ()
    chain: tuple[str, ...] = ()
    """What caused it, outermost first."""
    body: str = ""
    """The provider's own words."""
    pointer: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Request:
    """What was asked. `parts` holds what is no conversation: a query, inputs, arguments."""

    family: str
    messages: tuple[Message, ...] = ()
    tools: tuple[Tool, ...] = ()
    documents: tuple[Document, ...] = ()
    facts: tuple[Fact, ...] = ()
    parts: tuple[Part, ...] = ()
    defaults: tuple[str, ...] = ()
    """Parameters that were there to be set and were left to the provider's default."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back. `status` is a tool's own verdict; `usage` lists the figures as reported."""

    parts: tuple[Part, ...] = ()
    messages: tuple[Message, ...] = ()
    documents: tuple[Document, ...] = ()
    facts: tuple[Fact, ...] = ()
    usage: tuple[Fact, ...] = ()
    finish: str = ""
    status: str = ""
    failure: Failure | None = None
    raw: Any = field(default=None, repr=False, compare=False)
    """The answered turn's content as recorded, to find it again in the next request."""

    @property
    def calls(self) -> tuple[Call, ...]:
        return tuple(part for part in self.parts if isinstance(part, Call))
