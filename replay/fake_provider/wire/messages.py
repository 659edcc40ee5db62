"""Anthropic Messages: a ``message`` and its events."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from replay.fake_provider.wire import Exchange, pieces

_STOPS = {"length": "max_tokens", "content_filter": "refusal", "stop": "end_turn"}


def whole(exchange: Exchange) -> dict[str, Any]:
    """The reply as one ``message``."""
    return {
        "id": f"msg_fake{exchange.number:06d}",
        "type": "message",
        "role": "assistant",
        "model": exchange.model,
        "content": list(_blocks(exchange)),
        "stop_reason": _stop(exchange),
        "stop_sequence": None,
        "usage": _usage(exchange),
    }


def events(exchange: Exchange) -> Iterator[tuple[str | None, Any]]:
    """The reply as named events, from ``message_start`` to ``message_stop``."""
    full = whole(exchange)
    begun = {**full["usage"], "output_tokens": 1}
    start = {**full, "content": [], "stop_reason": None, "usage": begun}
    yield _event("message_start", message=start)
    yield _event("ping")
    for index, block in enumerate(full["content"]):
        yield _event("content_block_start", index=index, content_block=_empty(block))
        for delta in _deltas(block, exchange):
            yield _event("content_block_delta", index=index, delta=delta)
        yield _event("content_block_stop", index=index)
    ended = {"stop_reason": full["stop_reason"], "stop_sequence": None}
    usage = {"output_tokens": full["usage"]["output_tokens"]}
    yield _event("message_delta", delta=ended, usage=usage)
    yield _event("message_stop")


def _event(name: str, **fields: Any) -> tuple[str, dict[str, Any]]:
    return name, {"type": name, **fields}


def _blocks(exchange: Exchange) -> Iterator[dict[str, Any]]:
    reply = exchange.reply
    if reply.reasoning:
        yield {"type": "thinking", "thinking": reply.reasoning, "signature": "ZmFrZQ=="}
    text = reply.text or reply.refusal
    if text:
        yield {"type": "text", "text": text}
    for index, call in enumerate(reply.calls):
        # A text that is no JSON object has no place in `input`; the real API never sends one.
        given = call.arguments if isinstance(call.arguments, dict) else {}
        name = exchange.call_id("toolu_", index)
        yield {"type": "tool_use", "id": name, "name": call.name, "input": given}


def _empty(block: dict[str, Any]) -> dict[str, Any]:
    if block["type"] == "thinking":
        return {"type": "thinking", "thinking": "", "signature": ""}
    if block["type"] == "tool_use":
        return {**block, "input": {}}
    return {"type": "text", "text": ""}


def _deltas(block: dict[str, Any], exchange: Exchange) -> Iterator[dict[str, Any]]:
    if block["type"] == "thinking":
        for piece in pieces(block["thinking"]):
            yield {"type": "thinking_delta", "thinking": piece}
        yield {"type": "signature_delta", "signature": block["signature"]}
    elif block["type"] == "text":
        for piece in pieces(block["text"]):
            yield {"type": "text_delta", "text": piece}
    else:
        yield {"type": "input_json_delta", "partial_json": ""}
        for piece in pieces(_arguments(block, exchange)):
            yield {"type": "input_json_delta", "partial_json": piece}


def _arguments(block: dict[str, Any], exchange: Exchange) -> str:
    ids = [exchange.call_id("toolu_", index) for index in range(len(exchange.reply.calls))]
    return exchange.reply.calls[ids.index(block["id"])].arguments_text()


def _stop(exchange: Exchange) -> str:
    reason = exchange.reply.finish_reason
    if reason:
        return _STOPS.get(reason, reason)
    if exchange.reply.refusal:
        return "refusal"
    return "tool_use" if exchange.reply.calls else "end_turn"


def _usage(exchange: Exchange) -> dict[str, Any]:
    return {
        "input_tokens": exchange.input_tokens(),
        "cache_creation_input_tokens": exchange.cache_write(),
        "cache_read_input_tokens": exchange.cache_read(),
        "output_tokens": exchange.output_tokens(),
        "service_tier": "standard",
    }
