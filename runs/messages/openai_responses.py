"""OpenAI Responses: a conversation as a list of items."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from runs.messages.facts import facts_of, structured, usage_facts
from runs.messages.loose import items, obj, pick, text
from runs.messages.openai_chat import content, failure, offers
from runs.messages.parts import Answer, Call, Data, Message, Part, Reasoning, Request, Result, Text
from runs.messages.turns import call, turn

_REQUEST = {"input", "instructions", "tools"}


def request(body: dict[str, Any], pointer: str) -> Request:
    return Request(
        "completion",
        messages=(*_instructions(body, pointer), *_input(body.get("input"), f"{pointer}/input")),
        tools=offers(body.get("tools"), f"{pointer}/tools"),
        facts=facts_of(body, _REQUEST),
        parts=structured(body, _REQUEST, pointer),
    )


def answer(body: dict[str, Any], pointer: str) -> Answer:
    if body.get("error") and not body.get("output"):
        return Answer(failure=failure(body["error"], f"{pointer}/error"))
    output = items(body.get("output"))
    parts = [p for i, item in enumerate(output) for p in _parts(item, f"{pointer}/output/{i}")]
    reason = text(pick(body, "incomplete_details", "reason"))
    return Answer(
        parts=tuple(parts),
        facts=facts_of({key: body.get(key) for key in ("id", "model", "service_tier")}),
        usage=usage_facts(obj(body.get("usage"))),
        finish=": ".join(filter(None, [text(body.get("status")), reason])),
    )


def _instructions(body: dict[str, Any], pointer: str) -> tuple[Message, ...]:
    said, at = body.get("instructions"), f"{pointer}/instructions"
    if isinstance(said, str):
        return (Message("system", (Text(said, at),), at, raw=said),)
    return _input(said, at)


def _input(value: object, pointer: str) -> tuple[Message, ...]:
    if isinstance(value, str):
        return (Message("user", (Text(value, pointer),), pointer, raw=value),)
    return messages(value, pointer)


def messages(value: object, pointer: str) -> tuple[Message, ...]:
    """Items as turns: what the model thought, said and called in a row is one turn of its own."""
    made: list[Message] = []
    for index, one in enumerate(items(value)):
        at = f"{pointer}/{index}"
        for message in turn(_role(one), tuple(_parts(one, at)), at, [one]):
            if made and message.role == made[-1].role == "assistant":
                message = _joined(made.pop(), message)
            made.append(message)
    return tuple(made)


def _role(value: object) -> str:
    item = obj(value)
    return text(item.get("role")) or _ROLES.get(text(item.get("type")), "assistant")


def _joined(first: Message, second: Message) -> Message:
    return replace(first, parts=first.parts + second.parts, raw=first.raw + second.raw)


def _parts(value: object, pointer: str) -> list[Part]:
    item = obj(value)
    if "role" in item:
        return content(item.get("content"), f"{pointer}/content")
    read = _READERS.get(text(item.get("type")))
    return read(item, pointer) if read else [_unknown(value, pointer)]


def _unknown(value: object, pointer: str) -> Data:
    return Data(value, pointer, text(obj(value).get("type")), unknown=True)


def _call(item: dict[str, Any], pointer: str) -> list[Part]:
    key = "input" if "input" in item else "arguments"
    identity, name = text(item.get("call_id")), text(item.get("name"))
    if item.get("type") == "custom_tool_call":  # its input is a text of its own kind
        return [Call(identity, name, item.get(key), f"{pointer}/{key}")]
    return [call(item.get(key), f"{pointer}/{key}", identity, name)]


def _output(item: dict[str, Any], pointer: str) -> list[Part]:
    said = tuple(content(item.get("output"), f"{pointer}/output"))
    return [Result(text(item.get("call_id")), text(item.get("name")), said, pointer)]


def _reasoning(item: dict[str, Any], pointer: str) -> list[Part]:
    pieces = [*items(item.get("summary")), *items(item.get("content"))]
    said = "\n\n".join(filter(None, (text(obj(piece).get("text")) for piece in pieces)))
    return [Reasoning(said, pointer, redacted=not said)]


_ROLES = {"function_call_output": "tool", "custom_tool_call_output": "tool"}
_READERS: dict[str, Callable[[dict[str, Any], str], list[Part]]] = {
    "function_call": _call,
    "custom_tool_call": _call,
    "function_call_output": _output,
    "custom_tool_call_output": _output,
    "reasoning": _reasoning,
    "message": lambda item, pointer: content(item.get("content"), f"{pointer}/content"),
}
