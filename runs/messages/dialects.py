"""Which dialect a provider body speaks, told by its shape, and the adapter for it."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, TypeVar

from runs.messages import (
    ai_sdk,
    anthropic,
    gemini,
    langchain,
    links,
    openai_chat,
    openai_responses,
    otel,
    retrieval,
    rewyn,
    rig_parts,
    spans,
)
from runs.messages.facts import usage_facts
from runs.messages.loose import items, obj, text
from runs.messages.parts import Answer, Data, Media, Message, Part, Request

_ANTHROPIC_BLOCKS = {
    "tool_use", "tool_result", "thinking", "redacted_thinking", "document", "server_tool_use",
}  # fmt: skip
_ITEMS = {"function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output",
          "message", "item_reference"}  # fmt: skip
_AI_SDK_PARTS = {"tool-call", "tool-result", "dynamic-tool", "step-start", "source-url"}
_RIG_ALONE = {"json", "opaque", "toolresult", "toolcall", "ToolResult", "ToolCall"}
_RIG_TOO = {"text", "reasoning", "image", "audio", "video", "document"}
_OTEL_PARTS = {"tool_call_response", "blob", "uri"}

Told = TypeVar("Told", Request, Answer)
Messages = Callable[[object, str], tuple[Message, ...]]
_MESSAGES: dict[str, Messages] = {
    "openai.chat": openai_chat.messages,
    "openai.responses": openai_responses.messages,
    "anthropic.messages": anthropic.messages,
    "google.gemini": gemini.messages,
    "langchain": langchain.messages,
    "ai-sdk": ai_sdk.messages,
    "otel": otel.messages,
    "rewyn": rewyn.messages,
    "rig": rig_parts.messages,
}
_REQUESTS: dict[str, Callable[[dict[str, Any], str], Request]] = {
    "openai.chat": openai_chat.request,
    "openai.responses": openai_responses.request,
    "anthropic.messages": anthropic.request,
    "google.gemini": gemini.request,
    "langchain": langchain.request,
    "ai-sdk": ai_sdk.request,
    "rewyn": rewyn.request,
}
_ANSWERS: dict[str, Callable[[dict[str, Any], str], Answer]] = {
    "openai.chat": openai_chat.answer,
    "openai.responses": openai_responses.answer,
    "anthropic.messages": anthropic.answer,
    "google.gemini": gemini.answer,
    "langchain": langchain.answer,
    "ai-sdk": ai_sdk.answer,
    "rewyn": rewyn.answer,
}


def wire_request(body: object, pointer: str) -> Request:
    """A provider request body, a list of messages or a span's attributes; what no adapter knows
    is shown as the JSON it is."""
    return links.with_tool_names(_request(body, pointer))


def _request(body: object, pointer: str) -> Request:
    if isinstance(body, list) and (turns := conversation(body, pointer)):
        return Request("completion", messages=turns)
    span = spans.span_in(body)
    if span is not None:
        return _span_request(span[0], pointer + span[1])
    members = obj(body)
    dialect = detect(members)
    if dialect in _REQUESTS:
        return _REQUESTS[dialect](members, pointer)
    if dialect in _MESSAGES:
        turns = _MESSAGES[dialect](members.get("messages"), f"{pointer}/messages")
        return Request("completion", messages=turns)
    return Request("unknown", parts=(Data(body, pointer, unknown=True),))


def wire_answer(body: object, pointer: str) -> Answer:
    """A provider response body, a message or a list of them, or a span's attributes, likewise."""
    if isinstance(body, list) and (turns := conversation(body, pointer)):
        return Answer(parts=_parts(turns))
    span = spans.span_in(body)
    if span is not None:
        return _span_answer(span[0], pointer + span[1])
    members = obj(body)
    dialect = detect_answer(members)
    if dialect in _ANSWERS:
        return _ANSWERS[dialect](members, pointer)
    if dialect == "rig":
        return _rig_answer(members, pointer)
    if "role" in members and (turns := conversation([members], pointer)):
        return Answer(parts=_parts(turns))
    return Answer(parts=(Data(body, pointer, unknown=True),))


def _span_request(attributes: dict[str, Any], pointer: str) -> Request:
    sought = retrieval.request(attributes, pointer)
    if sought is not None and not spans.converses(attributes):
        return sought
    asked = spans.asked(attributes, pointer)
    held = _held(_request, *asked) if isinstance(asked, tuple) else asked
    return spans.fuller_request(held, attributes, pointer)


def _span_answer(attributes: dict[str, Any], pointer: str) -> Answer:
    """Documents beside a whole output stand for it: that is a rendering of them."""
    found = retrieval.answer(attributes, pointer)
    if found is not None and not spans.converses(attributes):
        return found
    answered = spans.answered(attributes, pointer)
    held = _held(wire_answer, *answered) if isinstance(answered, tuple) else answered
    told = spans.fuller_answer(held, attributes, pointer)
    return replace(told, documents=found.documents) if found is not None else told


def _held(read: Callable[[object, str], Told], body: object, pointer: str) -> Told:
    """The body that a span holds, which is no span again, however deep somebody nested them."""
    return read([body] if spans.span_in(body) is not None else body, pointer)


def conversation(turns: list[Any], pointer: str) -> tuple[Message, ...]:
    """A list of turns in any dialect as messages; empty if it is no conversation."""
    dialect = _of_turns(turns)
    return _MESSAGES[dialect](turns, pointer) if dialect else ()


def foreign_turns(turns: list[Any], pointer: str) -> tuple[Message, ...]:
    """Turns in a Rig log that another client wrote; empty if they are Rig's own."""
    dialect = next(filter(None, map(_foreign, turns)), "")
    return _MESSAGES[dialect](turns, pointer) if dialect else ()


