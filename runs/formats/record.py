"""What one record of an effect log says that a row, a list or a price needs (any shape, §9)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec
from msgspec import Raw

from rewyn_sdk import facts
from rewyn_sdk.facts import as_list, as_object, as_text
from runs import usage
from runs.formats import jsonbytes, shape, spans, times
from runs.messages.loose import clean, cut_name, one_line
from runs.messages.summary import summarise
from runs.refusals import ItemRefused

MAX_NAME = 200
MAX_TEXT = 300
_SHOWN = MAX_TEXT * 8
OK, ERROR, CANCELLED, OPEN = "ok", "error", "cancelled", "open"


@dataclass(slots=True)
class Facts:
    """The index fields of one record. Texts are fit for a column; the record keeps its own."""

    effect_id: str
    parent_id: str
    scope: str
    family: str
    key: str
    name: str
    response_model: str
    provider: str
    api: str
    status: str
    stream: bool
    finish_reason: str
    times: times.Times
    usage: usage.Usage
    counts: bool
    """Its tokens are its own, and a part of the run's sums."""
    summary: str
    request_size: int
    response_size: int
    asked: str
    """The start of the last text of a person in a model call's request, as it came."""
    answered: str
    """The start of the text a model call answered, as it came."""
    error: str
    shape: int
    doubled_key: str | None


_ANSWERED_BY_MODELS = usage.COUNTING_FAMILIES
_NOBODY = facts.ResponseFacts()


class _Sizes(msgspec.Struct):
    kind: Raw = Raw(b"")
    outcome: Raw = Raw(b"")
    events: Raw = Raw(b"")


_sizes = msgspec.json.Decoder(_Sizes)


def read(raw: bytes, *, max_depth: int = jsonbytes.MAX_DEPTH) -> Facts:
    """The facts of a record; ItemRefused if it is no record that can be kept."""
    if jsonbytes.depth_exceeds(raw, max_depth):
        raise ItemRefused("too_deep", f"The record nests deeper than {max_depth} levels.")
    value = jsonbytes.read(raw)
    if not isinstance(value, dict):
        raise ItemRefused("invalid", "A record must be an object.")
    effect_id = id_text(value.get("id"), "id")
    if not effect_id:
        raise ItemRefused("invalid", "A record needs an `id`.", "id")
    return _facts(raw, value, effect_id)


def _facts(raw: bytes, value: dict[str, Any], effect_id: str) -> Facts:
    kind, outcome = as_object(value.get("kind")), as_object(value.get("outcome"))
    ok = as_object(outcome.get("Ok"))
    effect = as_text(kind.get("effect"))
    family = facts.FAMILIES.get(effect or "", "unknown")
    said = facts.response_facts(outcome) if family in _ANSWERED_BY_MODELS else _NOBODY
    status, failure = _status(outcome, ok)
    is_model = family == "completion"
    request_size, response_size = _lengths(raw)
    told = Facts(
        effect_id=effect_id,
        parent_id=id_text(value.get("parent"), "parent"),
        scope=_name(value.get("scope"), "scope"),
        family=family,
        key=_name(value.get("key"), "key"),
        name=_asked(_asked_for(kind, effect, family, said.model), family),
        response_model=_name(said.response_model, "outcome.Ok.origin.response_model"),
        provider=brief(said.provider, MAX_NAME),
        api=brief(said.api, MAX_NAME),
        status=status,
        stream=is_model and kind.get("stream") is True,
        finish_reason=brief(facts.finish_reason(outcome), 40) if is_model else "",
        times=times.of_record(value) if "started_ms" in value else times.NO_TIMES,
        usage=_usage(outcome, ok, family),
        counts=family in usage.COUNTING_FAMILIES,
        summary=summarise(value),
        request_size=request_size,
        response_size=response_size,
        asked=_last_asked(kind) if is_model else "",
        answered=_text(ok.get("choice")) if is_model else "",
        error=brief(_error(failure, ok), MAX_TEXT) if status in (ERROR, CANCELLED) else "",
        shape=shape.bits_of(raw, value, kind, ok),
        doubled_key=jsonbytes.doubled_key(raw, value),
    )
    span = spans.facts_of(value) if told.counts and "outcome" not in ok else None
    return _with_span(told, span) if span is not None else told


