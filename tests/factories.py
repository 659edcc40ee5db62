"""Small effect logs in Rig's 0.44 shape, for tests that need one of their own."""

from __future__ import annotations

import json
from typing import Any

HEADER: dict[str, Any] = {"handlers": [], "signature": {}, "hooks": [], "required": {}}


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "text", "text": text}]}


def completion(effect_id: int, asked: str = "Hi", said: str = "Hello", **more: Any) -> dict:
    """A model call. `usage`, `model`, `provider`, `api` tell the answer; `error` makes it fail."""
    model, provider = more.pop("model", "gpt-4o"), more.pop("provider", "openai")
    usage, api = more.pop("usage", {}), more.pop("api", "openai.chat")
    request = {"model": None, "chat_history": [user(asked)], "documents": [], "tools": []}
    outcome: dict[str, Any] = {
        "Ok": {
            "outcome": "completion",
            "choice": [{"type": "text", "text": said}],
            "usage": usage,
            "origin": {"api": api, "provider": provider, "model": model},
            "finish_reason": "stop",
            "raw": None,
        }
    }
    if "error" in more:
        outcome = failed(more.pop("error"), more.pop("error_kind", "provider_response"))
    kind = {"effect": "completion", "request": request, "stream": False}
    key = more.pop("key", "agent/model:default")
    return record(effect_id, key, kind, outcome, **more)


def tool(effect_id: int, name: str = "look_up", result: str = "42", **more: Any) -> dict:
    """A tool call that succeeds with a text."""
    kind = {"effect": "tool_call", "name": name, "args": more.pop("args", "{}")}
    value = [{"type": "text", "text": result}]
    outcome = {"Ok": {"outcome": "tool_result", "result": {"status": "success", "value": value}}}
    return {**record(effect_id, f"agent/tool:{name}#0", kind, outcome, **more), "tool_output": {}}


def record(effect_id: Any, key: str, kind: dict, outcome: dict, **more: Any) -> dict:
    return {
        "tool_output": None,
        "id": effect_id,
        "key": key,
        "kind": kind,
        "outcome": outcome,
        **more,
    }


def failed(message: str, kind: str = "provider_response") -> dict[str, Any]:
    error = {"kind": kind, "retryable": False, "message": message, "code": None}
    return {"Err": {**error, "http_status": None, "refusal": False, "source_chain": []}}


def log(*records: dict) -> dict[str, Any]:
    return {"header": HEADER, "records": list(records)}


def body(value: Any) -> bytes:
    return json.dumps(value).encode()


def run(run_id: str, *records: dict, times: Any = None, wire: Any = None, **fields: Any) -> bytes:
    """The body of POST /api/v1/runs."""
    sent: dict[str, Any] = {"run": {"id": run_id, **fields}, "log": log(*records)}
    if times is not None:
        sent["times"] = times
    if wire is not None:
        sent["wire"] = wire
    return body(sent)


def batch(*records: dict, positions: list[int] | None = None, **more: Any) -> bytes:
    """The body of POST /api/v1/runs/{id}/effects."""
    sent: dict[str, Any] = {"records": list(records), **more}
    if positions is not None:
        sent["positions"] = positions
    return body(sent)
