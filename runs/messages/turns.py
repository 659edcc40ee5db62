"""What every dialect's turns have in common: who speaks, and calls and results in one shape."""

from collections.abc import Callable, Mapping
from typing import Any

from runs.messages import exact
from runs.messages.loose import at, items, obj, text
from runs.messages.parts import Call, Data, Message, Part, Result, Text

Readers = Mapping[str, Callable[[dict[str, Any], str], Part | None]]
"""`type` of a part → what reads it; None where it is not what its type says."""

ROLES = {
    "human": "user",
    "ai": "assistant",
    "AIMessageChunk": "assistant",
    "model": "assistant",
    "function": "tool",
}
"""One name for a speaker that dialects name otherwise."""


def each(
    value: object, pointer: str, read: Callable[[object, str], tuple[Message, ...]]
) -> tuple[Message, ...]:
    """The messages of a list of turns, each read by `read`."""
    return tuple(
        message
        for index, one in enumerate(items(value))
        for message in read(one, f"{pointer}/{index}")
    )


def content(value: object, pointer: str, read: Callable[[object, str], Part]) -> list[Part]:
    """A turn's content: a text, or a list of parts, each read by `read`."""
    if isinstance(value, str):
        return [Text(value, pointer)] if value else []
    return [read(one, f"{pointer}/{index}") for index, one in enumerate(items(value))]


def typed(value: object, pointer: str, readers: Readers) -> Part:
    """A part by its `type`; one that nobody reads is shown as the JSON it is."""
    part = obj(value)
    kind = text(part.get("type"))
    read = readers.get(kind)
    shown = read(part, pointer) if read else None
    return shown or Data(value, pointer, kind, unknown=True)


def media_of(mime: str) -> str:
    """What a MIME type is in the words of the view: image, audio, video or document."""
    family = mime.partition("/")[0]
    return family if family in ("image", "audio", "video") else "document"


def turn(
    role: str, parts: tuple[Part, ...], pointer: str, raw: object, name: str = ""
) -> tuple[Message, ...]:
    """One recorded turn as messages: each result that somebody else's turn carries is one of its
    own, as the tool said it and not the user (dialects differ in whose turn brings it)."""
    speaker = ROLES.get(role, role) or "message"
    if speaker == "assistant" or not any(isinstance(part, Result) for part in parts):
        return (Message(speaker, parts, pointer, name, raw=raw),)
    if len(parts) == 1:
        return (Message("tool", parts, pointer, raw=raw),)
    return tuple(_message(group, speaker, pointer, raw) for group in groups(parts))


def _message(group: tuple[Part, ...], speaker: str, pointer: str, raw: object) -> Message:
    first = group[0]
    if isinstance(first, Result):
        return Message("tool", group, first.pointer, raw=at(raw, first.pointer[len(pointer) :]))
    return Message("user" if speaker == "tool" else speaker, group, pointer, raw=raw)


def groups(parts: tuple[Part, ...]) -> list[tuple[Part, ...]]:
    """Results alone, all that stands between them together."""
    made: list[list[Part]] = []
    for part in parts:
        if made and not isinstance(part, Result) and not isinstance(made[-1][0], Result):
            made[-1].append(part)
        else:
            made.append([part])
    return [tuple(group) for group in made]


def call(value: object, pointer: str, identity: str, name: str, text: bool = True) -> Call:
    """A tool call. `text` says that this dialect writes arguments as JSON in a string; what is
    JSON in a string once more than that is opened one level, and marked."""
    if not isinstance(value, str):
        return Call(identity, name, value, pointer)
    if not text:
        decoded: Any = value
    else:
        try:
            decoded = exact.loads(value) if value else {}
        except ValueError:
            return Call(identity, name, None, pointer, invalid=value)
    inner = opened(decoded)
    if inner is None:
        return Call(identity, name, decoded, pointer)
    return Call(identity, name, inner, pointer, opened=True)


def opened(value: object) -> Any:
    """The object or list that a text holds as JSON; None for anything else."""
    if not isinstance(value, str) or value.lstrip()[:1] not in ("{", "[") or len(value) > 1_000_000:
        return None
    try:
        return exact.loads(value)
    except ValueError:
        return None
