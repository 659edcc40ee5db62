"""Vercel AI SDK: model messages (`tool-call`, `tool-result`) and the UI messages of its chats."""

from typing import Any

from runs.messages.facts import facts_of, structured, usage_facts
from runs.messages.loose import items, named, obj, text
from runs.messages.openai_chat import failure, from_url, offers
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
from runs.messages.turns import Readers, call, each, media_of, turn, typed

_REQUEST = {"messages", "prompt", "system", "tools"}
_TURN = {"role", "content", "parts"}
_UI_RESULT = {"output-available": "output", "result": "result"}


def request(body: dict[str, Any], pointer: str) -> Request:
    key, turns = named(body, "messages", "prompt")
    return Request(
        "completion",
        messages=(
            *_system(body.get("system"), f"{pointer}/system"),
            *messages(turns, f"{pointer}/{key}"),
        ),
        tools=offers(body.get("tools"), f"{pointer}/tools"),
        facts=facts_of(body, _REQUEST),
        parts=structured(body, _REQUEST, pointer),
    )


def answer(body: dict[str, Any], pointer: str) -> Answer:
    """What `generateText` and a model's `doGenerate` give back."""
    if "error" in body and "content" not in body and "text" not in body:
        return Answer(failure=failure(body["error"], f"{pointer}/error"))
    said = _parts(body.get("content"), f"{pointer}/content") or flat(body, pointer)
    finish = body.get("finishReason")
    return Answer(
        parts=tuple(said),
        facts=facts_of({key: body.get(key) for key in ("id", "modelId", "model")}),
        usage=usage_facts(obj(body.get("usage"))),
        finish=text(finish) or text(obj(finish).get("unified")),
    )


def flat(body: dict[str, Any], pointer: str, prefix: str = "") -> list[Part]:
    """`text`, `reasoning` and `toolCalls` side by side (`prefix` stands before their names)."""
    at = f"{pointer}/{prefix}"
    key, thought = named(body, "reasoningText", "reasoning")
    parts = _parts(body.get("text"), f"{at}text")
    if isinstance(thought, str) and thought:
        parts.insert(0, Reasoning(thought, f"{at}{key}"))
    else:
        parts = _parts(thought, f"{at}{key}") + parts
    if body.get("object") is not None:
        parts.append(_spoken(body["object"], f"{at}object"))
    for index, one in enumerate(items(body.get("toolCalls"))):
        parts.append(_call(obj(one), f"{at}toolCalls/{index}"))
    return parts


def messages(value: object, pointer: str) -> tuple[Message, ...]:
    if isinstance(value, str):
        return (Message("user", (Text(value, pointer),), pointer, raw=value),)
    return each(value, pointer, _turn)


def _system(value: object, pointer: str) -> tuple[Message, ...]:
    if isinstance(value, str) and value:
        return (Message("system", (Text(value, pointer),), pointer, raw=value),)
    return messages(value, pointer) if isinstance(value, list) else ()


def _turn(value: object, pointer: str) -> tuple[Message, ...]:
    members = obj(value)
    key = "parts" if isinstance(members.get("parts"), list) else "content"
    said = _parts(members.get(key), f"{pointer}/{key}")
    return turn(text(members.get("role")), tuple(said), pointer, value)


def _parts(value: object, pointer: str) -> list[Part]:
    if isinstance(value, str):
        return [Text(value, pointer)] if value else []
    listed = enumerate(items(value))
    return [part for index, one in listed for part in _part(one, f"{pointer}/{index}")]


def _part(value: object, pointer: str) -> list[Part]:
    part = obj(value)
    kind = text(part.get("type"))
    if kind == "step-start":
        return []
    if "state" in part and (kind == "dynamic-tool" or kind.startswith("tool-")):
        return _ui_tool(part, pointer)
    return [typed(value, pointer, _READERS)]


def _text(part: dict[str, Any], pointer: str) -> Part | None:
    said = part.get("text")
    return Text(said, f"{pointer}/text") if isinstance(said, str) else None


def _reasoning(part: dict[str, Any], pointer: str) -> Part | None:
    said = part.get("text")
    return Reasoning(said, f"{pointer}/text", not said) if isinstance(said, str) else None


def _call(part: dict[str, Any], pointer: str) -> Call:
    key, value = named(part, "input", "args")
    identity, name = text(part.get("toolCallId")), text(part.get("toolName"))
    return call({} if value is None else value, f"{pointer}/{key}", identity, name)


def _result(part: dict[str, Any], pointer: str) -> Part | None:
    key, output = named(part, "output", "result")
    at, kind = f"{pointer}/{key}", text(obj(output).get("type"))
    typed = isinstance(output, dict) and output.keys() >= {"type", "value"}
    failed = part.get("isError") is True or (typed and kind.startswith("error"))
    value, at = (obj(output)["value"], f"{at}/value") if typed else (output, at)
    if typed and kind == "content":
        said: tuple[Part, ...] = tuple(_parts(value, at))
    else:
        said = (_spoken(value, at),)
    identity, name = text(part.get("toolCallId")), text(part.get("toolName"))
    return Result(identity, name, said, pointer, failed)


def _spoken(value: object, pointer: str) -> Part:
    return Text(value, pointer) if isinstance(value, str) else Data(value, pointer)


def _ui_tool(part: dict[str, Any], pointer: str) -> list[Part]:
    """A tool of a UI message is its call and, once it is there, its result."""
    kind, identity = text(part.get("type")), text(part.get("toolCallId"))
    name = text(part.get("toolName")) or kind.removeprefix("tool-")
    shown: list[Part] = [call(part.get("input"), f"{pointer}/input", identity, name)]
    if isinstance(part.get("errorText"), str):
        said = Text(part["errorText"], f"{pointer}/errorText")
        shown.append(Result(identity, name, (said,), pointer, True))
    elif part.get("output") is not None:
        shown.append(
            Result(identity, name, (_spoken(part["output"], f"{pointer}/output"),), pointer)
        )
    return shown


def _media(part: dict[str, Any], pointer: str) -> Part | None:
    _key, value = named(part, "image", "data", "url")
    kind = text(named(part, "mediaType", "mimeType")[1])
    media = "image" if part.get("type") == "image" else media_of(kind)
    name = text(part.get("filename"))
    if isinstance(value, list):
        return Media(media, "bytes", value, kind, pointer, name)
    if not isinstance(value, str):
        return None
    if value.startswith(("data:", "http:", "https:")):
        return from_url(media, value, pointer, name)
    return Media(media, "base64", value, kind, pointer, name)


_READERS: Readers = {
    "text": _text,
    "reasoning": _reasoning,
    "tool-call": _call,
    "tool-result": _result,
    "image": _media,
    "media": _media,
    "file": _media,
    "image-data": _media,
    "file-data": _media,
    "image-url": _media,
    "file-url": _media,
}
