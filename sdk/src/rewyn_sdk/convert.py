"""Logs of the other shapes, written anew in shape R44.

What R44 has no place for is lost, and what it requires and the log does not say is invented. Both
are told, as warnings with the codes "lost", "invented" and, where the result would still be
refused by Rig, "not_r44".
"""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid5

from rewyn_sdk.encode import rig_json
from rewyn_sdk.errors import DecodeError
from rewyn_sdk.facts import as_list, as_object, call_id, request_history, response_facts, usage
from rewyn_sdk.identity import fingerprint
from rewyn_sdk.log import HEADER_FIELDS, REQUIRED_HEADER_FIELDS, EffectLog, LogWarning
from rewyn_sdk.r44 import RECORD
from rewyn_sdk.record import EffectRecord, to_bytes

_SAME_RUN_SPEC = ("R44", "R45+")
_EMPTY: dict[str, type] = {"handlers": list, "signature": dict, "hooks": list, "required": dict}
_REQUEST = ("model", "temperature", "max_tokens", "tool_choice", "additional_params")
_LISTS = ("documents", "tools")
_RECORD = (
    *("tool_output", "id", "key", "kind", "outcome", "events", "stream_origin"),
    *("parent", "scope"),
)
_LOCAL_IDS = UUID("5f0c2b3e-6a0e-4a54-9b0e-0d4c1c7c2a11")

Json = dict[str, Any]


def to_r44(log: EffectLog) -> EffectLog:
    """The log in shape R44 (a log that has it already comes back with the same values)."""
    return _Converter(log).convert()


