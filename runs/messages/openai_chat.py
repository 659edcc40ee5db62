"""OpenAI chat completions (and all that speak it): the bodies as they went over the wire."""

from typing import Any

from runs.messages import exact, turns
from runs.messages.facts import facts_of, rest, structured, usage_facts
from runs.messages.loose import items, named, obj, pick, text
from runs.messages.parts import (
    Answer,
    Call,
    Data,
    Failure,
    Media,
    Message,
    Part,
    Reasoning,
    Request,
    Result,
    Text,
    Tool,
)
from runs.messages.turns import Readers, call, each, turn, typed

_TURN = {"role", "content", "name", "tool_calls", "tool_call_id", "refusal", "reasoning_content",
         "reasoning", "annotations", "function_call"}  # fmt: skip


def request(body: dict[str, Any], pointer: str) -> Request:
    return Request(
        "completion",
        messages=messages(body.get("messages"), f"{pointer}/messages"),
        tools=offers(body.get("tools"), f"{pointer}/tools"),
        facts=facts_of(body, {"messages", "tools"}),
        parts=structured(body, {"messages", "tools"}, pointer),
    )


def messages(value: object, pointer: str) -> tuple[Message, ...]:
    return each(value, pointer, _turn)


def answer(body: dict[str, Any], pointer: str) -> Answer:
    if "error" in body and "choices" not in body:
        return Answer(failure=failure(body["error"], f"{pointer}/error"))
    choices = [obj(choice) for choice in items(body.get("choices"))]
    said: list[Part] = []
    for index, choice in enumerate(choices):
        at = f"{pointer}/choices/{index}/message"
        said += _turn_parts(obj(choice.get("message")), at)
    return Answer(
        parts=tuple(said),
        facts=facts_of({key: body.get(key) for key in ("id", "model", "system_fingerprint")}),
        usage=usage_facts(obj(body.get("usage"))),
        finish=", ".join(filter(None, (text(choice.get("finish_reason")) for choice in choices))),
    )


def failure(value: object, pointer: str) -> Failure:
    """The error object that OpenAI and those like it answer with."""
    error = obj(value)
    kind = text(error.get("type")) or text(error.get("status")) or "error"
    said = text(error.get("message")) or exact.compact(value)
    return Failure(kind, said, facts_of(error, {"message", "type"}), pointer=pointer)


def offers(value: object, pointer: str) -> tuple[Tool, ...]:
    """Tools offered: nested under `function` (chat) or flat (responses), built-in ones by type."""
    return tuple(offer(one, f"{pointer}/{index}") for index, one in enumerate(items(value)))


def offer(value: object, pointer: str) -> Tool:
    members = obj(value)
    function = obj(members.get("function")) or members
    name = text(function.get("name")) or text(members.get("type"))
    schema = named(function, "parameters", "inputSchema", "input_schema")[1]
    if schema is None:
        schema = {k: v for k, v in members.items() if k != "type"}
    return Tool(name, text(function.get("description")), schema, pointer, raw=value)


def _turn(value: object, pointer: str) -> tuple[Message, ...]:
    members = obj(value)
    role = text(members.get("role")) or "message"
    said = tuple(_turn_parts(members, pointer))
    if role not in ("tool", "function"):
        return turn(role, said, pointer, value, text(members.get("name")))
    identity, name = text(members.get("tool_call_id")), text(members.get("name"))
    return (Message("tool", (Result(identity, name, said, pointer),), pointer, raw=value),)


def _turn_parts(members: dict[str, Any], pointer: str) -> list[Part]:
    thought = members.get("reasoning_content") or members.get("reasoning")
    parts: list[Part] = []
    if isinstance(thought, str) and thought:
        parts.append(Reasoning(thought, f"{pointer}/reasoning_content"))
    parts += content(members.get("content"), f"{pointer}/content")
    if isinstance(members.get("refusal"), str):
        parts.append(Text(members["refusal"], f"{pointer}/refusal", "refusal"))
    for index, one in enumerate(items(members.get("tool_calls"))):
        parts.append(_call(obj(one), f"{pointer}/tool_calls/{index}"))
    if isinstance(members.get("function_call"), dict):  # before there were tools
        parts.append(_call({"function": members["function_call"]}, pointer))
    return [*parts, *rest(members, _TURN, pointer)]


def _call(members: dict[str, Any], pointer: str) -> Part:
    function = obj(members.get("function"))
    identity, name = text(members.get("id")), text(function.get("name"))
    if isinstance(members.get("custom"), dict):  # its input is a text of its own kind
        custom = members["custom"]
        return Call(
            identity, text(custom.get("name")), custom.get("input"), f"{pointer}/custom/input"
        )
    if not function:
        return Data(members, pointer, text(members.get("type")), unknown=True)
    return call(function.get("arguments"), f"{pointer}/function/arguments", identity, name)


def content(value: object, pointer: str) -> list[Part]:
    """A message's content: text, or a list of typed parts (chat and responses spellings)."""
    return turns.content(value, pointer, part)


def part(value: object, pointer: str) -> Part:
    return typed(value, pointer, _READERS)


def _text(part: dict[str, Any], pointer: str) -> Part | None:
    key = "refusal" if "refusal" in part else "text"
    said = part.get(key)
    label = "refusal" if key == "refusal" else ""
    return Text(said, f"{pointer}/{key}", label) if isinstance(said, str) else None


def _image(part: dict[str, Any], pointer: str) -> Part | None:
    image = part.get("image_url")
    url = text(image) or text(pick(image, "url"))
    detail = text(pick(image, "detail")) or text(part.get("detail"))
    if not url and part.get("file_id"):
        return Media("image", "file", text(part["file_id"]), "", pointer, detail=detail)
    return from_url("image", url, pointer, detail=detail) if url else None


def _audio(part: dict[str, Any], pointer: str) -> Part | None:
    audio = obj(part.get("input_audio"))
    kind = f"audio/{text(audio.get('format')) or 'wav'}"
    return Media("audio", "base64", text(audio.get("data")), kind, pointer)


def _file(part: dict[str, Any], pointer: str) -> Part | None:
    file = obj(part.get("file")) or part
    name = text(file.get("filename"))
    if file.get("file_id"):
        return Media("document", "file", text(file["file_id"]), "", pointer, name)
    url = text(file.get("file_data")) or text(file.get("file_url"))
    return from_url("document", url, pointer, name) if url else None


def from_url(media: str, url: str, pointer: str, name: str = "", detail: str = "") -> Media:
    """Media behind a URL; a `data:` URL holds the bytes itself."""
    head, comma, data = url.partition(",")
    if comma and head.startswith("data:") and head.endswith(";base64"):
        kind = head.removeprefix("data:").removesuffix(";base64")
        return Media(media, "base64", data, kind, pointer, name, detail)
    return Media(media, "url", url, "", pointer, name, detail)


_READERS: Readers = {
    "text": _text,
    "input_text": _text,
    "output_text": _text,
    "refusal": _text,
    "image_url": _image,
    "input_image": _image,
    "input_audio": _audio,
    "file": _file,
    "input_file": _file,
}
