"""What the readers of the three APIs share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from replay.dialects import media
from replay.dialects.loose import items, mapping, maybe_text, parsed, text
from replay.dialects.prompt import (
    Call,
    Kind,
    Media,
    Native,
    Note,
    Schema,
    Tool,
    ToolChoice,
)

Body = Mapping[str, Any]


def rest_of(body: Body, named: str) -> dict[str, Any]:
    """The fields that have no name in a prompt; null is unset."""
    known = frozenset(named.split())
    return {key: value for key, value in body.items() if key not in known and value is not None}


def from_url(url: str, kind: Kind, path: str, detail: str | None = None) -> Media:
    """A medium by its URL; a ``data:`` URL is taken apart."""
    inline = media.split_data_url(url)
    if inline is None:
        return Media(kind, "url", url, detail=detail, path=path)
    mime, data = inline
    return Media(kind, "base64", data, mime or media.sniffed(data), detail, path)


def called(name: object, identity: object, written: object, path: str, native: Native) -> Call:
    """A call from the argument text of the wire."""
    is_json, value = parsed(text(written))
    fits = is_json and isinstance(value, dict)
    given = value if fits else {}
    return Call(
        text(identity), text(name), given, None if fits else text(written) or None, path, native
    )


def choice_of(choice: object, name: object, allowed: Body | None = None) -> ToolChoice | None:
    """The choice of tools; ``name`` is the one tool that a choice of one names, ``allowed`` the
    object that allows some."""
    if choice in ("auto", "none", "required"):
        return choice
    if isinstance(name, str):
        return (name,)
    named = [_name_in(mapping(tool)) for tool in items((allowed or {}).get("tools"))]
    if mapping(allowed).get("mode") != "required" or not named or None in named:
        return None
    return tuple(map(str, named))


def _name_in(tool: Body) -> str | None:
    return maybe_text(mapping(tool.get("function")).get("name")) or maybe_text(tool.get("name"))


def unread_choice(choice: object, read: ToolChoice | None) -> Iterator[Note]:
    """A note for a choice of tools that only its own API knows."""
    if choice is not None and read is None:
        said = "this choice of tools has no place in another API; the model chooses freely"
        yield Note("tool_choice_left_out", "/tool_choice", said)


def unnamed(holder: Body, known: str, path: str, what: str) -> Iterator[Note]:
    """A note for each member of ``holder`` beside the ``known`` ones: no other API has them."""
    for key, value in holder.items():
        if key not in known.split() and value not in (None, [], {}, False):
            said = f"{key} of {what} has no place in another API"
            yield Note("field_left_out", f"{path}/{key}", said)


def effort_of(effort: object) -> str | Mapping[str, Any] | None:
    """The effort level as an option; ``none`` switches reasoning off."""
    if effort == "none":
        return "off"
    return {"effort": effort} if isinstance(effort, str) else None


def shape_of(shape: Mapping[str, Any], path: str) -> Schema | None:
    """The schema of a named answer format, if there is one."""
    schema = shape.get("schema")
    if not isinstance(schema, dict):
        return None
    name = maybe_text(shape.get("name")) or "response_schema"
    return Schema(schema, name, shape.get("strict") is True, f"{path}/schema")


def functions(body: Body, inner: Any, below: str) -> Iterator[Tool]:
    """The functions offered; ``inner`` takes a tool to its function."""
    for index, tool in enumerate(map(mapping, items(body.get("tools")))):
        function = inner(tool)
        if tool.get("type") == "function" and isinstance(function.get("name"), str):
            yield Tool(
                function["name"],
                text(function.get("description")),
                mapping(function.get("parameters")),
                function.get("strict"),
                f"/tools/{index}{below}",
            )


def hosted(body: Body, api: str, is_function: Any) -> Iterator[Native]:
    """Tools that run at the provider: only its own API knows them."""
    for tool in map(mapping, items(body.get("tools"))):
        if not is_function(tool):
            yield Native(api, tool)