class _Converter:
    def __init__(self, log: EffectLog) -> None:
        self.log = log
        self.path = ""
        self.warnings: list[LogWarning] = []
        self.names: dict[str, str] = {}

    def convert(self) -> EffectLog:
        header = self._header(self.log.header)
        records = []
        for index, record in enumerate(self.log.records):
            self.path = f"records[{index}]"
            records.append(self._record(record))
        self._keep_possible_stream_errors(header, records)
        return EffectLog(header, records, "R44", self.log.source, self.warnings, {})

    def _warn(self, code: str, message: str) -> None:
        warning = LogWarning(code, message, self.path)
        if warning not in self.warnings[-8:]:
            self.warnings.append(warning)

    def _lose(self, holder: Json, *names: str) -> None:
        """Take fields out that R44 has no place for; empty ones say nothing and are not told."""
        for name in names:
            if holder.pop(name, None) not in (None, {}, [], ""):
                self._warn("lost", f"`{name}` has no place")

    def _header(self, old: Json) -> Json:
        self.path = "header"
        header = {name: old[name] for name in HEADER_FIELDS if name in old}
        for name in old.keys() - header.keys() - {"format"}:
            self._warn("lost", f"`{name}` has no place")
        for name in REQUIRED_HEADER_FIELDS:
            if name not in header:
                header[name] = _EMPTY[name]()
                self._warn("invented", f"an empty `{name}`")
        if "run_spec" in header and self.log.shape not in _SAME_RUN_SPEC:
            del header["run_spec"]
            self._warn("lost", "`run_spec` follows another rule")
        return header

    def _keep_possible_stream_errors(self, header: Json, records: list[EffectRecord]) -> None:
        """Errors of a stream whose items were lost have no position any more."""
        kept = {str(record.id) for record in records if record.events is not None}
        errors = as_object(header.get("stream_errors"))
        self.path = "header.stream_errors"
        if errors.keys() - kept:
            self._warn("lost", "errors of streams without kept items")
            header["stream_errors"] = {name: errors[name] for name in errors if name in kept}

    def _record(self, record: EffectRecord) -> EffectRecord:
        if self.log.shape == "R44":
            return record
        value = dict(record.value)
        self._lose(value, *[name for name in value if name not in _RECORD])
        if record.tool_output_missing:
            value["tool_output"] = {} if record.family == "tool" else None
            self._warn("invented", "`tool_output`")
        value["kind"] = self._kind(record)
        value["outcome"] = self._outcome(record)
        if "events" in value:
            value["events"] = self._events(as_list(value["events"]))
        return self._written(
            {name: v for name, v in value.items() if v is not None or name in _RECORD[:1]}
        )

    def _written(self, value: Json) -> EffectRecord:
        try:
            value = RECORD(value)
        except DecodeError as error:
            self._warn("not_r44", str(error))
        return EffectRecord(value, to_bytes(rig_json(value)))

    def _kind(self, record: EffectRecord) -> Json:
        kind = dict(record.kind)
        if record.effect == "completion":
            kind["request"] = self._request(as_object(kind.get("request")))
            kind.setdefault("stream", False)
        elif record.effect == "memory":
            kind["op"] = self._with_messages(as_object(kind.get("op")))
        elif record.effect == "retrieve":
            query = dict(as_object(kind.get("query")))
            query["req"] = dict(as_object(query.get("req")))
            self._lose(query["req"], "additional_params")
            kind["query"] = query
        return kind

    def _request(self, old: Json) -> Json:
        request = {**dict.fromkeys(_REQUEST), **{name: [] for name in _LISTS}, **old}
        request = {name: value for name, value in request.items() if name != "messages"}
        request.pop("system", None)
        request["chat_history"] = self._messages(request_history(old))
        return request

    def _with_messages(self, holder: Json) -> Json:
        if "messages" not in holder:
            return holder
        return {**holder, "messages": self._messages(as_list(holder["messages"]))}

    def _messages(self, messages: list[Any]) -> list[Any]:
        return [self._message(as_object(message)) for message in messages]

    def _message(self, old: Json) -> Json:
        message = dict(old)
        if message.get("role") == "assistant":
            self._lose(message, "id")
        if message.get("role") == "system":
            return message
        content = message.get("content")
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
        message["content"] = self._parts(as_list(parts))
        return message

    def _parts(self, parts: list[Any]) -> list[Any]:
        return [self._part(as_object(part)) for part in parts]

    def _part(self, old: Json) -> Json:
        part = dict(old)
        if part.get("type") == "toolcall":
            part["id"] = self._call_id(old)
            self.names[str(call_id(old))] = str(as_object(part.get("function")).get("name"))
        elif part.get("type") == "toolresult":
            part["call"] = self._call_id(old)
            part.setdefault("name", self.names.get(str(call_id(old)), "unknown"))
            part.pop("id", None)
        elif part.get("type") == "reasoning" and not isinstance(part.get("text"), str):
            part["text"] = _reasoning_text(part)
            self._lose(part, "id")
        if part.get("type") in ("toolcall", "toolresult"):
            part.pop("provider", None)
        if part.get("type") not in ("video", "document"):
            self._lose(part, "signature", "additional_params")
        return self._native(part)

    def _native(self, part: Json) -> Json:
        native = as_object(part.get("native"))
        known = part.get("type") in ("text", "reasoning", "toolcall", "image")
        if known and type(native.get("fingerprint")) is int:
            part["native"] = {"item": native.get("item"), "fingerprint": fingerprint(part)}
            self._warn("invented", "the fingerprint of a native item, by the newer rule")
        return part

    def _call_id(self, part: Json) -> Json:
        given = part.get("call", part.get("id"))
        if isinstance(given, dict) and given.keys() & {"provider", "local"}:
            return given
        found = call_id(part)
        made_by_rig = isinstance(given, dict) and given.get("origin") not in (None, "explicit")
        if found and not made_by_rig:
            return {"provider": found}
        self._warn("invented", "the id of a call")
        return {"local": str(uuid5(_LOCAL_IDS, found or ""))}

    def _outcome(self, record: EffectRecord) -> Json:
        if record.error is not None:
            return {"Err": self._report(record.error)}
        ok = dict(record.ok or {})
        match ok.get("outcome"):
            case "completion":
                return {"Ok": self._completion(record, ok)}
            case "memory":
                return {"Ok": self._with_messages(ok)}
            case "reranked":
                return {"Ok": self._reranked(record, ok)}
            case _:
                return {"Ok": ok}

    def _report(self, old: Json) -> Json:
        report = {"code": None, "http_status": None, "refusal": False, "source_chain": [], **old}
        self._lose(report, "headers", "detail")
        if isinstance(report.get("provider_response"), dict):
            report["provider_response"] = dict(report["provider_response"])
            self._lose(report["provider_response"], "headers", "detail")
        return report

    def _completion(self, record: EffectRecord, ok: Json) -> Json:
        end = as_object(ok.get("end"))
        meta = as_object(end.get("meta")) or as_object(ok.get("meta"))
        found = {**meta, **end, **ok}
        for name in ("usage", "raw"):
            if name not in found:
                self._warn("invented", f"`{name}`")
        return {
            "outcome": "completion",
            "choice": self._parts(record.choice),
            "usage": usage(record.outcome) or {},
            "origin": self._origin(record, ok),
            "error": found.get("error"),
            "aborted": found.get("aborted"),
            "provider_request_id": found.get("provider_request_id"),
            "finish_reason": found.get("finish_reason"),
            "raw": found.get("raw"),
        }

    def _origin(self, record: EffectRecord, ok: Json) -> Json:
        if isinstance(ok.get("origin"), dict):
            return as_object(ok["origin"])
        who = response_facts(record.outcome)
        self._warn("invented", "the origin's API name")
        return {
            "api": who.api or "unknown",
            "provider": who.provider or "unknown",
            "model": who.model or "unknown",
            "response_id": who.response_id,
        }

    def _reranked(self, record: EffectRecord, ok: Json) -> Json:
        meta = as_object(ok.pop("meta", None))
        output = ok.pop("output", None)
        results = output if isinstance(output, list) else as_object(output).get("results")
        reranked = {"results": as_list(results), "usage": {}, "provider": "unknown", **meta, **ok}
        return {name: value for name, value in reranked.items() if value is not None}

    def _events(self, events: list[Any]) -> list[Any] | None:
        if any("item" not in as_object(event) for event in events):
            self._warn("lost", "stream items of an older shape")
            return None
        names = {part: name for part, name in map(_called, events) if name}
        items = [self._item(as_object(event), names) for event in events]
        if all(items):
            return items
        self._warn("lost", "stream items that do not name their tool")
        return None

    def _item(self, item: Json, names: dict[Any, str]) -> Json | None:
        event = dict(as_object(item.get("value")))
        if item.get("item") != "event":
            return item
        if event.get("event") == "end":
            event["content"] = self._part(as_object(event.get("content")))
        if event.get("event") == "start" and event.get("kind") == "native":
            event["kind"] = "opaque"
        if event.get("event") == "start" and event.get("kind") == "tool_call":
            if "name" not in event and event.get("part") not in names:
                return None
            event.setdefault("name", names.get(event.get("part")))
        return {"item": "event", "value": event}


def _called(event: Any) -> tuple[Any, str | None]:
    """The part an end event closes, and the tool it calls."""
    value = as_object(as_object(event).get("value"))
    function = as_object(as_object(value.get("content")).get("function"))
    return value.get("part"), function.get("name")


def _reasoning_text(part: Json) -> str:
    """The text of an older reasoning part: a list of texts, or of objects with one."""
    pieces = as_list(part.get("reasoning", part.get("content")))
    texts = [piece if isinstance(piece, str) else as_object(piece).get("text") for piece in pieces]
    return "\n".join(text for text in texts if isinstance(text, str))
