"""What a library words otherwise without need: put back into its body as it was recorded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from replay.dialects import CHAT, MESSAGES, Prompt
from replay.dialects.carry import closed_schema, object_schema
from replay.dialects.loose import items, mapping


def as_recorded(body: Mapping[str, Any], prompt: Prompt, api: str) -> dict[str, Any]:
    """``body`` with the schemas of the recording.

    The library takes titles out of them, and reorders. Where a schema is held to strictly it has
    to be as the API wants it, which is the library's matter.
    """
    kept = dict(body)
    schemas = {
        tool.name: object_schema(tool.schema, tool.path, [])
        for tool in prompt.tools
        if not tool.strict
    }
    if "tools" in kept:
        kept["tools"] = [_tool(tool, schemas, api) for tool in items(kept["tools"])]
    return _with_shape(kept, prompt, api)


def _tool(tool: Any, schemas: Mapping[str, Any], api: str) -> Any:
    """A tool of the body; the library keeps what it made of tools, so nothing is put into it."""
    if not isinstance(tool, dict):
        return tool
    if api == CHAT:
        function = tool.get("function")
        return {**tool, "function": _with(function, "parameters", schemas)} if function else tool
    return _with(tool, "input_schema" if api == MESSAGES else "parameters", schemas)


def _with(holder: Any, key: str, schemas: Mapping[str, Any]) -> Any:
    told = mapping(holder)
    schema = schemas.get(str(told.get("name")))
    return holder if schema is None or key not in told else {**told, key: schema}


def _with_shape(body: dict[str, Any], prompt: Prompt, api: str) -> dict[str, Any]:
    """The shape of the answer, at OpenAI, if it is one that is taken as it is."""
    if prompt.schema is None or api == MESSAGES:
        return body
    schema = prompt.schema.schema
    if prompt.schema.strict and closed_schema(schema, all_required=True) != schema:
        return body
    if api == CHAT:
        form = mapping(body.get("response_format"))
        shape = {**mapping(form.get("json_schema")), "schema": schema}
        return {**body, "response_format": {**form, "json_schema": shape}} if form else body
    said = mapping(body.get("text"))
    form = mapping(said.get("format"))
    return {**body, "text": {**said, "format": {**form, "schema": schema}}} if form else body
