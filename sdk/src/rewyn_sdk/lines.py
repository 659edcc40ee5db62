"""JSON Lines: header lines merged, continuation lines restored to whole records (§3)."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from rewyn_sdk.encode import rig_json
from rewyn_sdk.facts import FAMILIES, as_list, as_object
from rewyn_sdk.jsontext import Scanner
from rewyn_sdk.record import EffectRecord

_CHAIN = 4
_TOOLS = 64
_CONTINUATION = {"id", "after", "keep", "then", "same_tools", "record"}


class LineReader:
    """Reads the lines behind one another; `header` and `records` hold what they add up to."""

    def __init__(self, scanner: Scanner) -> None:
        self.scanner = scanner
        self.header: dict[str, Any] = {}
        self.records: list[EffectRecord] = []
        self.notes: list[tuple[str, str, str]] = []
        self._chains: dict[tuple[Any, Any], OrderedDict[Any, dict[str, Any]]] = {}
        self._tools: OrderedDict[Any, dict[str, Any]] = OrderedDict()
        self._place = 0

    def read(self, place: int) -> None:
        """Take every line from `place` on; DecodeError with the line that cannot be taken."""
        while place < len(self.scanner.text):
            self._place = place
            value, end = self.scanner.value(place)
            self._take(value, self.scanner.text[place:end])
            place = self.scanner.skip(end)
            if place < len(self.scanner.text) and "\n" not in self.scanner.text[end:place]:
                self.scanner.fail("trailing characters", place)

    def _take(self, value: Any, text: str) -> None:
        path = f"records[{len(self.records)}]"
        if not isinstance(value, dict):
            self._fail("a line must be an object")
        if "header" in value and value.keys() <= {"header"}:
            path = "header"
            self._merge(value["header"])
        elif "record" in value and "after" in value:
            whole = self._restore(value)
            self._add(EffectRecord.of(whole, rig_json(whole), text))
        elif "kind" in value or "outcome" in value:
            self._add(EffectRecord.of(value, text))
        else:
            self._fail("not an effect log: neither a header, a record nor a continuation")
        self.notes += [(code, message, path) for code, message in self.scanner.notes]
        self.scanner.notes.clear()

    def _fail(self, message: str) -> Any:
        self.scanner.fail(message, self._place)

    def _merge(self, new: Any) -> None:
        if not isinstance(new, dict):
            self._fail("the header must be an object")
        for field, value in new.items():
            merge = _MERGES.get(field)
            if merge is None:
                self.header[field] = value
            elif isinstance(value, type(self.header.get(field, value))):
                self.header[field] = merge(self.header.get(field), value)
            else:
                self._fail(f"header.{field} changes its type")

    def _add(self, record: EffectRecord) -> None:
        self.records.append(record)
        if record.effect == "completion":
            chain = self._chains.setdefault((record.key, record.scope), OrderedDict())
            _remember(chain, record, _CHAIN)
        elif FAMILIES.get(record.effect or "") == "tool":
            _remember(self._tools, record, _TOOLS)

    def _completion(self, effect_id: Any) -> dict[str, Any]:
        for chain in self._chains.values():
            if effect_id in chain:
                return chain[effect_id]
        return as_object(self._fail(f"effect:{effect_id} is no completion a line may refer to"))

    def _restore(self, line: dict[str, Any]) -> dict[str, Any]:
        unknown = sorted(line.keys() - _CONTINUATION)
        if unknown:
            self._fail(f"unknown field `{unknown[0]}`")
        base = as_object(as_object(self._completion(line["after"])["kind"]).get("request"))
        record = as_object(line["record"])
        kind = as_object(record.get("kind"))
        request = dict(as_object(kind.get("request")))
        request["chat_history"] = self._history(line, base, as_list(request.get("chat_history")))
        if line.get("same_tools") is True:
            request["tools"] = base.get("tools", [])
        return {"id": line.get("id"), **record, "kind": {**kind, "request": request}}

    def _history(self, line: dict[str, Any], base: dict[str, Any], held: list[Any]) -> list[Any]:
        messages = as_list(base.get("chat_history"))
        history = self._slice(messages, 0, line.get("keep"))
        waiting = iter(held)
        pieces = line.get("then", [{"new": len(held)}])
        for piece in as_list(pieces):
            history += self._piece(as_object(piece), messages, waiting)
        if next(waiting, None) is not None:
            self._fail("held messages are left over")
        return history

    def _piece(self, piece: dict[str, Any], base: list[Any], held: Any) -> list[Any]:
        if len(piece) != 1:
            self._fail("a piece must have one key")
        [(word, value)] = piece.items()
        if word == "base" and isinstance(value, list) and len(value) == 2:
            return self._slice(base, *value)
        if word == "new" and type(value) is int:
            return [self._next(held) for _ in range(value)]
        if word == "reply":
            return [self._reply(value, self._next(held))]
        if word == "results" and isinstance(value, list):
            return [self._results(value, self._next(held))]
        return as_list(self._fail(f"unknown piece `{word}`"))

    def _slice(self, messages: list[Any], start: Any, end: Any) -> list[Any]:
        whole = type(start) is int and type(end) is int
        if not whole or not 0 <= start <= end <= len(messages):
            self._fail(f"no messages {start}..{end} in a history of {len(messages)}")
        return messages[start:end]

    def _next(self, held: Any) -> dict[str, Any]:
        message = next(held, None)
        if not isinstance(message, dict):
            self._fail("too few held messages")
        return as_object(message)

    def _reply(self, effect_id: Any, held: dict[str, Any]) -> dict[str, Any]:
        ok = as_object(as_object(self._completion(effect_id).get("outcome")).get("Ok"))
        filled = {"content": ok.get("choice", [])}
        if ok.get("origin") is not None:
            filled["origin"] = ok["origin"]
        rest = {name: value for name, value in held.items() if name != "role"}
        return {"role": held.get("role"), **filled, **rest}

    def _results(self, ids: list[Any], held: dict[str, Any]) -> dict[str, Any]:
        waiting = iter(ids)
        parts = [self._result(part, waiting) for part in as_list(held.get("content"))]
        if next(waiting, None) is not None:
            self._fail("more results than parts to hold them")
        return {**held, "content": parts}

    def _result(self, part: Any, ids: Any) -> Any:
        if as_object(part).get("type") != "toolresult" or "content" in part:
            return part
        effect_id = next(ids, None)
        if effect_id not in self._tools:
            self._fail(f"effect:{effect_id} is no tool call a line may refer to")
        ok = as_object(as_object(self._tools[effect_id].get("outcome")).get("Ok"))
        content = as_object(ok.get("result")).get("value")
        rest = {name: value for name, value in part.items() if name != "is_error"}
        failed = {"is_error": part["is_error"]} if "is_error" in part else {}
        return {**rest, "content": content, **failed}


def _remember(chain: OrderedDict[Any, dict[str, Any]], record: EffectRecord, bound: int) -> None:
    chain[record.id] = record.value
    chain.move_to_end(record.id)
    if len(chain) > bound:
        chain.popitem(last=False)


def _merge_handlers(old: list[Any] | None, new: list[Any]) -> list[Any]:
    merged = {as_object(entry).get("key"): entry for entry in [*(old or []), *new]}
    return list(merged.values())


def _keep_first(old: dict[str, Any] | None, new: dict[str, Any]) -> dict[str, Any]:
    return {**new, **(old or {})}


def _keep_last(old: dict[str, Any] | None, new: dict[str, Any]) -> dict[str, Any]:
    return {**(old or {}), **new}


_MERGES: dict[str, Any] = {
    "handlers": _merge_handlers,
    "signature": _keep_first,
    "required": _keep_first,
    "programs": _keep_last,
    "stream_errors": _keep_last,
    "deliveries": lambda old, new: [*(old or []), *new],
    "delivery_limitations": lambda old, new: list(dict.fromkeys([*(old or []), *new])),
    "hooks": lambda old, new: new or old or [],
}