def _foreign(value: object) -> str:
    members = obj(value)
    parts = [obj(one) for one in items(members.get("content"))]
    own = any(text(part.get("type")) in _RIG_ALONE or "function" in part for part in parts)
    if own or (parts and all(text(part.get("type")) in _RIG_TOO for part in parts)):
        return ""
    told = _of_turn(value)
    return "" if told == "rig" else told


def wire_media(value: object) -> Media | None:
    """The media that a content part of any dialect is, if it is one."""
    alone = [{"role": "user", "content": [value]}, {"role": "user", "parts": [value]}]
    readers = (openai_chat, anthropic, gemini, ai_sdk, otel, rewyn)
    found = (
        part
        for one in readers
        for turn in one.messages(alone, "")
        for part in turn.parts
        if isinstance(part, Media)
    )
    return next(found, None)


def detect(body: object) -> str:
    """The dialect of a request body, or empty for none of them."""
    members = obj(body)
    if "contents" in members:
        return "google.gemini"
    if isinstance(members.get("messages"), list):
        return _of_messages(members)
    if "input" in members and ("model" in members or _of_items(members["input"])):
        return "openai.responses"
    return "ai-sdk" if _is_prompt(members) else ""


def detect_answer(body: object) -> str:
    """The dialect of a response body, likewise."""
    members = obj(body)
    if "candidates" in members or "promptFeedback" in members:
        return "google.gemini"
    if "generations" in members or langchain.is_message(members) or _is_update(members):
        return "langchain"
    if isinstance(members.get("choice"), list):
        return "rig"
    if isinstance(members.get("message"), dict) or isinstance(members.get("error"), str):
        return "rewyn" if "choices" not in members else "openai.chat"
    if "choices" in members or ("error" in members and not isinstance(members.get("output"), list)):
        return "openai.chat" if members.get("type") != "error" else "anthropic.messages"
    if isinstance(members.get("output"), list):
        return "openai.responses"
    if "finishReason" in members or "toolCalls" in members:
        return "ai-sdk"
    anthropic_like = isinstance(members.get("content"), list) and "stop_reason" in members
    return "anthropic.messages" if anthropic_like else ""


def _of_messages(members: dict[str, Any]) -> str:
    tools = [obj(tool) for tool in items(members.get("tools"))]
    if "tool_specs" in members:
        return "rewyn"
    told = _of_turns(members["messages"])
    plain = told in ("openai.chat", "")
    if plain and (any("input_schema" in tool for tool in tools) or "system" in members):
        return "anthropic.messages"
    if plain and any("inputSchema" in tool for tool in tools):
        return "ai-sdk"
    return told or "openai.chat"


def _of_turns(turns: list[Any]) -> str:
    """What any turn gives away; turns of texts alone read the same in all that have `role`."""
    inner = turns[0] if len(turns) == 1 and isinstance(turns[0], list) else turns
    told = next(filter(None, map(_of_turn, inner)), "")
    if told:
        return told
    return "openai.chat" if inner and all("role" in obj(one) for one in inner) else ""


def _of_turn(value: object) -> str:
    members = obj(value)
    if langchain.is_message(value):
        return "langchain"
    if members.get("type") in _ITEMS and "content" not in members:
        return "openai.responses"
    if members.get("type") == "reasoning" and "summary" in members:
        return "openai.responses"
    if "tool_calls" in members or "tool_call_id" in members:
        return "openai.chat"
    key = "parts" if isinstance(members.get("parts"), list) else "content"
    told = (_of_part(obj(one), key) for one in items(members.get(key)))
    return next(filter(None, told), "")


def _of_part(part: dict[str, Any], key: str) -> str:
    kind = text(part.get("type"))
    if kind in _AI_SDK_PARTS or "mediaType" in part or "toolCallId" in part:
        return "ai-sdk"
    if key == "parts":
        return _of_parts_part(part, kind)
    if kind in ("input_text", "output_text", "input_image", "input_file"):
        return "openai.responses"
    if kind == "tool_call":
        return "rig" if "function" in part else "rewyn"
    if kind == "tool_result" and ("tool_call_id" in part or "call" in part or "name" in part):
        return "rewyn" if "tool_call_id" in part else "rig"
    return "anthropic.messages" if kind in _ANTHROPIC_BLOCKS or "source" in part else ""


def _of_parts_part(part: dict[str, Any], kind: str) -> str:
    if not kind:
        return "google.gemini"
    if kind in _OTEL_PARTS or "content" in part or kind == "tool_call" or part.keys() == {"type"}:
        return "otel"
    return "ai-sdk"


def _of_items(value: object) -> bool:
    return any(text(obj(one).get("type")) in _ITEMS for one in items(value))


def _is_prompt(members: dict[str, Any]) -> bool:
    return isinstance(members.get("prompt"), str | list) and "system" in members


def _is_update(members: dict[str, Any]) -> bool:
    """What a graph's node returned: messages, bare or in an update of its state."""
    return any(map(langchain.is_message, _returned(members)))


def _returned(members: dict[str, Any]) -> Iterator[Any]:
    yield from items(members.get("messages"))
    for one in map(obj, items(members.get("output"))):
        yield from items(one.get("messages"))
        yield from items(obj(one.get("update")).get("messages"))
        yield one


def _rig_answer(members: dict[str, Any], pointer: str) -> Answer:
    finish = members.get("finish_reason")
    return Answer(
        parts=rig_parts.parts(members["choice"], f"{pointer}/choice"),
        usage=usage_facts(obj(members.get("usage"))),
        finish=text(finish),
    )


def _parts(turns: tuple[Message, ...]) -> tuple[Part, ...]:
    return tuple(part for turn in turns for part in turn.parts)
