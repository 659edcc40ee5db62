"""What the fake provider answers: rules as data, first match wins.

A rules file is ``{"rules": [Rule, …]}`` or the bare list. A rule is

    {"when": {"model": "gpt-*", "contains": "refund", "path": "*/messages", "call": 3,
              "stream": true},
     "times": 2,
     "answer": {"text": "…"} | {"tool": {"name": "…", "arguments": {…}}} | {"tools": [{…}, …]}
             | {"refusal": "…"} | {"error": {"status": 429, "message": "…", "retry_after": 1}}
             | {"drop": true} | {"malformed": "not json"},
     "delay_ms": 0, "chunk_ms": 0}

Every part of ``when`` is optional: ``model`` and ``path`` are globs, ``contains`` is looked for in
the last user message, ``call`` is the number of the call (from 1). ``times`` ends a rule after
that many answers. An answer may also carry ``reasoning``, ``finish_reason``, ``usage``,
``headers``, and for a stream ``drop_after`` or ``error_after`` (events sent before the connection
or the stream breaks). In ``text``, ``{last}``, ``{model}`` and ``{call}`` stand for the last user
text, the model, the number.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any


class BadRules(ValueError):
    """A rules file says something that is no rule; the message names the rule and the key."""


@dataclass(frozen=True)
class ToolCall:
    """A tool the fake model calls; ``arguments`` may be a text that is no JSON, on purpose."""

    name: str
    arguments: Any = field(default_factory=dict)
    id: str | None = None

    def arguments_text(self) -> str:
        """The arguments as the model writes them: compact JSON, or the given text as it stands."""
        if isinstance(self.arguments, str):
            return self.arguments
        return json.dumps(self.arguments, ensure_ascii=False, separators=(",", ":"))


@dataclass(frozen=True)
class Failure:
    """A refusal by status: sent in the error shape of the API that was asked."""

    status: int
    message: str = ""
    type: str | None = None
    code: str | None = None
    param: str | None = None
    retry_after: str | None = None


@dataclass(frozen=True)
class Reply:
    """One answer, in no API's words; ``wire`` spells it for the API that was asked."""

    text: str | None = None
    calls: tuple[ToolCall, ...] = ()
    refusal: str | None = None
    reasoning: str | None = None
    finish_reason: str | None = None
    failure: Failure | None = None
    malformed: str | None = None
    drop: bool = False
    drop_after: int | None = None
    error_after: int | None = None
    usage: Mapping[str, int] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    delay_ms: float = 0
    chunk_ms: float = 0


@dataclass(frozen=True)
class When:
    """What a rule looks at; ``None`` matches everything."""

    model: str | None = None
    contains: str | None = None
    path: str | None = None
    call: int | None = None
    stream: bool | None = None

    def matches(self, *, model: str, last: str, path: str, call: int, stream: bool) -> bool:
        return (
            (self.model is None or fnmatchcase(model, self.model))
            and (self.contains is None or self.contains in last)
            and (self.path is None or fnmatchcase(path, self.path))
            and (self.call is None or self.call == call)
            and (self.stream is None or self.stream == stream)
        )


@dataclass(frozen=True)
class Rule:
    when: When
    reply: Reply
    times: int | None = None


def load_rules(path: Path) -> tuple[Rule, ...]:
    """The rules of a JSON file. Raises ``BadRules`` for no rules, ``OSError`` for no file."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise BadRules(f"{path} is no JSON: {error}") from error
    return parse_rules(data.get("rules", []) if isinstance(data, dict) else data)


def parse_rules(rules: Iterable[Rule | Mapping[str, Any]]) -> tuple[Rule, ...]:
    """Rules from their JSON form; a ``Rule`` stays as it is. Raises ``BadRules``."""
    if isinstance(rules, str | bytes | Mapping):
        raise BadRules('rules must be a list, or {"rules": [...]}')
    return tuple(
        rule if isinstance(rule, Rule) else _rule(rule, f"rules[{index}]")
        for index, rule in enumerate(rules)
    )


def _rule(data: Mapping[str, Any], where: str) -> Rule:
    _only(data, {"when", "answer", "times", "delay_ms", "chunk_ms"}, where)
    when = data.get("when", {})
    _only(when, set(When.__dataclass_fields__), f"{where}.when")
    if "answer" not in data:
        raise BadRules(f"{where} has no answer")
    reply = _reply(data["answer"], f"{where}.answer")
    paced = replace(reply, delay_ms=data.get("delay_ms", 0), chunk_ms=data.get("chunk_ms", 0))
    return Rule(When(**when), paced, data.get("times"))


_PLAIN = (
    *("text", "refusal", "reasoning", "finish_reason", "drop", "drop_after", "error_after"),
    *("usage", "headers"),
)


def _reply(data: Mapping[str, Any], where: str) -> Reply:
    _only(data, {*_PLAIN, "tool", "tools", "error", "malformed"}, where)
    tools = [data["tool"]] if "tool" in data else data.get("tools", [])
    failure = data.get("error")
    malformed = data.get("malformed")
    return Reply(
        calls=_calls(tools, where),
        failure=_failure(failure, f"{where}.error") if failure is not None else None,
        malformed='{"cut": "here' if malformed is True else malformed,
        **{key: data[key] for key in _PLAIN if key in data},
    )


def _calls(tools: Sequence[Mapping[str, Any]], where: str) -> tuple[ToolCall, ...]:
    for tool in tools:
        _only(tool, set(ToolCall.__dataclass_fields__), f"{where}.tool")
        if "name" not in tool:
            raise BadRules(f"{where}.tool has no name")
    return tuple(ToolCall(**tool) for tool in tools)


def _failure(data: Mapping[str, Any], where: str) -> Failure:
    _only(data, set(Failure.__dataclass_fields__), where)
    if not isinstance(data.get("status"), int):
        raise BadRules(f"{where}.status must be a number")
    retry = data.get("retry_after")
    return Failure(**{**data, "retry_after": None if retry is None else str(retry)})


def _only(data: object, known: set[str], where: str) -> None:
    if not isinstance(data, Mapping):
        raise BadRules(f"{where} must be an object")
    unknown = sorted(set(data) - known)
    if unknown:
        raise BadRules(f"{where} has no key {unknown[0]!r}; it takes {', '.join(sorted(known))}")
