"""What trying out the conversion of some calls showed, before anything is sent."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from replay.dialects import Overrides
from replay.dialects.models import LIMITS
from replay.dialects.prompt import Note
from replay.dialects.reworded import reworded
from replay.overriding import texts_of
from replay.providers import Call
from replay.shown import cut
from rewyn_sdk.facts import as_list, as_object, request_history
from runs.messages.loose import number

TOLD_APART = 12
"""So many messages of one kind are told each; beyond, one stands for all."""
NUMBERS = {"temperature": ("temperature",), "top_p": ("top_p",), "max_tokens": LIMITS}
"""Where a body has the numbers that may be changed."""


@dataclass(slots=True)
class Tried:
    """What of some calls was recorded, what is sent in its place, and what is to be told."""

    overrides: Overrides
    calls: int = 0
    made: int = 0
    """Calls that could be made of them; of the others nothing is known."""
    messages: int = 0
    """Those that go out as they were recorded."""
    tools: set[str] = field(default_factory=set)
    temperatures: set[float] = field(default_factory=set)
    top_p: set[float] = field(default_factory=set)
    max_tokens: set[int] = field(default_factory=set)
    systems: set[str] = field(default_factory=set)
    lanes: set[str] = field(default_factory=set)
    apis: set[str] = field(default_factory=set)
    sent: dict[str, set[float | None]] = field(default_factory=dict)
    """Of each number that may be changed what goes out; None where none does."""
    notes: dict[str, dict[str, list[int]]] = field(default_factory=dict)
    """Code → message → the effects it is about."""

    def take(self, request: dict[str, Any]) -> None:
        history = request_history(request)
        self.calls += 1
        self.messages += len(history) - self._replaced(history)
        self.tools |= set(_tool_names(request))
        if (temperature := number(request.get("temperature"))) is not None:
            self.temperatures.add(temperature)
        params, options = request.get("additional_params"), request.get("options")
        top_p = number(as_object(options).get("top_p", as_object(params).get("top_p")))
        if top_p is not None:
            self.top_p.add(top_p)
        if isinstance(limit := request.get("max_tokens"), int):
            self.max_tokens.add(limit)
        self.systems.add(system_text(history))

    def _replaced(self, history: list[Any]) -> int:
        """How many of the messages say something else now."""
        lead = leading_system(history)
        changed = lead if self.overrides.system is not None else 0
        wanted = self.overrides.message
        if wanted is None:
            return changed
        rest = (as_object(message) for message in history[lead:])
        same_role = (one for one in rest if one.get("role") == wanted.role)
        return changed + sum(reworded(texts_of(one), wanted) is not None for one in same_role)

    def make(self, call: Call) -> None:
        """Take in what goes out."""
        self.made += 1
        self.lanes.add(call.lane)
        self.apis.add(call.dialect)
        for name, members in NUMBERS.items():
            given = (call.body[one] for one in members if call.body.get(one) is not None)
            self.sent.setdefault(name, set()).add(next(given, None))
        if self.overrides.dangling == "drop":
            dropped = (note.path for note in call.notes if note.code == "dangling_call")
            self.messages -= len({path.split("/")[2] for path in dropped if path.count("/") > 1})

    def kept(self) -> dict[str, Any]:
        """What goes out as it was recorded."""
        return {
            "messages": self.messages,
            "tool_definitions": len(self.tools - set(self.overrides.tools_off)),
            "of_calls": self.calls,
        }

    def note(self, seq: int, notes: tuple[Note, ...]) -> None:
        for note in notes:
            self.add(note.code, note.message, seq)

    def add(self, code: str, message: str, seq: int) -> None:
        seqs = self.notes.setdefault(code, {}).setdefault(cut(message), [])
        if seq not in seqs[-1:]:
            seqs.append(seq)

    def about(self, note: Note) -> list[int]:
        """The effects that this is told of."""
        return self.notes.get(note.code, {}).get(cut(note.message), [])

    def forget(self, note: Note) -> None:
        """Tell this of no effect."""
        self.notes.get(note.code, {}).pop(cut(note.message), None)

    def told(self) -> list[dict[str, Any]]:
        return [note for code, said in self.notes.items() for note in _grouped(code, said)]


def _grouped(code: str, said: dict[str, list[int]]) -> list[dict[str, Any]]:
    """A note per message, with its effects. Of many that tell the same of other names the first
    stands in front of the `rest`."""
    if len(said) <= TOLD_APART:
        notes = said.items()
        return [{"code": code, "message": m, "effects": seqs, "rest": []} for m, seqs in notes]
    effects = sorted({seq for seqs in said.values() for seq in seqs})
    first, *rest = said
    return [{"code": code, "message": first, "effects": effects, "rest": rest}]


def _tool_names(request: dict[str, Any]) -> Iterator[str]:
    """The tools a request offers; one that runs at the provider is known by its type."""
    for tool in map(as_object, as_list(request.get("tools"))):
        yield str(tool.get("name") or tool.get("type"))


def leading_system(history: list[Any]) -> int:
    """How many system messages lead a conversation."""
    roles = (as_object(message).get("role") for message in history)
    return next((at for at, role in enumerate(roles) if role != "system"), len(history))


def system_text(history: list[Any]) -> str:
    """The system messages that lead a conversation, as one text."""
    lead = history[: leading_system(history)]
    return "\n\n".join(str(as_object(message).get("content") or "") for message in lead)
