"""OpenTelemetry GenAI messages: `{role, parts[]}` (semantic conventions 1.36 and later), and the
events that came before them."""

from typing import Any

from runs.messages.facts import rest
from runs.messages.loose import items, named, obj, text
from runs.messages.parts import Data, Media, Message, Part, Reasoning, Result, Text
from runs.messages.turns import Readers, call, content, each, media_of, opened, turn, typed

_TURN = {"role", "parts", "finish_reason", "name"}


def messages(value: object, pointer: str) -> tuple[Message, ...]:
    return each(value, pointer, _turn)


def system(value: object, pointer: str) -> tuple[Message, ...]:
    """`gen_ai.system_instructions`: a list of parts, or a text."""
    said = parts(value, pointer)
    return (Message("system", said, pointer, raw=value),) if said else ()


def parts(value: object, pointer: str) -> tuple[Part, ...]:
    return tuple(content(value, pointer, _part))


def _turn(value: object, pointer: str) -> tuple[Message, ...]:
    members = obj(value)
    said = (*parts(members.get("parts"), f"{pointer}/parts"), *rest(members, _TURN, pointer))
    return turn(text(members.get("role")), said, pointer, value, text(members.get("name")))


def _part(value: object, pointer: str) -> Part:
    return typed(value, pointer, _READERS)


def _text(part: dict[str, Any], pointer: str) -> Part | None:
    said = part.get("content")
    if said is None and part.keys() == {"type"}:
        return Text("", "", "the sender keeps its texts to itself")
    label = "refusal" if part.get("type") == "refusal" else ""
    return Text(said, f"{pointer}/content", label) if isinstance(said, str) else None


def _reasoning(part: dict[str, Any], pointer: str) -> Part | None:
    said = part.get("content")
    if said is None:
        return Reasoning("", pointer, redacted=True)
    if not isinstance(said, str):
        return None
    summaries = [text(obj(one).get("text")) for one in items(opened(said))]  # seen as a JSON text
    return Reasoning("\n\n".join(filter(None, summaries)) or said, f"{pointer}/content")


def _call(part: dict[str, Any], pointer: str) -> Part | None:
    arguments = part.get("arguments")
    identity, name = text(part.get("id")), text(part.get("name"))
    return call({} if arguments is None else arguments, f"{pointer}/arguments", identity, name)


def _response(part: dict[str, Any], pointer: str) -> Part | None:
    key, said = named(part, "response", "result", "content")
    at = f"{pointer}/{key}"
    inner: tuple[Part, ...] = ()
    if isinstance(said, str):
        inner = (Text(said, at),)
    elif said is not None:
        inner = _spoken(said, at) or (Data(said, at),)
    return Result(text(part.get("id")), text(part.get("name")), inner, pointer)


def _spoken(value: object, pointer: str) -> tuple[Part, ...]:
    """A list of nothing but parts that are known; else nothing."""
    listed = items(value)
    known = listed and all(text(obj(one).get("type")) in _READERS for one in listed)
    return parts(value, pointer) if known else ()


def _media(part: dict[str, Any], pointer: str) -> Part | None:
    source, key = {
        "blob": ("base64", "content"),
        "uri": ("url", "uri"),
        "file": ("file", "file_id"),
    }[text(part.get("type"))]
    if not isinstance(part.get(key), str):
        return None
    mime = text(part.get("mime_type"))
    media = text(part.get("modality")) or media_of(mime)
    return Media(media, source, part[key], mime, pointer)


_READERS: Readers = {
    "text": _text,
    "refusal": _text,
    "reasoning": _reasoning,
    "thinking": _reasoning,
    "tool_call": _call,
    "tool_call_response": _response,
    "blob": _media,
    "uri": _media,
    "file": _media,
}
