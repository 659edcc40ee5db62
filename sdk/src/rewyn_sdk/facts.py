"""What a record says, whatever its shape: reading rules shared by D0, F1, R43, R44 and R45+.

All take decoded JSON, never raise on odd types, and answer None where the log does not say.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]

FAMILIES = {
    "completion": "completion",
    "tool_call": "tool",
    "embed": "embed",
    "rerank": "rerank",
    "memory": "memory",
    "retrieve": "retrieve",
    "custom": "custom",
}


@dataclass(frozen=True, slots=True)
class ResponseFacts:
    """Who answered a completion. `model` is the one asked for, `response_model` who answered."""

    api: str | None = None
    provider: str | None = None
    model: str | None = None
    response_model: str | None = None
    response_id: str | None = None
    provider_request_id: str | None = None


def as_object(value: Any) -> Json:
    """The value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    """The value if it is an array, else an empty one."""
    return value if isinstance(value, list) else []


def as_text(value: Any) -> str | None:
    """The value if it is a string, else None."""
    return value if isinstance(value, str) else None


def request_history(request: Any) -> list[Any]:
    """The messages of a completion request; a later F1 keeps its system text beside them."""
    request = as_object(request)
    if "chat_history" in request:
        return as_list(request["chat_history"])
    messages = as_list(request.get("messages"))
    system = request.get("system")
    return messages if system is None else [{"role": "system", "content": system}, *messages]


def response_facts(outcome: Any) -> ResponseFacts:
    """Who answered, from `origin`, else the older flat fields, else F1's `end.meta`."""
    ok = as_object(as_object(outcome).get("Ok"))
    origin = as_object(ok.get("origin"))
    meta = as_object(as_object(ok.get("end")).get("meta"))
    flat = {**as_object(ok.get("meta")), **meta, **{k: v for k, v in ok.items() if v is not None}}
    source = origin or as_object(ok.get("response")) or flat
    return ResponseFacts(
        api=as_text(source.get("api")),
        provider=as_text(source.get("provider")),
        model=as_text(source.get("model")),
        response_model=as_text(source.get("response_model")),
        response_id=as_text(source.get("response_id")) or as_text(source.get("message_id")),
        provider_request_id=as_text(
            flat.get("provider_request_id", source.get("provider_request_id"))
        ),
    )


def usage(outcome: Any) -> Json | None:
    """The usage as recorded (absent counters were not reported), None if there is none."""
    ok = as_object(as_object(outcome).get("Ok"))
    meta = as_object(as_object(ok.get("end")).get("meta")) or as_object(ok.get("meta"))
    for holder in (ok, as_object(ok.get("response")), meta):
        if isinstance(holder.get("usage"), dict):
            return as_object(holder["usage"])
    return None


def finish_reason(outcome: Any) -> str | None:
    """The finish reason as one word; `{"other": text}` gives the text."""
    ok = as_object(as_object(outcome).get("Ok"))
    reason = ok.get("finish_reason", as_object(ok.get("end")).get("finish_reason"))
    if isinstance(reason, dict):
        return as_text(reason.get("other"))
    return as_text(reason)


def call_id(part: Any) -> str | None:
    """The id of a tool call or of the result part that answers it, to show and to match.

    Both carry the same value in any one log. Takes the part itself.
    """
    part = as_object(part)
    identity = part.get("call", part.get("id"))
    if isinstance(identity, dict):
        found = identity.get("provider", identity.get("local", identity.get("id")))
    else:
        found = identity
    if isinstance(found, str):
        return found
    return as_text(as_object(part.get("provider")).get("call_id"))


def is_failed_result(part: Any) -> bool:
    """Whether a `toolresult` part says that its tool failed. Older shapes never say so."""
    return as_object(part).get("is_error") is True


def tool_status(outcome: Any) -> str | None:
    """success, error, refused or skipped, as the tool left it; None if no tool answered."""
    result = as_object(as_object(as_object(outcome).get("Ok")).get("result"))
    return as_text(result.get("status"))


def failure(outcome: Any) -> Json | None:
    """The ErrorReport of an `Err`, else the ToolError of a tool that did not succeed, else None.

    A skipped tool, or one of an unknown status, gives `{"kind": status}`.
    """
    outcome = as_object(outcome)
    if "Err" in outcome:
        error = outcome["Err"]
        return error if isinstance(error, dict) else {"message": str(error)}
    status = tool_status(outcome)
    if status in (None, "success"):
        return None
    value = as_object(as_object(outcome["Ok"])["result"]).get("value")
    return value if isinstance(value, dict) else {"kind": status}