def _with_span(told: Facts, span: spans.SpanFacts) -> Facts:
    """What the record's span says in its own words."""
    told.name, told.provider = _name(span.model, "kind"), brief(span.provider, MAX_NAME)
    told.response_model = _name(span.response_model, "outcome.Ok")
    told.usage, told.counts = (span.usage, True) if span.is_call else (usage.UNKNOWN, False)
    if told.family == "completion":
        told.finish_reason = brief(span.finish_reason, 40)
        told.asked, told.answered = span.asked, span.answered
    return told


def brief(text: str | None, limit: int) -> str:
    """One line of a text, fit for a column."""
    return one_line(text, limit) if text else ""


def id_text(value: Any, field: str) -> str:
    """An effect's id as text, "" for none; numbers keep all their digits."""
    if value is None:
        return ""
    if type(value) is int and value >= 0:
        return _within(str(value), field)
    if isinstance(value, str) and value and clean(value) == value:
        return _within(value, field)
    raise ItemRefused("invalid", "Expected a whole number or a text.", field)


def _within(text: str, field: str) -> str:
    if len(text) > MAX_NAME:
        message = f"{field} has {len(text):,} characters; the limit is {MAX_NAME}."
        raise ItemRefused("too_long", message, field)
    return text


def _name(text: Any, field: str) -> str:
    if text is None:
        return ""
    if not isinstance(text, str):
        raise ItemRefused("invalid", "Expected a text.", field)
    return cut_name(text, MAX_NAME)


def _asked(text: str | None, family: str) -> str:
    """A name; the text of a search is none, and of a long one the start says more than a hash."""
    if text and family == "retrieve" and len(text) > MAX_NAME:
        return one_line(text, MAX_NAME)
    return _name(text, "kind")


def _asked_for(
    kind: dict[str, Any], effect: str | None, family: str, origin_model: str | None
) -> str | None:
    """The model, tool or operation. A model is the one asked for, as the answer's origin says."""
    if family in ("completion", "embed", "rerank"):
        return origin_model or as_text(as_object(kind.get("request")).get("model"))
    if family == "tool":
        return as_text(kind.get("name"))
    if family == "custom":
        return as_text(kind.get("kind"))
    if family == "memory":
        return as_text(as_object(kind.get("op")).get("op"))
    if family == "retrieve":
        return as_text(as_object(kind.get("query")).get("query"))
    return effect


def _usage(outcome: dict[str, Any], ok: dict[str, Any], family: str) -> usage.Usage:
    if family not in usage.COUNTING_FAMILIES:
        return usage.UNKNOWN
    return usage.of_rig(facts.usage(outcome), has_origin="origin" in ok)


def _status(outcome: dict[str, Any], ok: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The effect's status, and the report of what went wrong."""
    if "Ok" not in outcome and "Err" not in outcome:
        return OPEN, {}
    failure = facts.failure(outcome)
    if failure is not None:
        kind = failure.get("kind")
        kind = kind.get("tool") if isinstance(kind, dict) else kind
        return (CANCELLED if kind == "cancelled" else ERROR), failure
    return (ERROR if ok.get("error") else CANCELLED if ok.get("aborted") else OK), {}


def _error(failure: dict[str, Any], ok: dict[str, Any]) -> str:
    words = (failure.get("message"), ok.get("error"), ok.get("aborted"), failure.get("kind"))
    return next((w for w in words if isinstance(w, str) and w), "")


def _last_asked(kind: dict[str, Any]) -> str:
    request = as_object(kind.get("request"))
    for field in ("chat_history", "messages"):
        for message in reversed(as_list(request.get(field))):
            said = as_object(message)
            if said.get("role") == "user" and (text := _text(said.get("content"))):
                return text
    return ""


def _text(content: Any) -> str:
    """The text parts of a message, as far as one line of a list can show them."""
    if isinstance(content, str):
        return content[:_SHOWN]
    parts = [part for part in as_list(content) if isinstance(part, dict)]
    texts = (part.get("text") for part in parts if part.get("type", "text") == "text")
    return " ".join(text[:_SHOWN] for text in texts if isinstance(text, str))[:_SHOWN]


def _lengths(raw: bytes) -> tuple[int, int]:
    try:
        parts = _sizes.decode(raw)
        found = [memoryview(p).nbytes for p in (parts.kind, parts.outcome, parts.events)]
    except msgspec.MsgspecError:
        members = jsonbytes.Document(raw).members()
        found = [len(bytes(members.get(n, Raw(b"")))) for n in ("kind", "outcome", "events")]
    return found[0], found[1] + found[2]
