"""OpenAI Chat Completions: a request body as a prompt."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from replay.dialects import media
from replay.dialects.loose import items, mapping, maybe_text, text
from replay.dialects.prompt import (
    CHAT,
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


def read(body: Body) -> Prompt:
    """The prompt in a body; paths in it are JSON Pointers into ``body``."""
    names = _result_names(body)
    turns = [
        _turn(mapping(message), f"/messages/{index}", names)
        for index, message in enumerate(items(body.get("messages")))
    ]
    told = body.get("tool_choice")
    named = mapping(mapping(told).get("function")).get("name")
    choice = choice_of(told, named, mapping(mapping(told).get("allowed_tools")))
    form = mapping(body.get("response_format"))
    shape, json_only = mapping(form.get("json_schema")), form.get("type") == "json_object"
    read_form = shape or json_only or form.get("type") == "text"
    stop = body.get("stop")
    return Prompt(
        turns=tuple(_joined(turns)),
        tools=tuple(functions(body, lambda tool: mapping(tool.get("function")), "/function")),
        hosted_tools=tuple(hosted(body, CHAT, lambda tool: "function" in tool)),
        tool_choice=choice,
        temperature=body.get("temperature"),
        max_tokens=body.get("max_completion_tokens", body.get("max_tokens")),
        schema=shape_of(shape, "/response_format/json_schema"),
        json_only=json_only,
        options=Options(
            reasoning=effort_of(body.get("reasoning_effort")),
            service_tier=body.get("service_tier"),
            verbosity=body.get("verbosity"),
            parallel_tool_calls=body.get("parallel_tool_calls"),
            top_p=body.get("top_p"),
            seed=body.get("seed"),
            stop=(stop,) if isinstance(stop, str) else tuple(items(stop)),
        ),
        params=rest_of(body, f"{_NAMED} response_format" if read_form else _NAMED),
        params_path="",
        options_path="",
        api=CHAT,
        stream=body.get("stream") is True,
        notes=(*unread_choice(told, choice), *_unnamed(body)),
    )


_NAMED = (
    "model messages tools tool_choice temperature max_tokens max_completion_tokens stop seed top_p"
    " reasoning_effort service_tier verbosity parallel_tool_calls stream stream_options"
)


_MESSAGE = "role content tool_calls tool_call_id refusal reasoning reasoning_content"
_FILE = "file_data file_id"
_RESULT = ("text", "image_url", "input_audio", "file")


def _unnamed(body: Body) -> Iterator[Note]:
    shape = mapping(mapping(body.get("response_format")).get("json_schema"))
    yield from unnamed(shape, "name schema strict", "/response_format/json_schema", "the schema")
    for index, tool in enumerate(map(mapping, items(body.get("tools")))):
        where, function = f"/tools/{index}/function", mapping(tool.get("function"))
        yield from unnamed(function, "name description parameters strict", where, "a tool")
    for index, message in enumerate(map(mapping, items(body.get("messages")))):
        path = f"/messages/{index}"
        yield from unnamed(message, _MESSAGE, path, "a message")
        for place, part in enumerate(map(mapping, items(message.get("content")))):
            where = f"{path}/content/{place}"
            yield from unnamed(mapping(part.get("file")), _FILE, f"{where}/file", "a file")
            if message.get("role") == "tool" and part.get("type") not in _RESULT:
                yield Note("part_left_out", where, "a part of a result is left out")


def _result_names(body: Body) -> dict[str, str]:
    """The tool each call id belongs to: on this wire a result doesn't say."""
    names = {}
    for message in map(mapping, items(body.get("messages"))):
        for call in map(mapping, items(message.get("tool_calls"))):
            names[text(call.get("id"))] = text(mapping(call.get("function")).get("name"))
    return names


def _turn(message: Body, path: str, names: Mapping[str, str]) -> Turn:
    role = message.get("role")
    if role == "tool":
        name = text(message.get("tool_call_id"))
        parts = [p for p in _parts(message, path) if isinstance(p, Text | Media)]
        result = Result(name, names.get(name, ""), tuple(parts), path=path)
        return Turn("user", (result,), path)
    if role == "assistant":
        return Turn("assistant", tuple(_said(message, path)), path)
    kept: Role = "system" if role in ("system", "developer") else "user"
    return Turn(kept, tuple(_parts(message, path)), path)


def _said(message: Body, path: str) -> Iterator[Part]:
    for key in ("reasoning_content", "reasoning"):
        if maybe_text(message.get(key)):
            native = Native(CHAT, {key: message[key]})
            yield Reasoning(message[key], path=f"{path}/{key}", native=native)
    yield from _parts(message, path)
    if maybe_text(message.get("refusal")):
        yield Opaque(Native(CHAT, {"refusal": message["refusal"]}), f"{path}/refusal")
    for index, call in enumerate(map(mapping, items(message.get("tool_calls")))):
        function = mapping(call.get("function"))
        where = f"{path}/tool_calls/{index}"
        written = function.get("arguments")
        yield called(function.get("name"), call.get("id"), written, where, Native(CHAT, call))


def _parts(message: Body, path: str) -> Iterator[Part]:
    content = message.get("content")
    if isinstance(content, str):
        yield Text(content, f"{path}/content")
    for index, part in enumerate(map(mapping, items(content))):
        where = f"{path}/content/{index}"
        kind = part.get("type")
        if kind == "text":
            yield Text(text(part.get("text")), where)
        elif kind == "image_url":
            image = mapping(part.get("image_url"))
            yield from_url(text(image.get("url")), "image", where, maybe_text(image.get("detail")))
        elif kind == "input_audio":
            sound = mapping(part.get("input_audio"))
            mime = media.mime_of(maybe_text(sound.get("format")))
            yield Media("audio", "base64", text(sound.get("data")), mime, path=where)
        elif kind == "file":
            yield _file(mapping(part.get("file")), where)
        else:
            yield Opaque(Native(CHAT, part), where)


def _file(file: Body, path: str) -> Media:
    if maybe_text(file.get("file_id")):
        return Media("document", "file", file["file_id"], path=path)
    return from_url(text(file.get("file_data")), "document", path)


def _joined(turns: list[Turn]) -> Iterator[Turn]:
    """Results of one turn's calls, a message each on this wire, as one user turn."""
    held: Turn | None = None
    for turn in turns:
        only_results = turn.role == "user" and all(isinstance(p, Result) for p in turn.parts)
        if held and turn.role == "user":
            held = Turn("user", held.parts + turn.parts, held.path)
            if not only_results:
                yield held
                held = None
            continue
        if held:
            yield held
        held = turn if only_results and turn.parts else None
        if held is None:
            yield turn
    if held:
        yield held
