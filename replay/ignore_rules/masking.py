"""Answers and values without what ignore rules cover, and what that was. Pure.

A place that a rule names goes from both sides, whether it is there or not; what a pattern matches
becomes one mark on both. Linear in the size of the value and, for each rule, in the steps of its
path: a rule is a set of steps that are due, carried along while the value is walked.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from replay.dialects.answer import Answer, AnswerCall
from replay.dialects.loose import compact_json, is_deep, parsed
from replay.ignore_rules.rule import ANY, ONE, Rule
from rewyn_sdk.exact import exact_json

MARK = "‹ignored›"
"""No letter stands at its edge, so that it joins no word or number to a fact."""
MOST_TEXT = 200_000
"""Characters of a text that patterns are looked for in; a longer one is compared as it is."""
MOST_DEPTH = 100
FENCED = re.compile(r"```(\w*)[ \t]*\n(.*)\n```", re.S)
"""A text that is one fenced block, as many models put JSON."""
Taken = dict[str, list[tuple[str, str]]]
"""Of each rule: where it took something, and what."""
_Due = list[tuple[Rule, frozenset[int]]]
_GONE = object()


@dataclass(frozen=True, slots=True)
class Without:
    """What is left of an answer, and what rules took."""

    answer: Answer
    taken: Taken


def without(answer: Answer, rules: Sequence[Rule]) -> Without:
    """An answer as rules leave it. Names of tools are never touched."""
    walk = _Walk()
    everywhere = _start(rule for rule in rules if not rule.tool)
    finish = _start(rule for rule in rules if not rule.tool and rule.steps)
    left = replace(
        answer,
        text=walk.text(answer.text, _next(everywhere, "text"), "/text") or "",
        refusal=walk.text(answer.refusal, _next(everywhere, "refusal"), "/refusal"),
        finish_reason=walk.text(
            answer.finish_reason, _next(finish, "finish_reason"), "/finish_reason"
        ),
        calls=tuple(_calls(walk, answer.calls, rules)),
    )
    return Without(left, walk.taken)


def value_without(
    value: Any, rules: Sequence[Rule], at: Sequence[str], tool: str = ""
) -> tuple[Any, Taken]:
    """A value that stands at a place of the compared document; `tool` is whose it is."""
    walk, due = _Walk(), _start(rule for rule in rules if rule.tool in ("", tool))
    for step in at:
        due = _next(due, step)
    place = "/" + "/".join(at)
    if isinstance(value, str):
        return walk.text(value, due, place), walk.taken
    left = walk.value(value, due, place)
    return (None if left is _GONE else left), walk.taken


def explaining(before: Taken, after: Taken) -> tuple[str, ...]:
    """The rules that took one thing on one side and another on the other, in their order."""
    names = [name for name in {**before, **after} if before.get(name) != after.get(name)]
    return tuple(names)


def _calls(walk: _Walk, calls: Sequence[AnswerCall], rules: Sequence[Rule]) -> Iterable[AnswerCall]:
    for place, call in enumerate(calls):
        due = _start(rule for rule in rules if rule.tool in ("", call.name))
        due = _next(_next(due, "calls"), str(place))
        at = f"/calls/{place}"
        asked = call.arguments_text if call.arguments is None else call.arguments
        if walk.takes([call.name, asked], due, at):
            continue
        left = walk.value(asked, _next(due, "arguments"), f"{at}/arguments")
        if left is _GONE:
            yield AnswerCall(call.id, call.name, {}, "{}")
        elif call.arguments is None:
            yield AnswerCall(call.id, call.name, None, left)
        else:
            yield AnswerCall(call.id, call.name, left, call.arguments_text)


class _Walk:
    """Goes through values and keeps what rules took out of them."""

    def __init__(self) -> None:
        self.taken: Taken = {}

    def text(self, text: str | None, due: _Due, at: str) -> str | None:
        """What is left of a text, None where all of it is taken; one that is JSON is gone into, and
        written anew where something was taken."""
        if text is None or not due:
            return text
        fence = FENCED.fullmatch(text.strip())
        is_json, value = read_json(fence[2] if fence else text)
        before = sum(map(len, self.taken.values()))
        left = self.value(value if is_json else text, due, at)
        if left is _GONE:
            return None
        if not is_json:
            return str(left)
        if sum(map(len, self.taken.values())) == before:
            return text
        written = compact_json(left)
        return f"```{fence[1]}\n{written}\n```" if fence else written

    def takes(self, value: Any, due: _Due, at: str) -> bool:
        """Whether a rule takes all of it."""
        for rule, places in due:
            if rule.pattern is None and len(rule.steps) in places:
                self._note(rule, at, exact_json(value))
                return True
        return False

    def value(self, value: Any, due: _Due, at: str, depth: int = 0) -> Any:
        """What is left of a value; `_GONE` where a rule takes all of it."""
        if not due or depth > MOST_DEPTH:
            return value
        if self.takes(value, due, at):
            return _GONE
        if isinstance(value, dict):
            inside = [(name, self._below(value[name], due, at, name, depth)) for name in value]
            return {name: left for name, left in inside if left is not _GONE}
        if isinstance(value, list):
            items = [self._below(v, due, at, str(n), depth) for n, v in enumerate(value)]
            return [left for left in items if left is not _GONE]
        return self._masked(value, due, at) if isinstance(value, str) else value

    def _below(self, value: Any, due: _Due, at: str, step: str, depth: int) -> Any:
        return self.value(value, _next(due, step), f"{at}/{step}", depth + 1)

    def _masked(self, text: str, due: _Due, at: str) -> str:
        if len(text) > MOST_TEXT:
            return text
        for rule, places in due:
            if rule.pattern is not None and len(rule.steps) in places:
                text = rule.pattern.sub(self._noted(rule, at), text)
        return text

    def _noted(self, rule: Rule, at: str) -> Any:
        def mask(match: re.Match[str]) -> str:
            self._note(rule, at, match[0])
            return MARK

        return mask

    def _note(self, rule: Rule, at: str, what: str) -> None:
        self.taken.setdefault(rule.name, []).append((at, what))


def read_json(text: str) -> tuple[bool, Any]:
    """Whether a text is a JSON object or array, and that; one that nests too deep is a text."""
    if text.lstrip()[:1] not in ("{", "["):
        return False, None
    is_json, value = parsed(text)
    return (True, value) if is_json and not is_deep(text) else (False, None)


# --- Steps that are due ------------------------------------------------------------------------


def _start(rules: Iterable[Rule]) -> _Due:
    return [(rule, _closed(rule, {0})) for rule in rules]


def _next(due: _Due, step: str) -> _Due:
    """The rules that may still cover something below this step."""
    moved = ((rule, _moved(rule, places, step)) for rule, places in due)
    return [(rule, places) for rule, places in moved if places]


def _moved(rule: Rule, places: frozenset[int], step: str) -> frozenset[int]:
    if not rule.steps:
        return places
    found = set()
    for place in places:
        if place == len(rule.steps) or rule.steps[place] == ANY:
            found.add(place)  # under what it covers, or one of any number of steps
        elif rule.steps[place] in (ONE, step):
            found.add(place + 1)
    return _closed(rule, found)


def _closed(rule: Rule, places: set[int]) -> frozenset[int]:
    """With the places behind each `**`, which may stand for no step at all."""
    waiting = list(places)
    while waiting:
        place = waiting.pop()
        if place < len(rule.steps) and rule.steps[place] == ANY and place + 1 not in places:
            places.add(place + 1)
            waiting.append(place + 1)
    return frozenset(places)
