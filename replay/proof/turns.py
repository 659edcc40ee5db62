"""Assistant turns that later requests repeat: each must be what the model answered."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

from replay.proof.ledger import Ledger, Place
from replay.proof.reading import Line, content, plain
from rewyn_sdk.canonical import canonical_json
from rewyn_sdk.facts import as_list, as_object, as_text, call_id


@dataclass(frozen=True, slots=True)
class Turn:
    """What one completion answered."""

    place: Place
    parts: list[Any]
    text: str
    origin: dict[str, Any]


def mark(*texts: str) -> bytes:
    digest = hashlib.blake2b(digest_size=16)
    for text in texts:
        digest.update(text.encode("utf-8", "surrogatepass") + b"\0")
    return digest.digest()


@dataclass(slots=True)
class Turns:
    """Finds the answer that an assistant message repeats.

    By the ids of its calls, by the response id, or because everything before the message is
    exactly what that completion was asked. A message that nothing ties to an answer claims
    nothing: people and memories bring turns of their own.
    """

    ledger: Ledger
    _after: dict[bytes, list[Turn]] = field(default_factory=lambda: defaultdict(list))
    _ids: dict[tuple[str, str], list[Turn]] = field(default_factory=lambda: defaultdict(list))
    _texts: dict[tuple[str, str], list[Turn]] = field(default_factory=lambda: defaultdict(list))
    _last: dict[tuple[Any, ...], tuple[list[bytes], Turn]] = field(default_factory=dict)

    def completion(self, line: Line) -> None:
        """Check the turns a completion's request repeats, then learn its own answer."""
        before, marks = mark(line.scope), []
        for index, message in enumerate(line.history):
            if as_object(message).get("role") == "assistant":
                self._check(line, line.history_path(index), message, self._after.get(before, []))
            marks.append(mark(canonical_json(message)))
            before = mark(before.hex(), marks[-1].hex())
        turn = self._learn(line)
        if turn is not None:
            self._after[before].append(turn)
            self._last[line.owned] = (marks, turn)

    def append(self, line: Line, messages: list[Any]) -> None:
        """Check the turns that a memory append stores; the last one ends the latest request."""
        marks = [mark(canonical_json(message)) for message in messages]
        asked, latest = self._last.get(line.owned, ([], None))
        follows = latest is not None and asked[len(asked) - len(marks) + 1 :] == marks[:-1]
        for index, message in enumerate(messages):
            if as_object(message).get("role") == "assistant":
                last = index == len(messages) - 1
                tied = [latest] if latest is not None and last and follows else []
                self._check(line, f"/kind/op/messages/{index}", message, tied)

    def _learn(self, line: Line) -> Turn | None:
        if "choice" not in line.ok:
            return None
        parts = as_list(plain(line.ok["choice"]))
        origin = as_object(line.ok.get("origin"))
        turn = Turn(line.place("/outcome/Ok"), parts, canonical_json(parts), origin)
        for name in _names(parts, origin):
            self._ids[line.scope, name].append(turn)
        self._texts[line.scope, turn.text].append(turn)
        return turn

    def _check(self, line: Line, path: str, message: Any, tied: list[Turn]) -> None:
        parts, origin = content(message), as_object(as_object(message).get("origin"))
        tied = tied + [t for name in _names(parts, origin) for t in self._ids[line.scope, name]]
        tied = tied or self._texts.get((line.scope, canonical_json(parts)), [])
        if tied:
            self._hold(
                _likeliest(tied, canonical_json(parts), origin), line.place(path), parts, origin
            )

    def _hold(self, turn: Turn, at: Place, parts: list[Any], origin: dict[str, Any]) -> None:
        choice = turn.place.below("/choice")
        equal = self.ledger.compare("the answer", choice, turn.parts, at.below("/content"), parts)
        if equal and origin and turn.origin:
            self.ledger.compare(
                "who answered",
                turn.place.below("/origin"),
                turn.origin,
                at.below("/origin"),
                origin,
            )


def _likeliest(tied: list[Turn], text: str, origin: dict[str, Any]) -> Turn:
    """The answer a message is held against: one it equals if there is one, else the latest."""
    return max(tied, key=lambda t: (t.text == text, t.origin == origin, t.place.seq))


def _names(parts: list[Any], origin: dict[str, Any]) -> list[str]:
    """The ids that tie a message to an answer: of its calls, and of the response."""
    calls = [call_id(p) for p in parts if as_object(p).get("type") == "toolcall"]
    names = [f"call:{name}" for name in calls if name]
    response = as_text(origin.get("response_id"))
    return [*names, f"response:{response}"] if response else names
