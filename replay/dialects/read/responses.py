"""OpenAI Responses: a request body as a prompt."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby

from replay.dialects.loose import items, mapping, maybe_text, text
from replay.dialects.prompt import (
    RESPONSES,
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
    Turn,
)
from replay.dialects.read.pieces import (
    Body,
    called,
    choice_of,
    effort_of,
    from_url,
    functions,
    hosted,
    rest_of,
    shape_of,
    unnamed,
    unread_choice,
)

_NAMED = (
    "model input instructions tools tool_choice temperature max_output_tokens top_p service_tier"
    " parallel_tool_calls stream text reasoning"
)


def read(body: Body) -> Prompt:
    """The prompt in a body; paths in it are JSON Pointers into ``body``."""
    turns = list(_turns(body))
    shape = mapping(mapping(body.get("text")).get("format"))
    told = body.get("tool_choice")
    kind = text(mapping(told).get("type"))
    named = mapping(told).get("name") if kind == "function" else None
    choice = choice_of(told, named, mapping(told) if kind == "allowed_tools" else None)
    rest = rest_of(body, _NAMED)
    reasoning = mapping(body.get("reasoning"))
    if set(reasoning) - {"effort"}:
        rest["reasoning"] = {k: v for k, v in reasoning.items() if k != "effort"}
    return Prompt(
        turns=tuple(turns),
        tools=tuple(functions(body, lambda tool: tool, "")),
        hosted_tools=tuple(hosted(body, RESPONSES, lambda t: t.get("type") == "function")),
        tool_choice=choice,
        temperature=body.get("temperature"),
        max_tokens=body.get("max_output_tokens"),
        schema=shape_of(shape, "/text/format") if shape.get("type") == "json_schema" else None,
        json_only=shape.get("type") == "json_object",
        options=Options(
            reasoning=effort_of(reasoning.get("effort")),
            service_tier=body.get("service_tier"),
            verbosity=mapping(body.get("text")).get("verbosity"),
            parallel_tool_calls=body.get("parallel_tool_calls"),
            top_p=body.get("top_p"),
        ),
        params=rest,
        params_path="",
        options_path="",
        api=RESPONSES,
        stream=body.get("stream") is True,
        notes=(*unread_choice(told, choice), *_unnamed(body)),
    )


_ELSEWHERE = ("previous_response_id", "conversation", "prompt")


def _unnamed(body: Body) -> Iterator[Note]:
    for name in _ELSEWHERE:
        if body.get(name):
            said = f"what {name} stands for is kept at OpenAI; the model is asked without it"
            yield Note("context_elsewhere", f"/{name}", said)
    for index, tool in enumerate(map(mapping, items(body.get("tools")))):
        if tool.get("type") == "function":
            yield from unnamed(tool, _TOOL, f"/tools/{index}", "a tool")
    form = mapping(mapping(body.get("text")).get("format"))
    yield from unnamed(form, "type name schema strict", "/text/format", "the schema")
    for index, item in enumerate(map(mapping, items(body.get("input")))):
        path = f"/input/{index}"
        for name in ("content", "output"):
            for place, part in enumerate(map(mapping, items(item.get(name)))):
                where = f"{path}/{name}/{place}"
                if part.get("type") == "input_file":
                    yield from unnamed(part, _FILE, where, "a file")
                elif name == "output" and part.get("type") not in _RESULT:
                    yield Note("part_left_out", where, "a part of a result is left out")


_TOOL = "type name description parameters strict"
_FILE = "type file_data file_id file_url"
_RESULT = ("input_text", "output_text", "input_image")


def _turns(body: Body) -> Iterator[Turn]:
    if maybe_text(body.get("instructions")):
        yield Turn("system", (Text(body["instructions"], "/instructions"),), "/instructions")
    asked = body.get("input")
    if isinstance(asked, str):
        yield Turn("user", (Text(asked, "/input"),), "/input")
    names = {
        text(mapping(item).get("call_id")): text(mapping(item).get("name"))
        for item in items(asked)
        if mapping(item).get("type") == "function_call"
    }
    found = [_item(mapping(it), f"/input/{i}", names) for i, it in enumerate(items(asked))]
    # An assistant turn is several items on this wire; system texts stay apart.
    for role, run in groupby(found, lambda turn: turn.role):
        if role == "system":
            yield from run
            continue
        turns = list(run)
        yield Turn(role, tuple(p for turn in turns for p in turn.parts), turns[0].path)


def _item(item: Body, path: str, names: Mapping[str, str]) -> Turn:
    kind = item.get("type", "message")
    native = Native(RESPONSES, item)
    if kind == "message":
        role = item.get("role")
        kept: Role = "system" if role in ("system", "developer") else "user"
        parts = tuple(_parts(item.get("content"), f"{path}/content"))
        return Turn("assistant" if role == "assistant" else kept, parts, path)
    if kind == "function_call_output":
        told = _parts(item.get("output"), f"{path}/output")
        inner = tuple(part for part in told if isinstance(part, Text | Media))
        name = text(item.get("call_id"))
        return Turn("user", (Result(name, names.get(name, ""), inner, path=path),), path)
    part: Part = Opaque(native, path)
    if kind == "function_call":
        written = item.get("arguments")
        part = called(item.get("name"), item.get("call_id"), written, path, native)
    elif kind == "reasoning":
        said = "\n".join(text(mapping(part).get("text")) for part in items(item.get("summary")))
        part = Reasoning(said, path=path, native=native)
    return Turn("assistant", (part,), path)


def _parts(content: object, path: str) -> Iterator[Part]:
    if isinstance(content, str):
        yield Text(content, path)
    for index, part in enumerate(map(mapping, items(content))):
        where = f"{path}/{index}"
        kind = part.get("type")
        if kind in ("input_text", "output_text"):
            yield Text(text(part.get("text")), where)
        elif kind == "input_image" and maybe_text(part.get("image_url")):
            yield from_url(part["image_url"], "image", where, maybe_text(part.get("detail")))
        elif kind in ("input_image", "input_file"):
            yield _file(part, "image" if kind == "input_image" else "document", where)
        else:
            yield Opaque(Native(RESPONSES, part), where)


def _file(part: Body, kind: Kind, path: str) -> Media:
    if maybe_text(part.get("file_id")):
        return Media(kind, "file", part["file_id"], path=path)
    if maybe_text(part.get("file_url")):
        return Media(kind, "url", part["file_url"], path=path)
    return from_url(text(part.get("file_data")), kind, path)
