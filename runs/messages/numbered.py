"""Keys that spell out a list (`gen_ai.prompt.0.content`), taken apart. Pure.

Keys are anybody's: a number may leave a gap or be huge, a key may be a value and the start of other
keys. All is one pass over the keys, nothing is made for a number that no key has, and what nobody
reads is shown as the JSON it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from runs.messages.facts import say, usage_facts
from runs.messages.loose import escape, plural
from runs.messages.parts import Data, Fact, Message, Part, Result, Text
from runs.messages.turns import ROLES, groups

_NUMBER = re.compile(r"(0|[1-9][0-9]{0,17})\.(.+)", re.DOTALL)
_ONE_BY_ONE = 20
"""So many unread values of one branch are shown each by itself, the others together."""


@dataclass(frozen=True, slots=True)
class Branch:
    """The attributes whose keys begin with `start`, named by the rest of their keys. What is read
    is taken out of `members`. `whole` is the pointer of the object that has the attributes."""

    members: dict[str, Any]
    whole: str
    start: str

    def at(self, name: str) -> str:
        return f"{self.whole}/{escape(self.start + name)}"

    def text(self, name: str) -> str:
        """The text of that name, taken; whatever else stands there stays."""
        value = self.members.get(name)
        return str(self.members.pop(name)) if isinstance(value, str) else ""

    def scalar(self, name: str) -> str:
        """The number or text of that name as text, taken; whatever else stands there stays."""
        value = self.members.get(name)
        if value is None or isinstance(value, dict | list):
            return ""
        return say(self.members.pop(name))

    def listed(self, prefix: str = "") -> dict[int, Branch]:
        """N → what stands under `prefix` N, taken, in the order of N."""
        keys = [key for key in self.members if key.startswith(prefix)]
        found: dict[int, dict[str, Any]] = {}
        for key in keys:
            match = _NUMBER.fullmatch(key, len(prefix))
            if match is not None:
                found.setdefault(int(match[1]), {})[match[2]] = self.members.pop(key)
        if not found:
            return {}
        start = f"{self.start}{prefix}"
        return {
            number: Branch(members, self.whole, f"{start}{number}.")
            for number, members in sorted(found.items())
        }

    def in_order(self) -> Iterator[tuple[int, Branch]]:
        """What stands under each number, with how many numbers are missing before it."""
        awaited = 0
        for number, one in self.listed().items():
            yield number - awaited, one
            awaited = number + 1

    def give_back(self, other: Branch) -> None:
        """What a branch of this one has left, to be shown with what this one has left."""
        inner = other.start.removeprefix(self.start)
        self.members.update({inner + name: value for name, value in other.members.items()})

    def unread(self) -> tuple[Data, ...]:
        """What is left."""
        if not self.members:
            return ()
        left = [(name, value) for name, value in self.members.items() if value not in (None, "")]
        alone, others = left[:_ONE_BY_ONE], dict(left[_ONE_BY_ONE:])
        shown = tuple(Data(value, self.at(name), name, unknown=True) for name, value in alone)
        more = (Data(others, self.whole, "more of the same", unknown=True),) if others else ()
        return (*shown, *more)


def has(attributes: dict[str, Any], starts: tuple[str, ...]) -> bool:
    return any(key.startswith(starts) for key in attributes)


def branch(attributes: dict[str, Any], start: str, whole: str) -> Branch:
    members = {
        key[len(start) :]: value for key, value in attributes.items() if key.startswith(start)
    }
    return Branch(members, whole, start)


def used(attributes: dict[str, Any], start: str) -> tuple[Fact, ...]:
    """The figures whose names begin with `start`; a name of two parts is a detail of the first."""
    figures: dict[str, Any] = {}
    for name, value in branch(attributes, start, "").members.items():
        outer, dot, inner = name.partition(".")
        if dot and isinstance(figures.setdefault(outer, {}), dict):
            figures[outer][inner] = value
        else:
            figures[name] = value
    return usage_facts(figures)


def turns(
    attributes: dict[str, Any], start: str, whole: str, read: Callable[[Branch], Sequence[Message]]
) -> tuple[Message, ...]:
    """The numbered turns that begin with `start`, each read by `read`. What is missing before one
    (an attribute limit takes the oldest away) is said in its place."""
    all_of_them = branch(attributes, start, whole)
    made: list[Message] = []
    for gap, one in all_of_them.in_order():
        if gap:
            said = (missing(gap, "turn"),)
            made.append(Message("message", said, f"{one.start}before", raw=gap))
        made += read(one)
    if left := all_of_them.unread():
        made.append(Message("message", left, start, raw=left))
    return tuple(made)


def spoken(
    role: str, parts: Sequence[Part], one: Branch, name: str = "", answers: str = ""
) -> tuple[Message, ...]:
    """A turn as messages, with what of it nobody read. `answers` is the id of the call that it
    brings a result of. No value of the recording is the whole turn: its name is no pointer."""
    said = (*parts, *one.unread())
    if answers or role in ("tool", "function"):
        said, name = (Result(answers, name, said, one.start),), ""
        role = "tool" if role in ("", "user", "function") else role
    speaker = ROLES.get(role, role) or "message"
    split = speaker not in ("assistant", "tool") and any(isinstance(part, Result) for part in said)
    return tuple(
        Message("tool" if split and isinstance(group[0], Result) else speaker, group, one.start,
                name, raw=(speaker, group))
        for group in (groups(said) if split else (said,))
    )  # fmt: skip


def missing(count: int, noun: str) -> Text:
    """The sentence that stands where the recording has a gap in its numbers."""
    are = "is" if count == 1 else "are"
    said = f"{plural(count, noun)} that stood here, by number, {are} not in the recording"
    return Text("", "", said)
