"""Anthropic Messages: a request body as a prompt."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from replay.dialects.loose import items, mapping, maybe_text, text
from replay.dialects.prompt import (
    MESSAGES,
    Call,
    Kind,
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
    Text,
    Tool,
    Turn,
)
from replay.dialects.read.pieces import (
    Body,
    choice_of,
    hosted,
    rest_of,
    shape_of,
    unnamed,
)

_NAMED = (
    "model messages max_tokens system tools tool_choice temperature top_p stop_sequences stream"
    " thinking"
)


def read(body: Body) -> Prompt:
    """The prompt in a body; paths in it are JSON Pointers into ``body``."""
    names: dict[str, str] = {}
    choice = mapping(body.get("tool_choice"))
    shape = mapping(mapping(body.get("output_config")).get("format"))
    turns = [*_system(body)]
    for index, message in enumerate(map(mapping, items(body.get("messages")))):
        path = f"/messages/{index}"
        role: Role = "assistant" if message.get("role") == "assistant" else "user"
        turns.append(
            Turn(role, tuple(_blocks(message.get("content"), f"{path}/content", names)), path)
        )
    parallel = choice.get("disable_parallel_tool_use")
    return Prompt(
        turns=tuple(turns),
        tools=tuple(_tools(body)),
        hosted_tools=tuple(hosted(body, MESSAGES, lambda t: "input_schema" in t)),
        tool_choice=choice_of(
            {"any": "required"}.get(text(choice.get("type")), choice.get("type")),
            choice.get("name"),
        ),
        temperature=body.get("temperature"),
        max_tokens=body.get("max_tokens"),
        schema=shape_of({**shape, "strict": True}, "/output_config/format"),
        options=Options(
            reasoning=_thinking(body),
            parallel_tool_calls=not parallel if isinstance(parallel, bool) else None,
            top_p=body.get("top_p"),
            stop=tuple(items(body.get("stop_sequences"))),
        ),
        params=_unnamed(body),
        params_path="",
        options_path="",
        api=MESSAGES,
        stream=body.get("stream") is True,
        notes=(*_markers(body, ""), *_unnamed_in(body)),
    )


def _unnamed(body: Body) -> dict[str, Any]:
    """The fields without a name in a prompt, those inside of named ones too."""
    rest = rest_of(body, _NAMED)
    output = mapping(rest.pop("output_config", None))
    if more := {key: value for key, value in output.items() if key not in ("format", "effort")}:
        rest["output_config"] = more
    if body.get("thinking") and _thinking(body) is None:
        rest["thinking"] = body["thinking"]
    return rest


def _markers(value: object, path: str) -> Iterator[Note]:
    """Cache markers and citation switches inside of blocks, which only this API has."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if path and key in ("cache_control", "citations") and inner:
                said = f"{key} of a block has no place in another API"
                yield Note("field_left_out", f"{path}/{key}", said)
            elif key not in ("input", "input_schema"):
                yield from _markers(inner, f"{path}/{key}")
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _markers(inner, f"{path}/{index}")


_TOOL = "type name description input_schema strict cache_control eager_input_streaming"
_DOCUMENT = "type source cache_control citations"
_RESULT = ("text", "image", "document")


def _unnamed_in(body: Body) -> Iterator[Note]:
    """What tools, documents and results say that only this API knows."""
    for index, tool in enumerate(map(mapping, items(body.get("tools")))):
        if "input_schema" in tool:
            yield from unnamed(tool, _TOOL, f"/tools/{index}", "a tool")
    for index, message in enumerate(map(mapping, items(body.get("messages")))):
        yield from _in_blocks(message.get("content"), f"/messages/{index}/content")


def _in_blocks(content: object, path: str) -> Iterator[Note]:
    for index, block in enumerate(map(mapping, items(content))):
        where, inside = f"{path}/{index}", f"{path}/{index}/content"
        if block.get("type") == "document":
            yield from unnamed(block, _DOCUMENT, where, "a document")
        elif block.get("type") == "tool_result":
            yield from _in_blocks(block.get("content"), inside)
            for place, part in enumerate(map(mapping, items(block.get("content")))):
                if part.get("type") not in _RESULT:
                    said = f"a {part.get('type')} in a result is left out"
                    yield Note("part_left_out", f"{inside}/{place}", said)


def _system(body: Body) -> Iterator[Turn]:
    system = body.get("system")
    if maybe_text(system):
        yield Turn("system", (Text(text(system), "/system"),), "/system")
    for index, block in enumerate(map(mapping, items(system))):
        path = f"/system/{index}"
        yield Turn("system", (Text(text(block.get("text")), path),), path)


def _tools(body: Body) -> Iterator[Tool]:
    for index, tool in enumerate(map(mapping, items(body.get("tools")))):
        if isinstance(tool.get("input_schema"), dict):
            description = text(tool.get("description"))
            path = f"/tools/{index}"
            yield Tool(
                text(tool.get("name")), description, tool["input_schema"], tool.get("strict"), path
            )


def _thinking(body: Body) -> str | Mapping[str, Any] | None:
    thinking = mapping(body.get("thinking"))
    effort = mapping(body.get("output_config")).get("effort")
    if isinstance(effort, str):
        return {"effort": effort}
    if thinking.get("type") == "disabled":
        return "off"
    budget = thinking.get("budget_tokens")
    return {"budget": {"tokens": budget}} if isinstance(budget, int) else None


def _blocks(content: object, path: str, names: dict[str, str]) -> Iterator[Part]:
    if isinstance(content, str):
        yield Text(content, path)
    for index, block in enumerate(map(mapping, items(content))):
        yield _block(block, f"{path}/{index}", names)


def _block(block: Body, path: str, names: dict[str, str]) -> Part:
    kind = block.get("type")
    native = Native(MESSAGES, block)
    if kind == "text":
        return Text(text(block.get("text")), path)
    if kind in ("image", "document"):
        return _source(
            mapping(block.get("source")), "image" if kind == "image" else "document", path
        )
    if kind == "tool_use":
        name, identity = text(block.get("name")), text(block.get("id"))
        names[identity] = name
        return Call(identity, name, mapping(block.get("input")), path=path, native=native)
    if kind == "tool_result":
        parts = _blocks(block.get("content"), f"{path}/content", names)
        kept = tuple(part for part in parts if isinstance(part, Text | Media))
        name = text(block.get("tool_use_id"))
        failed = block.get("is_error") is True
        return Result(name, names.get(name, ""), kept, failed, path)
    if kind == "thinking":
        return Reasoning(text(block.get("thinking")), path=path, native=native)
    if kind == "redacted_thinking":
        return Reasoning("", redacted=True, path=path, native=native)
    return Opaque(native, path)


def _source(source: Body, kind: Kind, path: str) -> Media:
    form = source.get("type")
    if form == "base64":
        mime = maybe_text(source.get("media_type"))
        return Media(kind, "base64", text(source.get("data")), mime, path=path)
    if form == "url":
        return Media(kind, "url", text(source.get("url")), path=path)
    if form == "file":
        return Media(kind, "file", text(source.get("file_id")), path=path)
    if form == "text":
        return Media(kind, "text", text(source.get("data")), "text/plain", path=path)
    return Media(kind, "unknown", "", path=path)
