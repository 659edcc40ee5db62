"""Chat Completions: ``chat.completion`` and its chunks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from replay.fake_provider.wire import CREATED, Exchange, pieces


def whole(exchange: Exchange) -> dict[str, Any]:
    """The reply as one ``chat.completion``."""
    choice = {
        "index": 0,
        "message": _message(exchange),
        "logprobs": None,
        "finish_reason": _finish(exchange),
    }
    return {
        "id": _id(exchange),
        "object": "chat.completion",
        "created": CREATED + exchange.number,
        "model": exchange.model,
        "choices": [choice],
        "usage": _usage(exchange),
        "service_tier": "default",
        "system_fingerprint": "fp_fake",
    }


def events(exchange: Exchange) -> Iterator[tuple[str | None, Any]]:
    """The reply as chunks, ``(None, chunk)`` each; ``[DONE]`` ends them."""
    with_usage = bool((exchange.body.get("stream_options") or {}).get("include_usage"))
    for delta in _deltas(exchange):
        yield None, _chunk(exchange, [_choice(delta, None)], with_usage)
    yield None, _chunk(exchange, [_choice({}, _finish(exchange))], with_usage)
    if with_usage:
        yield None, {**_chunk(exchange, [], True), "usage": _usage(exchange)}
    yield None, "[DONE]"


def _message(exchange: Exchange) -> dict[str, Any]:
    reply = exchange.reply
    message: dict[str, Any] = {
        "role": "assistant",
        "content": reply.text,
        "refusal": reply.refusal,
        "annotations": [],
    }
    if reply.reasoning:
        message["reasoning_content"] = reply.reasoning
    if reply.calls:
        message["tool_calls"] = [_call(exchange, index) for index in range(len(reply.calls))]
    return message


def _call(exchange: Exchange, index: int) -> dict[str, Any]:
    call = exchange.reply.calls[index]
    return {
        "id": exchange.call_id("call_", index),
        "type": "function",
        "function": {"name": call.name, "arguments": call.arguments_text()},
    }


def _deltas(exchange: Exchange) -> Iterator[dict[str, Any]]:
    reply = exchange.reply
    yield {"role": "assistant", "content": "" if reply.text else None, "refusal": None}
    for piece in pieces(reply.reasoning) if reply.reasoning else ():
        yield {"reasoning_content": piece}
    for piece in pieces(reply.text) if reply.text else ():
        yield {"content": piece}
    for piece in pieces(reply.refusal) if reply.refusal else ():
        yield {"refusal": piece}
    for index in range(len(reply.calls)):
        call = _call(exchange, index)
        arguments = call["function"]["arguments"]
        start = {**call, "function": {**call["function"], "arguments": ""}}
        yield {"tool_calls": [{"index": index, **start}]}
        for piece in pieces(arguments):
            yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}


def _choice(delta: dict[str, Any], finish: str | None) -> dict[str, Any]:
    return {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}


def _chunk(exchange: Exchange, choices: list[Any], with_usage: bool) -> dict[str, Any]:
    chunk = {
        "id": _id(exchange),
        "object": "chat.completion.chunk",
        "created": CREATED + exchange.number,
        "model": exchange.model,
        "service_tier": "default",
        "system_fingerprint": "fp_fake",
        "choices": choices,
    }
    return {**chunk, "usage": None} if with_usage else chunk


def _finish(exchange: Exchange) -> str:
    if exchange.reply.finish_reason:
        return exchange.reply.finish_reason
    return "tool_calls" if exchange.reply.calls else "stop"


def _usage(exchange: Exchange) -> dict[str, Any]:
    asked, said = exchange.input_tokens(), exchange.output_tokens()
    return {
        "prompt_tokens": asked,
        "completion_tokens": said,
        "total_tokens": asked + said,
        "prompt_tokens_details": {"cached_tokens": exchange.cache_read(), "audio_tokens": 0},
        "completion_tokens_details": {
            "reasoning_tokens": exchange.reasoning_tokens(),
            "audio_tokens": 0,
            "accepted_prediction_tokens": 0,
            "rejected_prediction_tokens": 0,
        },
    }


def _id(exchange: Exchange) -> str:
    return f"chatcmpl-fake{exchange.number:06d}"
