"""Rig's completion request and outcome, of every shape, as a ``Prompt`` and an ``Answer``.

The fields are those of the effect log format (§2.2, §2.3, §9): the 0.44 shape, and leniently the
ones before and after it.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping
from typing import Any

from replay.dialects import media
from replay.dialects.loose import compact_json, items, mapping, maybe_text, parsed, text
from replay.dialects.prompt import (
    CHAT,
    MESSAGES,
    RESPONSES,
    Call,
    Media,
    Native,
    Note,
    Opaque,
    Options,
    Part,
    Prompt,
    Reasoning,
    Result,
    Role,
    Schema,
    Source,
    Text,
    Tool,
    ToolChoice,
    Turn,
)

APIS = (CHAT, RESPONSES, MESSAGES)
_SOURCES: dict[str, Source] = {
    "url": "url",
    "base64": "base64",
    "fileId": "file",
    "file_id": "file",
    "string": "text",
}
_KINDS = ("image", "audio", "video", "document")


def read_request(
    request: Mapping[str, Any], *, api: str | None = None, stream: bool = False
) -> Prompt:
    """A recorded completion request as a prompt.

    ``api`` is the API of the recorded answer's origin; one we do not speak counts as unknown.
    Paths in the notes are JSON Pointers into ``request``.
    """
    notes: list[Note] = []
    known = api if api in APIS else None
    choice = _tool_choice(request.get("tool_choice"))
    turns = tuple(_turns(request, known, notes))
    schema = _schema(request, turns, known, notes)
    return Prompt(
        turns=turns,
        tools=tuple(_tools(request)),
        tool_choice=choice,
        temperature=request.get("temperature"),
        max_tokens=request.get("max_tokens"),
        schema=schema,
        options=_options(mapping(request.get("options"))),
        params=mapping(request.get("additional_params")),
        provider_options=mapping(request.get("provider_options")),
        api=known,
        stream=stream,
        notes=tuple(notes),
    )


def _turns(request: Mapping[str, Any], api: str | None, notes: list[Note]) -> list[Turn]:
    key = "chat_history" if "chat_history" in request else "messages"
    turns = list(_lead(request))
    for index, message in enumerate(items(request.get(key))):
        path, message = f"/{key}/{index}", mapping(message)
        if isinstance(message.get("stop"), dict):
            said = "a turn that ended in an error is not sent again"
            notes.append(Note("failed_turn", path, said))
        else:
            turns.append(_turn(message, path, api, notes))
    documents = tuple(_documents(request))
    return _with_documents(turns, documents) if documents else turns


def _lead(request: Mapping[str, Any]) -> Iterator[Turn]:
    for key in ("system", "preamble"):
        lead = request.get(key)
        if isinstance(lead, str):
            yield Turn("system", (Text(lead, f"/{key}"),), f"/{key}")


def _with_documents(turns: list[Turn], documents: tuple[Part, ...]) -> list[Turn]:
    """Where Rig puts them: after the leading system text, in front of the first user turn."""
    at = next((i for i, turn in enumerate(turns) if turn.role != "system"), len(turns))
    if at < len(turns) and turns[at].role == "user" and turns[at].parts:
        first = turns[at]
        return [
            *turns[:at],
            Turn("user", documents + first.parts, first.path),
            *turns[at + 1 :],
        ]
    return [*turns[:at], Turn("user", documents, "/documents"), *turns[at:]]


def _documents(request: Mapping[str, Any]) -> Iterator[Media]:
    for index, document in enumerate(items(request.get("documents"))):
        shown = _document_text(mapping(document))
        yield Media("document", "text", shown, "text/plain", path=f"/documents/{index}")


def _document_text(document: Mapping[str, Any]) -> str:
    more = sorted((k, v) for k, v in document.items() if k not in ("id", "text"))
    told = " ".join(f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in more)
    body = text(document.get("text"))
    inner = f"<metadata {told} />\n{body}" if more else body
    return f"<file id: {document.get('id')}>\n{inner}\n</file>\n"


def _turn(message: Mapping[str, Any], path: str, asked: str | None, notes: list[Note]) -> Turn:
    role = message.get("role")
    content = message.get("content")
    if isinstance(content, str):
        return Turn(_role(role, path, notes), (Text(content, f"{path}/content"),), path)
    blocks = content if isinstance(content, list) else [content] if content else []
    # Shapes before 0.44 don't say where a turn came from; a run rarely mixes APIs.
    api = maybe_text(mapping(message.get("origin")).get("api")) or asked
    parts = [
        part
        for index, block in enumerate(blocks)
        for part in _part(mapping(block), f"{path}/content/{index}", api, notes)
    ]
    return Turn(_role(role, path, notes), tuple(parts), path)


def _role(role: object, path: str, notes: list[Note]) -> Role:
    if role in ("system", "user", "assistant"):
        return role
    notes.append(Note("unknown_role", path, f"the role {role!r} is sent as user"))
    return "user"


def _part(
    block: Mapping[str, Any], path: str, api: str | None, notes: list[Note]
) -> Iterator[Part]:
    kind = block.get("type") or ("toolcall" if "function" in block else "text")
    if kind == "text":
        yield Text(text(block.get("text")), path, _native(block, api))
    elif kind in ("toolresult", "tool_result"):
        yield _result(block, path, notes)
    elif kind in ("toolcall", "tool_call"):
        yield _call(block, path, api)
    elif kind == "reasoning":
        yield _reasoning(block, path, api)
    elif kind in _KINDS:
        yield media_of(block, kind, path)
    elif kind == "opaque" and isinstance(block.get("item"), dict):
        if block.get("replay", True):
            yield Opaque(Native(api or "", block["item"]), path)
    else:
        notes.append(Note("unknown_part", path, f"a part of type {kind!r} is left out"))


def _native(block: Mapping[str, Any], api: str | None) -> Native | None:
    item = mapping(block.get("native")).get("item")
    return Native(api, item) if api and isinstance(item, dict) else None


def call_id(block: Mapping[str, Any], key: str) -> str:
    """The id of a call or of the call a result answers, in any shape; empty where there is none."""
    given = block.get(key, block.get("id"))
    if isinstance(given, str):
        return given
    told = mapping(given)
    provider = mapping(block.get("provider"))
    for value in (told.get("provider"), told.get("local"), told.get("id"), provider.get("call_id")):
        if isinstance(value, str) and value:
            return value
    return ""


def arguments_of(function: Mapping[str, Any]) -> tuple[dict[str, Any], str | None]:
    """A call's arguments as an object, and the model's own text where it wrote no object."""
    given = function.get("arguments")
    invalid = maybe_text(function.get("invalid_arguments"))
    if isinstance(given, str) and invalid is None:
        is_json, value = parsed(given)
        if is_json and isinstance(value, dict):
            return value, None
        return {}, given
    return dict(mapping(given)), invalid


def _call(block: Mapping[str, Any], path: str, api: str | None) -> Call:
    function = mapping(block.get("function"))
    arguments, written = arguments_of(function)
    name = text(function.get("name"))
    return Call(call_id(block, "id"), name, arguments, written, path, _native(block, api))


def _result(block: Mapping[str, Any], path: str, notes: list[Note]) -> Result:
    content = block.get("content")
    blocks = content if isinstance(content, list) else [{"type": "text", "text": text(content)}]
    parts: list[Text | Media] = []
    for index, inner in enumerate(blocks):
        where = f"{path}/content/{index}"
        inner = mapping(inner)
        if inner.get("type") == "json":
            parts.append(Text(compact_json(inner.get("value")), where))
        elif inner.get("type") == "image":
            parts.append(media_of(inner, "image", where))
        elif isinstance(inner.get("text"), str):
            parts.append(Text(inner["text"], where))
        else:
            notes.append(Note("unknown_part", where, "a part of a tool result is left out"))
    failed = block.get("is_error") is True
    return Result(call_id(block, "call"), text(block.get("name")), tuple(parts), failed, path)


def _reasoning(block: Mapping[str, Any], path: str, api: str | None) -> Reasoning:
    said = block.get("text", block.get("reasoning"))
    joined = "\n".join(map(str, said)) if isinstance(said, list) else text(said)
    native = _native(block, api) or _signed(block, joined, api)
    return Reasoning(joined, block.get("redacted") is True, path, native)


def _signed(block: Mapping[str, Any], said: str, api: str | None) -> Native | None:
    """Before 0.44 a signature stood beside the text instead of in the provider's object."""
    signature = block.get("signature")
    if isinstance(signature, dict):
        signature = signature.get("signature")
    if api != MESSAGES or not isinstance(signature, str) or not signature:
        return None
    return Native(api, {"type": "thinking", "thinking": said, "signature": signature})


