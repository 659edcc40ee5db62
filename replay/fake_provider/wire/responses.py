"""OpenAI Responses: a ``response`` and its events."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from replay.fake_provider.wire import CREATED, Exchange, pieces

_INCOMPLETE = {"length": "max_output_tokens", "content_filter": "content_filter"}
Event = tuple[str, dict[str, Any]]


def whole(exchange: Exchange) -> dict[str, Any]:
    """The reply as one ``response``."""
    reason = _INCOMPLETE.get(exchange.reply.finish_reason or "")
    return {
        **_frame(exchange),
        "status": "incomplete" if reason else "completed",
        "incomplete_details": {"reason": reason} if reason else None,
        "output": list(_items(exchange)),
        "usage": _usage(exchange),
    }


def events(exchange: Exchange) -> Iterator[tuple[str | None, Any]]:
    """The reply as named, numbered events, from ``response.created`` to ``response.completed``."""
    for number, (name, fields) in enumerate(_events(exchange)):
        yield name, {"type": name, "sequence_number": number, **fields}


def _events(exchange: Exchange) -> Iterator[Event]:
    begun = {**_frame(exchange), "status": "in_progress", "output": [], "usage": None}
    yield "response.created", {"response": begun}
    yield "response.in_progress", {"response": begun}
    full = whole(exchange)
    for index, item in enumerate(full["output"]):
        started = {**item, **_started(item)}
        yield "response.output_item.added", {"output_index": index, "item": started}
        at = {"item_id": item["id"], "output_index": index}
        yield from _fill(item, at)
        yield "response.output_item.done", {"output_index": index, "item": item}
    yield f"response.{full['status']}", {"response": full}


def _started(item: dict[str, Any]) -> dict[str, Any]:
    if item["type"] == "reasoning":
        return {"summary": []}
    if item["type"] == "function_call":
        return {"arguments": "", "status": "in_progress"}
    return {"content": [], "status": "in_progress"}


def _fill(item: dict[str, Any], at: dict[str, Any]) -> Iterator[Event]:
    if item["type"] == "function_call":
        for piece in pieces(item["arguments"]):
            yield "response.function_call_arguments.delta", {**at, "delta": piece}
        done = {**at, "name": item["name"], "arguments": item["arguments"]}
        yield "response.function_call_arguments.done", done
    elif item["type"] == "reasoning":
        yield from _fill_summary(item["summary"][0], {**at, "summary_index": 0})
    else:
        yield from _fill_content(item["content"][0], {**at, "content_index": 0})


def _fill_summary(part: dict[str, Any], at: dict[str, Any]) -> Iterator[Event]:
    name = "response.reasoning_summary"
    yield f"{name}_part.added", {**at, "part": {"type": "summary_text", "text": ""}}
    for piece in pieces(part["text"]):
        yield f"{name}_text.delta", {**at, "delta": piece}
    yield f"{name}_text.done", {**at, "text": part["text"]}
    yield f"{name}_part.done", {**at, "part": part}


def _fill_content(part: dict[str, Any], at: dict[str, Any]) -> Iterator[Event]:
    key = "refusal" if part["type"] == "refusal" else "text"
    name = "response.refusal" if key == "refusal" else "response.output_text"
    logprobs: dict[str, Any] = {} if key == "refusal" else {"logprobs": []}
    yield "response.content_part.added", {**at, "part": {**part, key: ""}}
    for piece in pieces(part[key]):
        yield f"{name}.delta", {**at, "delta": piece, **logprobs}
    yield f"{name}.done", {**at, key: part[key], **logprobs}
    yield "response.content_part.done", {**at, "part": part}


def _items(exchange: Exchange) -> Iterator[dict[str, Any]]:
    reply, number = exchange.reply, f"fake{exchange.number:06d}"
    if reply.reasoning:
        summary = [{"type": "summary_text", "text": reply.reasoning}]
        yield {"id": f"rs_{number}", "type": "reasoning", "summary": summary}
    part: dict[str, Any] | None = None
    if reply.refusal:
        part = {"type": "refusal", "refusal": reply.refusal}
    elif reply.text is not None:
        part = {"type": "output_text", "annotations": [], "logprobs": [], "text": reply.text}
    if part:
        yield {
            "id": f"msg_{number}",
            "type": "message",
            "status": "completed",
            "role": "assistant",
            "content": [part],
        }
    for index, call in enumerate(reply.calls):
        yield {
            "id": f"fc_{number}{index:02d}",
            "type": "function_call",
            "status": "completed",
            "arguments": call.arguments_text(),
            "call_id": exchange.call_id("call_", index),
            "name": call.name,
        }


def _frame(exchange: Exchange) -> dict[str, Any]:
    body = exchange.body
    return {
        "id": f"resp_fake{exchange.number:06d}",
        "object": "response",
        "created_at": CREATED + exchange.number,
        "status": "completed",
        "background": False,
        "error": None,
        "incomplete_details": None,
        "instructions": body.get("instructions"),
        "max_output_tokens": body.get("max_output_tokens"),
        "model": exchange.model,
        "parallel_tool_calls": body.get("parallel_tool_calls", True),
        "previous_response_id": None,
        "reasoning": body.get("reasoning") or {"effort": None, "summary": None},
        "service_tier": "default",
        "store": body.get("store", True),
        "temperature": body.get("temperature", 1.0),
        "text": body.get("text") or {"format": {"type": "text"}},
        "tool_choice": body.get("tool_choice", "auto"),
        "tools": body.get("tools", []),
        "top_p": body.get("top_p", 1.0),
        "truncation": "disabled",
        "metadata": body.get("metadata") or {},
    }


def _usage(exchange: Exchange) -> dict[str, Any]:
    asked, said = exchange.input_tokens(), exchange.output_tokens()
    return {
        "input_tokens": asked,
        "input_tokens_details": {"cached_tokens": exchange.cache_read()},
        "output_tokens": said,
        "output_tokens_details": {"reasoning_tokens": exchange.reasoning_tokens()},
        "total_tokens": asked + said,
    }
