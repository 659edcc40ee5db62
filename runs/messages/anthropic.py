"""Anthropic Messages: content blocks."""

from typing import Any

from runs.messages.facts import facts_of, say, structured, usage_facts
from runs.messages.loose import items, obj, text
from runs.messages.openai_chat import failure
from runs.messages.openai_chat import part as openai_part
from runs.messages.parts import (
    Answer,
    Data,
    Media,
    Message,
    Part,
    Reasoning,
    Request,
    Result,
    Text,
    Tool,
)
from runs.messages.turns import Readers, call, content, each, turn, typed

_REQUEST = {"messages", "system", "tools"}


def request(body: dict[str, Any], pointer: str) -> Request:
    return Request(
        "completion",
        messages=(
            *_system(body, pointer),
            *messages(body.get("messages"), f"{pointer}/messages"),
        ),
        tools=tuple(
            _tool(one, f"{pointer}/tools/{i}") for i, one in enumerate(items(body.get("tools")))
        ),
        facts=facts_of(body, _REQUEST),
        parts=structured(body, _REQUEST, pointer),
    )


def messages(value: object, pointer: str) -> tuple[Message, ...]:
    return each(value, pointer, _turn)


def answer(body: dict[str, Any], pointer: str) -> Answer:
    if "error" in body and "content" not in body:
        return Answer(failure=failure(body["error"], f"{pointer}/error"))
    facts = facts_of({key: body.get(key) for key in ("id", "model", "stop_sequence")})
    usage = usage_facts(obj(body.get("usage")))
    said = tuple(blocks(body.get("content"), f"{pointer}/content"))
    return Answer(parts=said, facts=facts, usage=usage, finish=text(body.get("stop_reason")))


def blocks(value: object, pointer: str) -> list[Part]:
    """Content: text, or a list of blocks."""
    return content(value, pointer, block)


def _system(body: dict[str, Any], pointer: str) -> tuple[Message, ...]:
    at = f"{pointer}/system"
    said = tuple(blocks(body.get("system"), at))
    return (Message("system", said, at, raw=body.get("system")),) if said else ()


def _turn(value: object, pointer: str) -> tuple[Message, ...]:
    members = obj(value)
    said = tuple(blocks(members.get("content"), f"{pointer}/content"))
    return turn(text(members.get("role")), said, pointer, value)


def _tool(value: object, pointer: str) -> Tool:
    offer = obj(value)
    name = text(offer.get("name")) or text(offer.get("type"))
    schema = offer.get("input_schema")
    return Tool(name, text(offer.get("description")), schema, pointer, raw=value)


def block(value: object, pointer: str) -> Part:
    kind = text(obj(value).get("type"))
    return typed(value, pointer, {kind: _result} if kind.endswith("_tool_result") else _READERS)


def either(value: object, pointer: str) -> Part:
    """A part in OpenAI's or in Anthropic's spelling."""
    shown = openai_part(value, pointer)
    return block(value, pointer) if isinstance(shown, Data) else shown


def _text(block: dict[str, Any], pointer: str) -> Part | None:
    said = block.get("text")
    if not isinstance(said, str):
        return None
    cited = (obj(one) for one in items(block.get("citations")))
    lines = (" · ".join(_cited(one)) for one in cited)
    return Text(said, f"{pointer}/text", citations=tuple(filter(None, lines)))


def _cited(citation: dict[str, Any]) -> list[str]:
    keys = ("document_title", "title", "url", "cited_text")
    return [say(citation[key]) for key in keys if citation.get(key)]


def _thinking(block: dict[str, Any], pointer: str) -> Part | None:
    if block.get("type") == "redacted_thinking":
        return Reasoning("", f"{pointer}/data", redacted=True)
    return Reasoning(text(block.get("thinking")), f"{pointer}/thinking")


def _use(block: dict[str, Any], pointer: str) -> Part | None:
    identity, name = text(block.get("id")), text(block.get("name"))
    return call(block.get("input"), f"{pointer}/input", identity, name, text=False)


def _result(block: dict[str, Any], pointer: str) -> Part | None:
    said = tuple(blocks(block.get("content"), f"{pointer}/content"))
    identity = text(block.get("tool_use_id"))
    return Result(identity, "", said, pointer, block.get("is_error") is True)


def _media(block: dict[str, Any], pointer: str) -> Part | None:
    source, media = obj(block.get("source")), text(block.get("type"))
    kind = {"base64": "data", "url": "url", "file": "file_id", "text": "data"}
    key = kind.get(text(source.get("type")))
    if key is None or not isinstance(source.get(key), str):
        return None
    return Media(
        media,
        text(source.get("type")),
        source[key],
        text(source.get("media_type")),
        pointer,
        text(block.get("title")),
    )


_READERS: Readers = {
    "text": _text,
    "thinking": _thinking,
    "redacted_thinking": _thinking,
    "tool_use": _use,
    "server_tool_use": _use,
    "tool_result": _result,
    "image": _media,
    "document": _media,
}