def media_of(block: Mapping[str, Any], kind: Any, path: str) -> Media:
    """A media part: its source in one of four forms, its type as MIME."""
    data = block.get("data")
    held = mapping(data)
    source: Source = _SOURCES.get(text(held.get("type")), "unknown")
    value: Any = held.get("value")
    if isinstance(data, str):
        source, value = ("url" if data.startswith("http") else "base64"), data
    if held.get("type") == "raw":
        source, value = "base64", _raw(value)
    mime = media.mime_of(maybe_text(block.get("media_type")))
    if source == "base64" and mime is None and isinstance(value, str):
        mime = media.sniffed(value)
    return Media(kind, source, text(value), mime, maybe_text(block.get("detail")), path)


def _raw(value: object) -> str:
    try:
        return base64.b64encode(bytes(items(value))).decode("ascii")
    except (TypeError, ValueError):
        return ""


def _tools(request: Mapping[str, Any]) -> Iterator[Tool]:
    for index, tool in enumerate(items(request.get("tools"))):
        tool = mapping(tool)
        schema = mapping(tool.get("parameters"))
        name, description = text(tool.get("name")), text(tool.get("description"))
        yield Tool(name, description, schema, path=f"/tools/{index}")


def _tool_choice(choice: object) -> ToolChoice | None:
    if isinstance(choice, str):
        lowered = choice.lower()
        return lowered if lowered in ("auto", "none", "required") else None  # type: ignore[return-value]
    names = items(mapping(mapping(choice).get("specific")).get("function_names"))
    return tuple(map(str, names)) or None


def _schema(
    request: Mapping[str, Any], turns: tuple[Turn, ...], api: str | None, notes: list[Note]
) -> Schema | None:
    schema = request.get("output_schema")
    if not isinstance(schema, dict):
        return None
    answered = any(isinstance(part, Result) for turn in turns for part in turn.parts)
    if api == CHAT and request.get("tools") and not answered:
        # Rig holds it back until a tool has answered, so the recorded call went out without it.
        said = (
            "the shape of the answer was not asked for before a tool had answered, and is not now"
        )
        notes.append(Note("schema_deferred", "/output_schema", said))
        return None
    return Schema(schema, maybe_text(schema.get("title")) or "response_schema")


def _options(options: Mapping[str, Any]) -> Options:
    plain = {key: options.get(key) for key in Options.__dataclass_fields__ if key != "stop"}
    return Options(**plain, stop=tuple(map(str, items(options.get("stop")))))
