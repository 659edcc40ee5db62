"""LangChain messages: as dumped, as `{type, data}`, or as serialised constructors (`lc: 1`)."""

from typing import Any

from runs.messages import anthropic, openai_chat
from runs.messages.facts import facts_of, structured, usage_facts
from runs.messages.loose import items, named, obj, pick, text
from runs.messages.parts import (
    Answer,
    Call,
    Data,
    Media,
    Message,
    Part,
    Reasoning,
    Request,
    Result,
    Text,
)
from runs.messages.turns import Readers, call, each, media_of, turn

SPEAKERS = {"human", "ai", "system", "tool", "function", "chat", "developer",
            "AIMessageChunk", "HumanMessageChunk", "ToolMessageChunk"}  # fmt: skip
_CALLED = {"tool_use", "tool_call", "function_call", "tool_call_chunk", "input_json_delta"}
"""Blocks that say again what stands under `tool_calls`."""


def request(body: dict[str, Any], pointer: str) -> Request:
    known = {"messages", "tools"}
    return Request(
        "completion",
        messages=messages(body.get("messages"), f"{pointer}/messages"),
        tools=openai_chat.offers(body.get("tools"), f"{pointer}/tools"),
        facts=facts_of(body, known),
        parts=structured(body, known, pointer),
    )


def answer(body: dict[str, Any], pointer: str) -> Answer:
    """A chat model's result, a message, or what a graph's node returned."""
    found = _answered(body, pointer)
    said = tuple(part for message, place in found for part in _said(message, place))
    first = _members(found[0][0])[0] if found else {}
    told = obj(first.get("response_metadata"))
    usage = obj(first.get("usage_metadata")) or obj(pick(body, "llm_output", "token_usage"))
    finish = named(told, "finish_reason", "stop_reason", "status")[1]
    return Answer(
        parts=said,
        facts=facts_of({"id": told.get("id"), "model": named(told, "model_name", "model")[1]}),
        usage=usage_facts(usage),
        finish=text(finish),
    )


def _answered(body: dict[str, Any], pointer: str) -> list[tuple[Any, str]]:
    """The answering messages and where they are."""
    if "generations" in body:
        return [
            (obj(one).get("message", one), f"{pointer}/generations/{i}/{j}/message")
            for i, group in enumerate(items(body["generations"]))
            for j, one in enumerate(items(group))
        ]
    for path in (("messages",), ("update", "messages")):
        found = pick(body, *path)
        if isinstance(found, list):
            at = "/".join((pointer, *path))
            return [(one, f"{at}/{index}") for index, one in enumerate(found)]
    outputs = body.get("output")
    if isinstance(outputs, list):
        pairs = (_answered(obj(one), f"{pointer}/output/{i}") for i, one in enumerate(outputs))
        return [pair for found in pairs for pair in found]
    return [(body, pointer)]


def _said(message: object, pointer: str) -> tuple[Part, ...]:
    members, at = _members(message)
    return tuple(_parts(members, f"{pointer}{at}"))


def messages(value: object, pointer: str) -> tuple[Message, ...]:
    """A list of messages, or a batch of one such list."""
    listed = items(value)
    if len(listed) == 1 and isinstance(listed[0], list):
        return messages(listed[0], f"{pointer}/0")
    return each(listed, pointer, _turn)


def is_message(value: object) -> bool:
    members, _ = _members(value)
    return "content" in members and speaker(value) in SPEAKERS


def speaker(value: object) -> str:
    members, _ = _members(value)
    return text(members.get("type")) or text(obj(value).get("type"))


def _members(value: object) -> tuple[dict[str, Any], str]:
    """A message's own members and where they are inside it."""
    outer = obj(value)
    if isinstance(outer.get("kwargs"), dict):
        kwargs = dict(outer["kwargs"])
        kwargs.setdefault("type", _TYPES.get(str((items(outer.get("id")) or [""])[-1]), ""))
        return kwargs, "/kwargs"
    if isinstance(outer.get("data"), dict) and "content" in outer["data"]:
        return {"type": outer.get("type"), **outer["data"]}, "/data"
    return outer, ""


