"""What one record of an effect log says that a row, a list or a price needs (any shape, §9)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec
from msgspec import Raw

from rewyn_sdk.facts import as_list, as_object, as_text
from rewyn_sdk.record import EffectRecord
from runs import usage
from runs.formats import jsonbytes, shape, times
from runs.messages.loose import clean, one_line
from runs.messages.summary import summarise
from runs.refusals import ItemRefused

MAX_NAME = 200
MAX_TEXT = 300
OK, ERROR, CANCELLED, OPEN = "ok", "error", "cancelled", "open"
FAMILIES = frozenset({"completion", "tool", "embed", "rerank", "memory", "retrieve", "custom"})


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
    summary: str
    request_size: int
    response_size: int
    asked: str
    """The last text of a person in a model call's request."""
    answered: str
    """The text a model call answered."""
    error: str
    shape: int
    doubled_key: str | None


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
    return _facts(EffectRecord(value, raw))


def _facts(record: EffectRecord) -> Facts:
    value, said = record.value, record.facts
    effect_id = id_text(value.get("id"), "id")
    if not effect_id:
        raise ItemRefused("invalid", "A record needs an `id`.", "id")
    family = record.family if record.family in FAMILIES else "unknown"
    status = _status(record)
    is_model = family == "completion"
    return Facts(
        effect_id=effect_id,
        parent_id=id_text(value.get("parent"), "parent"),
        scope=_name(record.scope, "scope"),
        family=family,
        key=_name(_key(value), "key"),
        name=_name(_asked_for(record, family), "kind"),
        response_model=_name(said.response_model, "outcome.Ok.origin.response_model"),
        provider=one_line(said.provider or "", MAX_NAME),
        api=one_line(said.api or "", MAX_NAME),
        status=status,
        stream=record.streams,
        finish_reason=one_line(record.finish_reason or "", 40),
        times=times.of_record(value),
        usage=usage.of_rig(record.usage, has_origin="origin" in (record.ok or {})),
        summary=summarise(value),
        **_lengths(record.raw),
        asked=_last_asked(record) if is_model else "",
        answered=_answered(record) if is_model else "",
        error=_error(record) if status in (ERROR, CANCELLED) else "",
        shape=shape.bits_of(record),
        doubled_key=jsonbytes.doubled_key(record.raw, value),
    )


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


def _name(text: str | None, field: str) -> str:
    return clean(_within(text, field)) if text else ""


def _key(record: dict[str, Any]) -> str | None:
    key = record.get("key")
    if key is not None and not isinstance(key, str):
        raise ItemRefused("invalid", "Expected a text.", "key")
    return key


def _asked_for(record: EffectRecord, family: str) -> str | None:
    """The model, tool or operation. A model is the one asked for, as the answer's origin says."""
    kind = record.kind
    if family == "completion":
        return record.facts.model or as_text((record.request or {}).get("model"))
    if family in ("embed", "rerank"):
        return record.facts.model
    if family == "memory":
        return as_text(as_object(kind.get("op")).get("op"))
    if family == "retrieve":
        return as_text(as_object(kind.get("query")).get("query"))
    return record.name if family in ("tool", "custom") else record.effect


def _status(record: EffectRecord) -> str:
    outcome = record.outcome
    if "Ok" not in outcome and "Err" not in outcome:
        return OPEN
    failure = record.failure
    if failure is not None:
        kind = failure.get("kind")
        kind = kind.get("tool") if isinstance(kind, dict) else kind
        return CANCELLED if kind == "cancelled" else ERROR
    ok = record.ok or {}
    return ERROR if ok.get("error") else CANCELLED if ok.get("aborted") else OK


def _error(record: EffectRecord) -> str:
    failure, ok = record.failure or {}, record.ok or {}
    words = (failure.get("message"), ok.get("error"), ok.get("aborted"), failure.get("kind"))
    return one_line(next((w for w in words if isinstance(w, str) and w), ""), MAX_TEXT)


def _last_asked(record: EffectRecord) -> str:
    for message in reversed(record.history):
        if as_object(message).get("role") == "user" and (text := _text(message.get("content"))):
            return text
    return ""


def _answered(record: EffectRecord) -> str:
    return _text(record.choice)


def _text(content: Any) -> str:
    """The text parts of a message, as far as one line of a list shows them."""
    if isinstance(content, str):
        return one_line(content, MAX_TEXT)
    parts = map(as_object, as_list(content))
    texts = [part.get("text") for part in parts if part.get("type", "text") == "text"]
    return one_line(" ".join(t[: MAX_TEXT * 8] for t in texts if isinstance(t, str)), MAX_TEXT)


def _lengths(raw: bytes) -> dict[str, int]:
    try:
        parts = _sizes.decode(raw)
        found = [len(memoryview(p)) for p in (parts.kind, parts.outcome, parts.events)]
    except msgspec.MsgspecError:
        members = jsonbytes.Document(raw).members()
        found = [len(bytes(members.get(n, Raw(b"")))) for n in ("kind", "outcome", "events")]
    return {"request_size": found[0], "response_size": found[1] + found[2]}
