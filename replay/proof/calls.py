"""Tool calls: asked as the model said, and their results told to the model as recorded."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

from replay.proof.ledger import Ledger
from replay.proof.reading import Line, plain
from rewyn_sdk.canonical import canonical_json
from rewyn_sdk.facts import as_list, as_object, as_text, call_id, is_failed_result

STATES_FAILURE = frozenset({"R44", "R44d", "R45+"})
"""Shapes in which a failed result says `is_error`."""


@dataclass(slots=True, eq=False)
class Call:
    """A call in a model's answer, and the tool record that served it (None: nobody did)."""

    line: Line
    path: str
    name: str
    arguments: Any
    text: str
    served: Line | None = None


@dataclass(slots=True)
class Calls:
    ledger: Ledger
    shape: str
    _tools: frozenset[str] = field(init=False)
    _open: dict[tuple[Any, ...], list[Call]] = field(default_factory=lambda: defaultdict(list))
    _latest: dict[tuple[Any, ...], list[Call]] = field(default_factory=dict)
    _ids: dict[tuple[str, str], list[Call]] = field(default_factory=lambda: defaultdict(list))

    def __post_init__(self) -> None:
        handlers = as_list(self.ledger.header.get("handlers"))
        families = [as_object(as_object(handler).get("family")) for handler in handlers]
        names = (as_text(f.get("name")) for f in families if f.get("family") == "tool")
        self._tools = frozenset(name for name in names if name)

    def asked(self, line: Line) -> None:
        """Learn the calls of a completion's answer."""
        calls = []
        for index, part in enumerate(as_list(line.ok.get("choice"))):
            if as_object(part).get("type") == "toolcall":
                calls.append(self._learn(line, index, part))
        if calls:
            self._open[line.circle] += calls
            self._latest[line.circle] = calls

    def _learn(self, line: Line, index: int, part: Any) -> Call:
        function = as_object(as_object(part).get("function"))
        arguments = function.get("arguments")
        call = Call(
            line,
            f"/outcome/Ok/choice/{index}/function/arguments",
            as_text(function.get("name")) or "",
            arguments,
            canonical_json(arguments),
        )
        name = call_id(part)
        if name is not None:
            self._ids[line.scope, name].append(call)
        return call

    def served(self, line: Line) -> None:
        """Tie a tool's record to the call it serves.

        Equal name and arguments first, in order. Failing that, a call of the same tool in the
        latest answer: then the arguments were changed on their way.
        """
        name, arguments = as_text(line.kind.get("name")) or "", _arguments(line)
        waiting = self._open.get(line.circle, [])
        latest = [call for call in self._latest.get(line.circle, []) if call in waiting]
        text = canonical_json(arguments)
        equal = (c for c in (*latest, *waiting) if c.name == name and c.text == text)
        call = next(equal, None)
        if call is None:
            call = next((c for c in latest if c.name == name), None)
            if call is None:
                return
            recorded, at = call.line.place(call.path), line.place("/kind/args")
            self.ledger.compare("the arguments", recorded, call.arguments, at, arguments)
        call.served = line
        waiting.remove(call)

    def told(self, line: Line, path: str, message: Any) -> None:
        """Check the tool results in a message of a later request."""
        for index, part in enumerate(as_list(as_object(message).get("content"))):
            name = call_id(part) if as_object(part).get("type") == "toolresult" else None
            calls = self._ids.get((line.scope, name), []) if name else []
            if calls:
                self._answered(calls[-1])
                self._hold(calls[-1], line, f"{path}/content/{index}", as_object(part))

    def _answered(self, call: Call) -> None:
        """A call that has its result and no record never gets one: it was denied or refused."""
        waiting = self._open.get(call.line.circle, [])
        if call.served is None and call in waiting:
            waiting.remove(call)

    def _hold(self, call: Call, line: Line, path: str, part: dict[str, Any]) -> None:
        found = plain(as_list(part.get("content")))
        tool = self._twin(call, found) or call.served
        if tool is None:
            self._miss(call, line, path, part)
            return
        pointer, expected = _model_saw(tool)
        if expected is None:
            return
        at = line.place(f"{path}/content")
        equal = self.ledger.compare("the result", tool.place(pointer), expected, at, found)
        if equal:
            self._hold_failure(tool, line, path, part)

    def _miss(self, call: Call, line: Line, path: str, part: dict[str, Any]) -> None:
        """A result of a tool that is on the bus came from somewhere: from its record, unless the
        call was denied, skipped or refused, which says `is_error`."""
        if call.name in self._tools and self.shape in STATES_FAILURE and not is_failed_result(part):
            self.ledger.lacks(
                f"the call of {call.name} by #{call.line.seq} has a result and no record",
                call.line.place(call.path.removesuffix("/function/arguments")),
                line.place(path),
            )

    def _hold_failure(self, tool: Line, line: Line, path: str, part: dict[str, Any]) -> None:
        failed = as_object(tool.ok.get("result")).get("status") in ("error", "refused")
        told = is_failed_result(part)
        if (told and not failed) or (failed and not told and self.shape in STATES_FAILURE):
            self.ledger.compare(
                "the success",
                tool.place("/outcome/Ok/result/status"),
                "error" if failed else "success",
                line.place(f"{path}/is_error"),
                "error" if told else "success",
            )

    def _twin(self, call: Call, found: list[Any]) -> Line | None:
        """The record of an equal call of the same answer that gave exactly this result."""
        for other in self._ids_of(call):
            if other.served is not None and _model_saw(other.served)[1] == found:
                return other.served
        return None

    def _ids_of(self, call: Call) -> list[Call]:
        same = [c for c in self._latest.get(call.line.circle, []) if c.line is call.line]
        return [c for c in same if (c.name, c.text) == (call.name, call.text)]


def _arguments(line: Line) -> Any:
    text = line.kind.get("args")
    if not isinstance(text, str):
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text


def _model_saw(tool: Line) -> tuple[str, Any]:
    """Where a tool's record holds what the model was to see, and that; None where it does not."""
    result = as_object(tool.ok.get("result"))
    value = result.get("value")
    if isinstance(value, list):
        return "/outcome/Ok/result/value", plain(value)
    if isinstance(value, dict) and isinstance(value.get("model_output"), list):
        return "/outcome/Ok/result/value/model_output", plain(value["model_output"])
    return "", None
