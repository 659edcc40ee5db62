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


def choice_of(choice: object, name: object) -> ToolChoice | None:
    """The choice of tools; ``name`` is the one tool that a choice of one names."""
    if choice in ("auto", "none", "required"):
        return choice
    return (name,) if isinstance(name, str) else None


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
