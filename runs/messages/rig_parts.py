"""Rig's messages and parts, every shape from D0 to R45 (spec of the effect log, §2.2 and §9)."""

from collections.abc import Callable
from typing import Any

from runs.messages import exact
from runs.messages.facts import rest
from runs.messages.loose import items, obj, pick, plural, text
from runs.messages.parts import (
    Call,
    Data,
    Media,
    Message,
    Part,
    Reasoning,
    Result,
    Text,
    Tool,
)
from runs.messages.turns import call, each, turn

MEDIA_TYPES = {
    "svg": "image/svg+xml",
    "jpeg": "image/jpeg",
    "jpg": "image/jpeg",
    "pdf": "application/pdf",
    "rtf": "application/rtf",
    "xml": "application/xml",
    "txt": "text/plain",
    "python": "text/x-python",
    "mp3": "audio/mpeg",
    "avi": "video/x-msvideo",
    "mov": "video/quicktime",
}
_FAMILY = {"document": "text"}
_TURN = {"role", "content", "id", "origin", "stop"}


def messages(value: object, pointer: str) -> tuple[Message, ...]:
    return each(value, pointer, _turn)


def _turn(value: object, pointer: str) -> tuple[Message, ...]:
    members = obj(value)
    known = "role" in members or "content" in members
    said = parts(members.get("content"), f"{pointer}/content") if known else unknown(value, pointer)
    extra = rest(members, _TURN, pointer) if known else ()
    return turn(text(members.get("role")), (*said, *extra), pointer, value)


def parts(value: object, pointer: str) -> tuple[Part, ...]:
    """A message's content: a string, a list of parts, or one part."""
    if isinstance(value, str):
        return (Text(value, pointer),)
    if isinstance(value, list):
        return tuple(part(one, f"{pointer}/{index}") for index, one in enumerate(value))
    return () if value is None else (part(value, pointer),)


def part(value: object, pointer: str) -> Part:
    if isinstance(value, str):
        return Text(value, pointer)
    members = obj(value)
    read = _READERS.get(_tag(members))
    return read(members, pointer) if read else unknown(value, pointer)[0]


def unknown(value: object, pointer: str) -> tuple[Part, ...]:
    return (Data(value, pointer, text(obj(value).get("type")), unknown=True),)


def vector(numbers: list[Any], pointer: str) -> Text:
    """The start of an embedding's vector, named by its length."""
    start = ", ".join(exact.number(n) for n in numbers[:6])
    more = " …" if len(numbers) > 6 else ""
    return Text(f"[{start}{more}]", pointer, f"Vector of {plural(len(numbers), 'number')}")


def call_id(value: object) -> str:
    """The id to show of a call, by the spec's rule for all shapes (§9, lenient reading 5)."""
    if isinstance(value, str):
        return value
    members = obj(value)
    return text(members.get("provider")) or text(members.get("id")) or text(members.get("local"))


def tools(value: object, pointer: str) -> tuple[Tool, ...]:
    return tuple(_tool(one, f"{pointer}/{index}") for index, one in enumerate(items(value)))


def media_type(media: str, name: object) -> str:
    """`png` of an image as `image/png`; a MIME type stays."""
    short = text(name)
    if not short or "/" in short:
        return short
    return MEDIA_TYPES.get(short) or f"{_FAMILY.get(media, media)}/{short}"


def _tool(value: object, pointer: str) -> Tool:
    offer = obj(value)
    return Tool(
        text(offer.get("name")),
        text(offer.get("description")),
        offer.get("parameters"),
        pointer,
        raw=value,
    )


def _tag(members: dict[str, Any]) -> str:
    tag = text(members.get("type")).lower().replace("_", "")
    if not tag and "function" in members:
        return "toolcall"
    return "text" if not tag and "text" in members else tag


def _text(members: dict[str, Any], pointer: str) -> Part:
    if not isinstance(members.get("text"), str):
        return unknown(members, pointer)[0]
    return Text(members["text"], f"{pointer}/text", citations=_citations(members))


def _citations(members: dict[str, Any]) -> tuple[str, ...]:
    listed = items(pick(members, "citations", "list"))
    sources = [obj(source) for entry in listed for source in items(obj(entry).get("sources"))]
    return tuple(filter(None, map(_source_line, sources)))


def _source_line(source: dict[str, Any]) -> str:
    place = obj(source.get("location"))
    where = next((text(place.get(key)) for key in ("url", "id", "name") if place.get(key)), "")
    said = [text(source.get("title")), where, text(source.get("cited_text"))]
    return " · ".join(filter(None, said))


def _reasoning(members: dict[str, Any], pointer: str) -> Part:
    said = members.get("text")
    if not isinstance(said, str):
        listed = items(members.get("reasoning")) or items(members.get("content"))
        pieces = [one if isinstance(one, str) else text(obj(one).get("text")) for one in listed]
        said = "\n".join(filter(None, pieces))
        if not said and not members.get("redacted"):
            return unknown(members, pointer)[0]
    return Reasoning(said, f"{pointer}/text", bool(members.get("redacted")) or not said)


def _call(members: dict[str, Any], pointer: str) -> Part:
    function = obj(members.get("function"))
    identity = call_id(members.get("id")) or text(pick(members, "provider", "call_id"))
    at, name = f"{pointer}/function/arguments", text(function.get("name"))
    if invalid := text(function.get("invalid_arguments")):
        return Call(identity, name, function.get("arguments"), at, invalid)
    return call(function.get("arguments"), at, identity, name, text=False)


def _result(members: dict[str, Any], pointer: str) -> Part:
    identity = call_id(members.get("call")) or call_id(members.get("call_id"))
    return Result(
        identity or call_id(members.get("id")),
        text(members.get("name")),
        parts(members.get("content"), f"{pointer}/content"),
        pointer,
        members.get("is_error") is True,
    )


def _json(members: dict[str, Any], pointer: str) -> Part:
    return Data(members.get("value"), f"{pointer}/value")


def _opaque(members: dict[str, Any], pointer: str) -> Part:
    return Data(members.get("item"), f"{pointer}/item", "provider item", unknown=True)


def _media(members: dict[str, Any], pointer: str) -> Part:
    media = text(members.get("type"))
    data = members.get("data")
    source = obj(data) or {"type": text(members.get("format")) or "base64", "value": data}
    kind, value = _source(source)
    return Media(
        media,
        kind,
        value,
        media_type(media, members.get("media_type")),
        pointer,
        detail=text(members.get("detail")),
    )


def _source(source: dict[str, Any]) -> tuple[str, Any]:
    """The kind and content of a Source; what does not hold what it says it does is `unknown`."""
    tag, value = text(source.get("type")).lower().replace("_", ""), source.get("value")
    kind = {"base64": "base64", "url": "url", "fileid": "file", "string": "text", "raw": "bytes"}
    wanted = list if tag == "raw" else str
    return (kind.get(tag, "unknown"), value) if isinstance(value, wanted) else ("unknown", value)


_READERS: dict[str, Callable[[dict[str, Any], str], Part]] = {
    "text": _text,
    "reasoning": _reasoning,
    "toolcall": _call,
    "toolresult": _result,
    "json": _json,
    "opaque": _opaque,
    "image": _media,
    "audio": _media,
    "video": _media,
    "document": _media,
}