def _turn(value: object, pointer: str) -> tuple[Message, ...]:
    members, inside = _members(value)
    at = f"{pointer}{inside}"
    kind = text(members.get("type")).removesuffix("MessageChunk").lower()
    role = text(members.get("role")) or kind
    said = tuple(_parts(members, at))
    if role in ("tool", "function"):
        identity, name = text(members.get("tool_call_id")), text(members.get("name"))
        failed = members.get("status") == "error"
        return (Message("tool", (Result(identity, name, said, at, failed),), at, raw=value),)
    if not said and "content" not in members:
        said = (Data(value, pointer, unknown=True),)
    return turn(role, said, at, value)


def _parts(members: dict[str, Any], pointer: str) -> list[Part]:
    calls = _calls(members, pointer)
    extra = obj(members.get("additional_kwargs"))
    thought = extra.get("reasoning_content")
    at = f"{pointer}/additional_kwargs/reasoning_content"
    thoughts: list[Part] = [Reasoning(thought, at)] if isinstance(thought, str) and thought else []
    refusal = extra.get("refusal")
    refused: list[Part] = []
    if isinstance(refusal, str) and refusal:
        refused.append(Text(refusal, f"{pointer}/additional_kwargs/refusal", "refusal"))
    said = _content(members.get("content"), f"{pointer}/content", bool(calls))
    return [*thoughts, *said, *refused, *calls]


def _calls(members: dict[str, Any], pointer: str) -> list[Part]:
    made: list[Part] = [
        _called(obj(one), f"{pointer}/tool_calls/{index}")
        for index, one in enumerate(items(members.get("tool_calls")))
    ]
    for index, one in enumerate(map(obj, items(members.get("invalid_tool_calls")))):
        at = f"{pointer}/invalid_tool_calls/{index}/args"
        identity, name = text(one.get("id")), text(one.get("name"))
        made.append(Call(identity, name, None, at, invalid=text(one.get("args"))))
    return made


def _called(one: dict[str, Any], pointer: str) -> Call:
    if "function" in one:  # the provider's own spelling, kept under additional_kwargs
        function = obj(one["function"])
        at = f"{pointer}/function/arguments"
        return call(function.get("arguments"), at, text(one.get("id")), text(function.get("name")))
    arguments = one.get("args")
    identity, name = text(one.get("id")), text(one.get("name"))
    return call({} if arguments is None else arguments, f"{pointer}/args", identity, name, False)


def _content(value: object, pointer: str, called: bool) -> list[Part]:
    if isinstance(value, str):
        return [Text(value, pointer)] if value else []
    return [
        _part(one, f"{pointer}/{index}")
        for index, one in enumerate(items(value))
        if not (called and text(obj(one).get("type")) in _CALLED)
    ]


def _part(value: object, pointer: str) -> Part:
    if isinstance(value, str):
        return Text(value, pointer)
    part = obj(value)
    read = _READERS.get(text(part.get("type")))
    shown = read(part, pointer) if read else None
    return shown or anthropic.either(value, pointer)  # a provider's own block


def _reasoning(part: dict[str, Any], pointer: str) -> Part | None:
    said = part.get("reasoning")
    if isinstance(said, str):
        return Reasoning(said, f"{pointer}/reasoning")
    pieces = [text(obj(one).get("text")) for one in items(part.get("summary"))]
    joined = "\n\n".join(filter(None, pieces))
    return Reasoning(joined, pointer, redacted=not joined)


def _media(part: dict[str, Any], pointer: str) -> Part | None:
    kind = text(named(part, "mime_type", "media_type")[1])
    media = text(part.get("type"))
    media = media if media in ("image", "audio", "video") else media_of(kind)
    data = named(part, "base64", "data")[1]
    if isinstance(data, str):
        return Media(media, "base64", data, kind, pointer)
    if isinstance(part.get("url"), str):
        return openai_chat.from_url(media, part["url"], pointer)
    if isinstance(part.get("file_id"), str):
        return Media(media, "file", part["file_id"], kind, pointer)
    return None


_TYPES = {
    "HumanMessage": "human",
    "AIMessage": "ai",
    "AIMessageChunk": "ai",
    "SystemMessage": "system",
    "ToolMessage": "tool",
    "FunctionMessage": "function",
}
_READERS: Readers = {
    "reasoning": _reasoning,
    "image": _media,
    "audio": _media,
    "video": _media,
    "file": _media,
}
