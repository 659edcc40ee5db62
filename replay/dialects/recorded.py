"""A recorded outcome of a completion as an ``Answer``, spelled like a new answer.

Fields are those of the effect log format §2.3 and, for the shapes before 0.44, §9.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from replay.dialects.answer import Answer, AnswerCall, BadAnswer, settled_finish, usage_parts
from replay.dialects.answers import call_of, messages_usage, read_answer, shape_of
from replay.dialects.loose import compact_json, count, mapping, maybe_text, text
from replay.dialects.prompt import MESSAGES
from replay.dialects.rig import arguments_of, call_id


def read_outcome(outcome: object) -> Answer | None:
    """The answer of a record's ``outcome``; ``None`` for a failure or an effect of another family.

    A refusal, which a log keeps as text, is told apart by the provider's own document beside it.
    """
    ok = mapping(mapping(outcome).get("Ok"))
    if ok.get("outcome", "completion") != "completion" or not isinstance(ok.get("choice"), list):
        return None
    meta = {**ok, **mapping(mapping(ok.get("end")).get("meta")), **_origin(ok)}
    parts = [mapping(part) for part in ok["choice"]]
    said = "".join(text(part.get("text")) for part in parts if _kind(part) == "text")
    calls = tuple(_call(part) for part in parts if _kind(part) in ("toolcall", "tool_call"))
    raw = _whole(meta.get("raw"))
    refusal = raw.refusal if raw else None
    return Answer(
        text="" if refusal is not None and refusal == said else said,
        calls=calls,
        reasoning="\n".join(_reasoning(part) for part in parts if _kind(part) == "reasoning"),
        refusal=refusal,
        finish_reason=settled_finish(_finish(meta.get("finish_reason")), calls),
        usage=_usage(meta),
        model=maybe_text(meta.get("response_model")) or maybe_text(meta.get("model")),
        response_id=maybe_text(meta.get("response_id")),
        raw=meta.get("raw"),
    )


def recorded_api(outcome: object) -> str | None:
    """The API that a recorded answer's origin names, ``None`` where it names none."""
    ok = mapping(mapping(outcome).get("Ok"))
    return maybe_text(mapping(ok.get("origin")).get("api"))


def _origin(ok: Mapping[str, Any]) -> Mapping[str, Any]:
    return mapping(ok.get("origin"))


def _kind(part: Mapping[str, Any]) -> str:
    return text(part.get("type")) or ("toolcall" if "function" in part else "text")


def _call(part: Mapping[str, Any]) -> AnswerCall:
    function = mapping(part.get("function"))
    arguments, invalid = arguments_of(function)
    written = _own_text(part) or compact_json(arguments)
    return call_of(function.get("name"), call_id(part, "id"), invalid or written)


def _own_text(part: Mapping[str, Any]) -> str | None:
    """The argument text as the provider's own object has it: its spaces and its key order."""
    item = mapping(mapping(part.get("native")).get("item"))
    return maybe_text(item.get("arguments")) or maybe_text(
        mapping(item.get("function")).get("arguments")
    )


def _reasoning(part: Mapping[str, Any]) -> str:
    said = part.get("text", part.get("reasoning"))
    return "\n".join(map(text, said)) if isinstance(said, list) else text(said)


def _finish(reason: object) -> str | None:
    other = mapping(reason).get("other")
    return maybe_text(reason) or maybe_text(other)


def _whole(raw: object) -> Answer | None:
    try:
        return read_answer(raw)
    except BadAnswer:
        return None


def _usage(meta: Mapping[str, Any]) -> dict[str, int | None]:
    usage = mapping(meta.get("usage"))
    found = usage_parts(
        input=count(usage.get("input_tokens")),
        output=count(usage.get("output_tokens")),
        cache_read=count(usage.get("cached_input_tokens")),
        cache_write=count(usage.get("cache_creation_input_tokens")),
        reasoning=count(usage.get("reasoning_tokens")),
    )
    raw = mapping(meta.get("raw"))
    own = mapping(raw.get("usage"))
    if shape_of(raw) == MESSAGES and found["input"] is not None and own.get("input_tokens"):
        # Logs before 0.44 hold this API's bare count, without the cached tokens.
        found["input"] = messages_usage(own)["input"]
    return found
