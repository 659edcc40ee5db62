"""Answers from the wire, whole: a body of any of the three APIs as an ``Answer``.

The shape decides, not the address: servers that call themselves compatible answer in either.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from replay.dialects.answer import Answer, AnswerCall, BadAnswer, settled_finish, usage_parts
from replay.dialects.loose import (
    compact_json,
    count,
    is_deep,
    items,
    mapping,
    maybe_text,
    parsed,
    text,
)
from replay.dialects.prompt import CHAT, MESSAGES, RESPONSES


def shape_of(body: object) -> str | None:
    """Which API's answer a body is, ``None`` for none of the three."""
    found = mapping(body)
    if isinstance(found.get("choices"), list):
        return CHAT
    if isinstance(found.get("output"), list):
        return RESPONSES
    return MESSAGES if isinstance(found.get("content"), list) else None


def read_answer(body: object) -> Answer:
    """The answer in a body. Raises ``BadAnswer`` for a body that is none of the three APIs', or
    that neither says anything nor how it ended: an empty answer has its finish reason."""
    shape = shape_of(body)
    if shape is None:
        raise BadAnswer("the body is no answer: it has no choices, no output and no content")
    answer = _READERS[shape](mapping(body))
    told = (answer.text, answer.calls, answer.reasoning, answer.refusal, answer.finish_reason)
    if not any(told):
        raise BadAnswer("the body is no answer: nothing is said in it, nor how it ended")
    return answer


def call_of(name: object, identity: object, written: str) -> AnswerCall:
    """A call from the argument text that the model wrote; a text of nothing is no arguments."""
    is_json, value = parsed(written) if written.strip() else (True, {})
    kept = value if is_json and not is_deep(written) else None
    return AnswerCall(text(identity), text(name), kept, written)


# --- Chat Completions --------------------------------------------------------------------------

_CHAT_FINISH = {"function_call": "tool_calls"}


def _chat(body: Mapping[str, Any]) -> Answer:
    choices = items(body.get("choices"))
    if not choices:
        raise BadAnswer("the answer has no choice")
    choice = mapping(choices[0])
    message = mapping(choice.get("message"))
    calls = tuple(_chat_call(mapping(call)) for call in items(message.get("tool_calls")))
    finish = maybe_text(choice.get("finish_reason"))
    return Answer(
        text=_chat_text(message.get("content")),
        calls=calls,
        reasoning=text(message.get("reasoning_content")) or text(message.get("reasoning")),
        refusal=maybe_text(message.get("refusal")),
        finish_reason=settled_finish(_CHAT_FINISH.get(finish or "", finish), calls),
        usage=_chat_usage(mapping(body.get("usage"))),
        model=maybe_text(body.get("model")),
        response_id=maybe_text(body.get("id")),
        raw=body,
    )


def _chat_text(content: object) -> str:
    return text(content) or "".join(text(mapping(part).get("text")) for part in items(content))


def _chat_call(call: Mapping[str, Any]) -> AnswerCall:
    function = mapping(call.get("function")) or mapping(call.get("custom"))
    written = function.get("arguments", function.get("input"))
    # Some local servers give the arguments as an object.
    shown = compact_json(written) if isinstance(written, dict) else text(written)
    return call_of(function.get("name"), call.get("id"), shown)


def _chat_usage(usage: Mapping[str, Any]) -> dict[str, int | None]:
    asked = mapping(usage.get("prompt_tokens_details"))
    said = mapping(usage.get("completion_tokens_details"))
    return usage_parts(
        input=count(usage.get("prompt_tokens")),
        output=count(usage.get("completion_tokens")),
        cache_read=count(asked.get("cached_tokens")),
        cache_write=count(asked.get("cache_write_tokens")),
        reasoning=count(said.get("reasoning_tokens")),
    )


# --- Responses ---------------------------------------------------------------------------------

_INCOMPLETE = {"max_output_tokens": "length"}


