"""The answer when no rule says otherwise: fixed by the model's name and the last message.

Two models answer one question differently, so that a comparison has something to show; the same
model answers it the same way every time. Some names have a meaning of their own: ``echo-*`` says
the last text back, ``fixed-*`` always says one sentence, ``tool-*`` calls the first tool offered,
``refuse-*`` refuses, ``think-*`` shows its reasoning, ``error-<status>`` fails with that status.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Any

from replay.fake_provider.prompts import last_is_result, last_text, offered_tools
from replay.fake_provider.rules import Failure, Reply, ToolCall

FIXED = "This answer is fixed."
REFUSAL = "I can't help with that request."

_OPENINGS = (
    "In short: ",
    "Here is what I found. ",
    "Thank you for asking. ",
    "Let me be precise: ",
    "As far as I can tell, ",
)
_CLOSINGS = ("", " Anything else?", " Please check it.", " That is all I know.")


def default_reply(model: str, body: Mapping[str, Any]) -> Reply:
    """The reply of ``model`` to a request body of any of the APIs."""
    last = last_text(body)
    kind, _, rest = model.partition("-")
    if kind == "error" and rest.isdigit():
        return Reply(failure=Failure(status=int(rest)))
    if kind == "refuse":
        return Reply(refusal=REFUSAL)
    if kind == "fixed":
        return Reply(text=FIXED)
    if kind == "echo":
        return Reply(text=last or FIXED)
    if kind == "tool" and offered_tools(body) and not last_is_result(body):
        return Reply(calls=(_first_call(body, last),))
    reasoning = f"They want to know about: {_topic(last)}." if kind == "think" else None
    return Reply(text=_sentence(model, last), reasoning=reasoning)


def _sentence(model: str, last: str) -> str:
    digest = hashlib.sha256(model.encode("utf-8", "replace")).digest()
    opening = _OPENINGS[digest[0] % len(_OPENINGS)]
    closing = _CLOSINGS[digest[1] % len(_CLOSINGS)]
    return f"{opening}{model} read “{_topic(last)}”.{closing}"


def _topic(text: str) -> str:
    words = re.sub(r"\s+", " ", text).strip()
    return words if len(words) <= 80 else f"{words[:79]}…"


def _first_call(body: Mapping[str, Any], last: str) -> ToolCall:
    name, schema = offered_tools(body)[0]
    return ToolCall(name, _sample(schema, last))


def _sample(schema: Any, last: str) -> Any:
    """A value that fits ``schema``: required members only, the last text where a text is wanted."""
    schema = schema if isinstance(schema, dict) else {}
    if schema.get("enum"):
        return schema["enum"][0]
    kind = schema.get("type", "object")
    kind = kind[0] if isinstance(kind, list) and kind else kind
    if kind == "object":
        members = schema.get("properties", {})
        wanted = schema.get("required") or list(members)[:1]
        return {key: _sample(members.get(key), last) for key in wanted if key in members}
    samples = {"array": [], "integer": schema.get("minimum", 1), "number": 1.5, "boolean": True}
    return samples.get(kind, _topic(last))
