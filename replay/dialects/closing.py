"""Tool calls without a result in a recorded body: answered or left out in place.

All else of the body stays as it was recorded, which a rebuild could not promise.
"""

from __future__ import annotations

from itertools import takewhile
from typing import Any

from replay.dialects.loose import items, mapping, text
from replay.dialects.prompt import CHAT, RESPONSES, Note
from replay.dialects.settle import dangling_call, lone_reasoning, orphan_result

Item = dict[str, Any]


def close_calls(api: str, body: Item, said: str | None) -> list[Note]:
    """Give each open call a result that says ``said``, or leave it out where that is ``None``;
    results that answer no call go with a note, too."""
    notes: list[Note] = []
    if api == RESPONSES:
        body["input"] = _Items(said, notes).closed(items(body.get("input")))
    else:
        way = _Chat if api == CHAT else _Blocks
        body["messages"] = way(said, notes).closed(items(body.get("messages")))
    return notes


class _Way:
    def __init__(self, said: str | None, notes: list[Note]) -> None:
        self.said, self.notes = said, notes

    def closes(self, identity: str, path: str) -> bool:
        """Notes what becomes of an open call; whether it gets a result."""
        self.notes.append(dangling_call(identity, path, self.said))
        return self.said is not None

    def orphaned(self, identity: str, path: str) -> None:
        self.notes.append(orphan_result(identity, path))


class _Chat(_Way):
    """Chat Completions: a message per result, right behind the assistant's."""

    def closed(self, messages: list[Any]) -> list[Any]:
        kept: list[Any] = []
        waiting: dict[str, str] = {}
        at = 0
        for index, message in enumerate(messages):
            one, path = mapping(message), f"/messages/{index}"
            if one.get("role") == "tool":
                identity = text(one.get("tool_call_id"))
                if waiting.pop(identity, None) is None:
                    self.orphaned(identity, path)
                else:
                    kept.append(message)
                continue
            self._close(kept, at, waiting)
            kept.append(message)
            at, calls = len(kept) - 1, items(one.get("tool_calls"))
            ids = [text(mapping(call).get("id")) for call in calls]
            waiting = {one: f"{path}/tool_calls/{place}" for place, one in enumerate(ids)}
        self._close(kept, at, waiting)
        return kept

    def _close(self, kept: list[Any], at: int, waiting: dict[str, str]) -> None:
        gone = set()
        for identity, path in waiting.items():
            if self.closes(identity, path):
                kept.append({"role": "tool", "tool_call_id": identity, "content": self.said})
            else:
                gone.add(identity)
        if not gone:
            return
        message = dict(kept[at])
        calls = [c for c in items(message.get("tool_calls")) if mapping(c).get("id") not in gone]
        message = {**message, "tool_calls": calls}
        if not calls:
            del message["tool_calls"]
        says = calls or message.get("content") or message.get("refusal")
        kept[at : at + 1] = [message] if says else []


class _Blocks(_Way):
    """Anthropic Messages: results are blocks of the user's next message."""

    def closed(self, messages: list[Any]) -> list[Any]:
        kept: list[Any] = []
        waiting: dict[str, str] = {}
        for index, message in enumerate(messages):
            one, path = mapping(message), f"/messages/{index}/content"
            if one.get("role") == "assistant":
                self._close(kept, waiting, None)
                kept.append(message)
                blocks = [mapping(block) for block in items(one.get("content"))]
                waiting = {
                    text(block.get("id")): f"{path}/{place}"
                    for place, block in enumerate(blocks)
                    if block.get("type") == "tool_use"
                }
                continue
            self._close(kept, waiting, self._answered(dict(one), waiting, path))
            waiting = {}
        self._close(kept, waiting, None)
        return kept

    def _answered(self, message: Item, waiting: dict[str, str], path: str) -> Item:
        """A user's message with its results for what waits, and without others."""
        content = []
        if not isinstance(message.get("content"), list):
            return message
        for place, block in enumerate(items(message["content"])):
            identity = text(mapping(block).get("tool_use_id"))
            if mapping(block).get("type") != "tool_result" or waiting.pop(identity, None):
                content.append(block)
            else:
                self.orphaned(identity, f"{path}/{place}")
        return {**message, "content": content}

    def _close(self, kept: list[Any], waiting: dict[str, str], after: Item | None) -> None:
        answers, gone = [], set()
        for identity, path in waiting.items():
            if self.closes(identity, path):
                told = {"type": "tool_result", "tool_use_id": identity, "content": self.said}
                answers.append(told)
            else:
                gone.add(identity)
        if gone:
            blocks = kept[-1]["content"]
            content = [b for b in blocks if mapping(b).get("id") not in gone]
            says = any(mapping(b).get("type") not in _THOUGHTS for b in content)
            kept[-1:] = [{**kept[-1], "content": content}] if says else []
            if not says:
                where = path.rpartition("/")[0]
                thoughts = (at for at, block in enumerate(blocks) if block in content)
                self.notes += [lone_reasoning(f"{where}/{at}") for at in thoughts]
        if answers:
            content = (after or {}).get("content", [])
            more = [{"type": "text", "text": content}] if isinstance(content, str) else content
            after = {"role": "user", **(after or {}), "content": [*answers, *more]}
        if after is not None and after.get("content") != []:
            kept.append(after)


class _Items(_Way):
    """Responses: calls and results are items of their own, tied by the id of the call."""

    def closed(self, listed: list[Any]) -> list[Any]:
        made = {text(i.get("call_id")) for i in map(mapping, listed) if _is(i, "function_call")}
        told = {text(i.get("call_id")) for i in map(mapping, listed) if _is(i, _OUTPUT)}
        kept: list[Any] = []
        answers: list[Any] = []
        for index, item in enumerate(listed):
            one, path = mapping(item), f"/input/{index}"
            identity = text(one.get("call_id"))
            if answers and not _is(one, "function_call"):
                kept, answers = [*kept, *answers], []
            if _is(one, _OUTPUT) and identity not in made:
                self.orphaned(identity, path)
            elif not _is(one, "function_call") or identity in told:
                kept.append(item)
            elif self.closes(identity, path):
                kept.append(item)
                answers.append({"type": _OUTPUT, "call_id": identity, "output": self.said})
            elif not _calls_on(listed[index + 1 :], told):
                _without_thought(kept)
        return [*kept, *answers]


_OUTPUT = "function_call_output"
_THOUGHTS = ("thinking", "redacted_thinking")


def _is(item: Any, kind: str) -> bool:
    return bool(item.get("type") == kind)


def _calls_on(rest: list[Any], told: set[str]) -> bool:
    """Whether a call that stays is next to the one that goes: one thought led to both."""
    calls = takewhile(lambda item: _is(item, "function_call"), map(mapping, rest))
    return any(text(call.get("call_id")) in told for call in calls)


def _without_thought(kept: list[Any]) -> None:
    """Take away the reasoning in front of a call that goes: the API wants the two together."""
    while kept and _is(mapping(kept[-1]), "reasoning"):
        kept.pop()