def _responses(body: Mapping[str, Any]) -> Answer:
    output = [mapping(item) for item in items(body.get("output"))]
    calls = tuple(
        call_of(
            item.get("name"), item.get("call_id"), text(item.get("arguments", item.get("input")))
        )
        for item in output
        if item.get("type") in ("function_call", "custom_tool_call")
    )
    parts = [mapping(part) for item in output for part in items(item.get("content"))]
    refusals = [text(part.get("refusal")) for part in parts if part.get("type") == "refusal"]
    return Answer(
        text="".join(text(p.get("text")) for p in parts if p.get("type") == "output_text"),
        calls=calls,
        reasoning="\n".join(filter(None, map(_summary, output))),
        refusal="".join(refusals) if refusals else None,
        finish_reason=settled_finish(_responses_finish(body), calls),
        usage=_responses_usage(mapping(body.get("usage"))),
        model=maybe_text(body.get("model")),
        response_id=maybe_text(body.get("id")),
        raw=body,
    )


def _summary(item: Mapping[str, Any]) -> str:
    if item.get("type") != "reasoning":
        return ""
    said = items(item.get("summary")) or items(item.get("content"))
    return "\n".join(text(mapping(part).get("text")) for part in said)


def _responses_finish(body: Mapping[str, Any]) -> str | None:
    status = maybe_text(body.get("status"))
    if status == "incomplete":
        reason = maybe_text(mapping(body.get("incomplete_details")).get("reason"))
        return _INCOMPLETE.get(reason or "", reason) or status
    return "stop" if status == "completed" else status


def _responses_usage(usage: Mapping[str, Any]) -> dict[str, int | None]:
    asked = mapping(usage.get("input_tokens_details"))
    return usage_parts(
        input=count(usage.get("input_tokens")),
        output=count(usage.get("output_tokens")),
        cache_read=count(asked.get("cached_tokens")),
        cache_write=count(asked.get("cache_write_tokens")),
        reasoning=count(mapping(usage.get("output_tokens_details")).get("reasoning_tokens")),
    )


# --- Messages ----------------------------------------------------------------------------------

_STOPS = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tool_calls",
    "refusal": "content_filter",
}


def _messages(body: Mapping[str, Any]) -> Answer:
    blocks = [mapping(block) for block in items(body.get("content"))]
    said = "".join(text(b.get("text")) for b in blocks if b.get("type") == "text")
    calls = tuple(_used(block) for block in blocks if block.get("type") == "tool_use")
    stop = maybe_text(body.get("stop_reason"))
    told = mapping(body.get("stop_details")).get("explanation")
    return Answer(
        text=said,
        calls=calls,
        reasoning="\n".join(text(b.get("thinking")) for b in blocks if b.get("type") == "thinking"),
        refusal=(maybe_text(told) or said) if stop == "refusal" else None,
        finish_reason=settled_finish(_STOPS.get(stop or "", stop), calls),
        usage=messages_usage(mapping(body.get("usage"))),
        model=maybe_text(body.get("model")),
        response_id=maybe_text(body.get("id")),
        raw=body,
    )


def _used(block: Mapping[str, Any]) -> AnswerCall:
    given = block.get("input")
    written = given if isinstance(given, str) else compact_json(mapping(given))
    return call_of(block.get("name"), block.get("id"), written)


def messages_usage(usage: Mapping[str, Any]) -> dict[str, int | None]:
    """This API counts cached reads and writes beside the input; here the input includes them."""
    plain = count(usage.get("input_tokens"))
    read = count(usage.get("cache_read_input_tokens"))
    written = count(usage.get("cache_creation_input_tokens"))
    details = mapping(usage.get("output_tokens_details"))
    return usage_parts(
        input=None if plain is None else plain + (read or 0) + (written or 0),
        output=count(usage.get("output_tokens")),
        cache_read=read,
        cache_write=written,
        reasoning=count(details.get("thinking_tokens", details.get("reasoning_tokens"))),
    )


_READERS = {CHAT: _chat, RESPONSES: _responses, MESSAGES: _messages}
