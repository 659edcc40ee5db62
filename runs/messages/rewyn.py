"""The rewyn SDK's own messages: content parts with the call's name and arguments side by side."""

from typing import Any

from runs.messages.facts import facts_of, structured, usage_facts
from runs.messages.loose import obj, text
from runs.messages.openai_chat import offers
from runs.messages.parts import (
    Answer,
    Data,
    Failure,
    Media,
    Message,
    Part,
    Reasoning,
    Request,
    Result,
    Text,
)
from runs.messages.turns import Readers, call, content, each, media_of, turn, typed

_REQUEST = {"messages", "tool_specs", "tools"}


def request(body: dict[str, Any], pointer: str) -> Request:
    return Request(
        "completion",
        messages=messages(body.get("messages"), f"{pointer}/messages"),
        tools=offers(body.get("tool_specs"), f"{pointer}/tool_specs"),
        facts=facts_of(body, _REQUEST),
        parts=structured(body, _REQUEST, pointer),
    )


def answer(body: dict[str, Any], pointer: str) -> Answer:
    if isinstance(body.get("error"), str) and "message" not in body:
        return Answer(failure=Failure("error", body["error"], pointer=f"{pointer}/error"))
    said = _parts(obj(body.get("message")).get("content"), f"{pointer}/message/content")
    known = {"message", "usage", "cost", "finish_reason"}
    return Answer(
        parts=tuple(said),
        facts=facts_of(body, known),
        usage=usage_facts(obj(body.get("usage"))),
        finish=text(body.get("finish_reason")),
    )


def messages(value: object, pointer: str) -> tuple[Message, ...]:
    return each(value, pointer, _turn)


def _turn(value: object, pointer: str) -> tuple[Message, ...]:
    members = obj(value)
    said = tuple(_parts(members.get("content"), f"{pointer}/content"))
    return turn(text(members.get("role")), said, pointer, value, text(members.get("name")))


def _parts(value: object, pointer: str) -> list[Part]:
    return content(value, pointer, _part)


def _part(value: object, pointer: str) -> Part:
    return typed(value, pointer, _READERS)


def _text(part: dict[str, Any], pointer: str) -> Part | None:
    said = part.get("text")
    if not isinstance(said, str):
        return None
    at = f"{pointer}/text"
    return Reasoning(said, at) if part.get("type") == "reasoning" else Text(said, at)


def _call(part: dict[str, Any], pointer: str) -> Part | None:
    identity, name = text(part.get("id")), text(part.get("name"))
    return call(part.get("arguments"), f"{pointer}/arguments", identity, name, text=False)


def _result(part: dict[str, Any], pointer: str) -> Part | None:
    content, at = part.get("content"), f"{pointer}/content"
    said: Part = Text(content, at) if isinstance(content, str) else Data(content, at)
    identity, name = text(part.get("tool_call_id")), text(part.get("name"))
    return Result(identity, name, (said,), pointer, part.get("is_error") is True)


def _media(part: dict[str, Any], pointer: str) -> Part | None:
    kind, detail = text(part.get("media_type")), text(part.get("detail"))
    media = "image" if part.get("type") == "image" else media_of(kind)
    if isinstance(part.get("data"), str):
        return Media(media, "base64", part["data"], kind, pointer, detail=detail)
    if isinstance(part.get("url"), str):
        return Media(media, "url", part["url"], kind, pointer, detail=detail)
    return None


_READERS: Readers = {
    "text": _text,
    "reasoning": _text,
    "tool_call": _call,
    "tool_result": _result,
    "image": _media,
    "file": _media,
}
