"""The replay form's state, in the address while one thinks and in the body when one starts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from django.db.models import OuterRef, Subquery
from django.http import QueryDict

from replay import recording
from replay.comparison.sides import Piece, changed_in
from replay.dialects.bodies import name_of
from replay.models import Replay
from replay.overriding import ROLES, message_at, text_of
from replay.plan import CHECKED_CALLS
from replay.questions import read_question
from replay.tried import system_text
from replay.wire import wire_of
from rewyn_sdk.facts import as_list, as_object, request_history
from runs.models import Effect, Family, Run
from runs.refusals import Mistakes, Refused

NUMBERS = ("top_p", "max_tokens", "samples")
SHOWN_MESSAGES = 60
WIRE_BYTES = 2 * 1024 * 1024
"""How much of recorded bodies and answers is read for the tools that a run offers."""
_PLACE = re.compile(r"(\d{1,9}):(\d{1,9})", re.ASCII)
_RANGE = re.compile(r"(\d{1,9})(?:\s*[-–]\s*(\d{1,9}))?")


@dataclass(slots=True)
class Recorded:
    """What of the recording the form shows beside its controls."""

    seqs: list[int] = field(default_factory=list)
    models: list[str] = field(default_factory=list)
    temperatures: list[float] = field(default_factory=list)
    systems: list[str] = field(default_factory=list)
    tools: list[tuple[str, int]] = field(default_factory=list)
    """The tools that were called, and how often."""
    offered: list[str] = field(default_factory=list)
    top_ps: list[float] = field(default_factory=list)
    limits: list[float] = field(default_factory=list)
    messages: dict[str, str] = field(default_factory=dict)
    """`call:index` of the first message that says it → the text (`overriding` finds it anew)."""
    roles: dict[str, str] = field(default_factory=dict)

    @property
    def system(self) -> str:
        """The first system text, as a text field gives it back."""
        return unix(self.systems[0]) if self.systems else ""


def recorded(run: Run) -> Recorded:
    """Read from the rows, and from the requests of the first calls."""
    effects = Effect.objects.filter(run=run).order_by("seq")
    calls = list(effects.filter(family=Family.COMPLETION))
    tools = effects.filter(family=Family.TOOL).values_list("name", flat=True)
    told = Recorded(
        seqs=[call.seq for call in calls],
        models=list(dict.fromkeys(_model(call) for call in calls)),
        tools=sorted(Counter(tools).items()),
    )
    size = 0
    for call in calls[:CHECKED_CALLS]:
        record = recording.record(call).value or {}
        _add_request(told, call.seq, record)
        size += call.wire_length or 0
        wire = wire_of(call) if size <= WIRE_BYTES else None
        told.offered += [name for name in _offered(record, wire) if name not in told.offered]
    return told


def _model(call: Effect) -> str:
    return f"{call.provider}:{call.name}" if call.provider else call.name or "unknown"


def _add_request(told: Recorded, seq: int, record: dict[str, Any]) -> None:
    request = as_object(as_object(record.get("kind")).get("request"))
    temperature = request.get("temperature")
    if isinstance(temperature, int | float) and temperature not in told.temperatures:
        told.temperatures.append(temperature)
    history = as_list(request_history(request))
    text = system_text(history)
    if text not in told.systems:
        told.systems.append(text)
    _add_messages(told, seq, history)
    params, options = request.get("additional_params"), as_object(request.get("options"))
    top_p = options.get("top_p", as_object(params).get("top_p"))
    for value, known in ((top_p, told.top_ps), (request.get("max_tokens"), told.limits)):
        if isinstance(value, int | float) and value not in known:
            known.append(value)


def _offered(record: dict[str, Any], wire: dict[str, Any] | None) -> list[str]:
    """The names of the tools that a call offers, those that only its recorded body has too: what
    the provider runs stands there."""
    asked = as_object(record.get("kind")).get("request"), as_object(wire).get("request")
    tools = (tool for one in asked for tool in as_list(as_object(one).get("tools")))
    return list(dict.fromkeys(filter(None, map(name_of, map(as_object, tools)))))


def offered_in(runs: Sequence[Run]) -> list[str]:
    """The tools that the first call of each of these runs offers."""
    calls = Effect.objects.filter(run=OuterRef("pk"), family=Family.COMPLETION).order_by("seq")
    first = Run.objects.filter(pk__in=[run.pk for run in runs])
    keys = first.annotate(call=Subquery(calls.values("pk")[:1])).values("call")
    names: dict[str, None] = {}
    for call in Effect.objects.filter(pk__in=keys).order_by("pk"):
        names |= dict.fromkeys(_offered(recording.record(call).value or {}, wire_of(call)))
    return list(names)


def _add_messages(told: Recorded, seq: int, history: list[Any]) -> None:
    """The messages whose text can be changed, each once: histories repeat from call to call."""
    for index, message in enumerate(history):
        role, text = as_object(message).get("role"), text_of(message)
        if len(told.messages) >= SHOWN_MESSAGES:
            return
        if role in ROLES and text.strip() and text not in told.messages.values():
            told.messages[f"{seq}:{index}"] = text
            told.roles[f"{seq}:{index}"] = str(role)


class MessageControl:
    """The control that rewords one message, of a replay's form and of an experiment's: there `run`
    is the first, and None where nothing of the runs is looked at."""

    run: Run | None
    known: Recorded

    def read_message(self, given: QueryDict) -> None:
        self.message = self._place(given.get("message", ""))
        self.message_was = unix(self.known.messages.get(self.message, ""))
        # Another message was chosen than the one the text belongs to: it begins as recorded.
        same = given.get("message_of", self.message) == self.message
        self.chooses_message = not same or ("message_of" in given) != bool(self.message_was)
        text = unix(given.get("message_text", "")) if same else ""
        self.message_text = text or self.message_was

    def _place(self, asked: str) -> str:
        """The message that is asked for, by the place it has in the list to choose from: another
        call may hold it too, and the list has not all of a long run."""
        match = _PLACE.fullmatch(asked)
        if match is None or asked in self.known.messages:
            return asked if match else ""
        if self.run is None:
            return asked
        role, text = message_at(self.run, int(match[1]), int(match[2]))
        if not text:
            return asked
        for place, said in self.known.messages.items():
            if (said, self.known.roles[place]) == (text, role):
                return place
        self.known.messages[asked], self.known.roles[asked] = text, role
        return asked

    @property
    def message_change(self) -> tuple[Piece, ...]:
        return changed_in(self.message_was, self.message_text) if self.replaces_message else ()

    @property
    def replaces_message(self) -> bool:
        return bool(self.message) and self.message_text != self.message_was

    @property
    def message_choices(self) -> list[tuple[str, str]]:
        """The messages that can be reworded, by what they begin with."""
        named = []
        for place, text in self.known.messages.items():
            begins = " ".join(text.split())[:70]
            named.append((place, f"#{place.split(':')[0]} {self.known.roles[place]}: {begins}"))
        return named

    @property
    def message_asked(self) -> dict[str, Any]:
        effect, index = self.message.split(":")
        return {"effect": int(effect), "index": int(index), "text": self.message_text}

    def message_inputs(self) -> list[tuple[str, str]]:
        if not self.replaces_message:
            return []
        return [("message", self.message), ("message_text", self.message_text)]


class ReplayForm(MessageControl):
    """Reads the controls; `question` is None where `errors` name what is wrong."""

    def __init__(self, run: Run, given: QueryDict, known: Recorded) -> None:
        self.run, self.run_id, self.known = run, run.external_id, known
        self.models = [model.strip() for model in given.getlist("model") if model.strip()]
        self.temperature = given.get("temperature", "").strip()
        self.system = unix(given.get("system", known.system))
        self.calls = given.get("calls", "all")
        self.start_at = given.get("from", "").strip()
        self.effects = given.get("effects", "").strip()
        self.strict = given.get("strict") == "1"
        self.top_p = given.get("top_p", "").strip()
        self.max_tokens = given.get("max_tokens", "").strip()
        self.samples = given.get("samples", "").strip()
        self.tools_off = [name for name in given.getlist("tool_off") if name]
        self.dangling = given.get("dangling", "")
        self.dangling_result = unix(given.get("dangling_result", ""))
        self.seen = given.get("seen", "")
        """Of a POST: how many calls the plan had that was accepted."""
        self.read_message(given)
        self.chooses_dangling = (self.dangling == "supply") != ("dangling_result" in given)
        mistakes = Mistakes()
        self.question = mistakes.read(None, read_question, self._body(mistakes))
        self.errors = mistakes.found
        if self.errors:
            self.question = None

    @property
    def replaces_system(self) -> bool:
        return self.system != self.known.system

    @property
    def system_change(self) -> tuple[Piece, ...]:
        """The recorded system text (of several the first) with the change in it."""
        return changed_in(self.known.system, self.system) if self.replaces_system else ()

    @property
    def tool_choices(self) -> list[str]:
        """The tools that can be switched off, and those that are and were not on."""
        return list(dict.fromkeys((*self.known.offered, *self.tools_off)))

    def inputs(self) -> list[tuple[str, str]]:
        """The controls as they are, to be posted when the plan is accepted."""
        pairs = [("model", model) for model in self.models]
        pairs += [("temperature", self.temperature)] if self.temperature else []
        pairs += [("system", self.system)] if self.replaces_system else []
        pairs += [("calls", self.calls)] if self.calls != "all" else []
        pairs += [("from", self.start_at)] if self.calls == "from" else []
        pairs += [("effects", self.effects)] if self.calls == "choose" else []
        pairs += [(name, getattr(self, name)) for name in NUMBERS if getattr(self, name)]
        pairs += [("tool_off", name) for name in self.tools_off]
        pairs += self.message_inputs()
        pairs += [("dangling", self.dangling)] if self.dangling else []
        pairs += [("dangling_result", self.dangling_result)] if self._supplies else []
        return pairs + ([("strict", "1")] if self.strict else [])

    def _body(self, mistakes: Mistakes) -> dict[str, Any]:
        """What the API would be sent; what cannot be written as that is left out, and told."""
        read = mistakes.read
        body: dict[str, Any] = {"run": self.run_id, "strict": self.strict}
        if self.models:
            body["models"] = self.models
        if self.temperature:
            body["temperature"] = read(None, number_of, self.temperature, "temperature")
        if self.replaces_system:
            body["system"] = self.system
        if self.top_p:
            body["top_p"] = read(None, number_of, self.top_p, "top_p")
        if self.max_tokens:
            limit = read(None, whole_of, self.max_tokens, "max_tokens", "limit of tokens")
            body["max_tokens"] = limit
        if self.samples:
            body["samples"] = read(None, whole_of, self.samples, "samples", "number of samples")
        if self.tools_off:
            body["tools_off"] = self.tools_off
        if self.replaces_message:
            body["message"] = self.message_asked
        if self.dangling == "drop":
            body["dangling"] = "drop"
        elif self._supplies:
            body["dangling_result"] = self.dangling_result
        if self.calls != "all":
            body["effects"] = read(None, self._effects)
        if self.seen:
            body["max_calls"] = read(None, whole_of, self.seen, "seen", "number of calls")
        return body

    @property
    def _supplies(self) -> bool:
        return self.dangling == "supply" and bool(self.dangling_result)

    def _effects(self) -> list[int]:
        if self.calls == "from":
            first = whole_of(self.start_at or "0", "effects", "position of a call")
            chosen = [seq for seq in self.known.seqs if seq >= first]
        else:
            chosen = list(self._chosen())
        if not chosen:
            raise Refused("invalid", "No model call is chosen.", "effects")
        return chosen

    def _chosen(self) -> list[int]:
        """`2, 5-8`: positions and spans of them; a span takes the model calls in it."""
        wanted: set[int] = set()
        for part in filter(None, (part.strip() for part in self.effects.split(","))):
            match = _RANGE.fullmatch(part)
            if match is None:
                raise Refused("invalid", f"“{part[:40]}” is no position of a call.", "effects")
            first, last = int(match[1]), int(match[2] or match[1])
            inside = [seq for seq in self.known.seqs if first <= seq <= last]
            wanted.update(inside if match[2] else [first])
        return sorted(wanted)


CONTROLS = {
    "model": "models",
    "dangling_result": "dangling",
    "gate.min_same": "min_same",
    "gate.max_cost": "max_cost",
}
"""Fields that a control of another name asks for."""


def beside(wrong: Iterable[tuple[str | None, str]]) -> dict[str, list[str]]:
    """What is wrong, as (field, message), by the control that it is told beside."""
    told: dict[str, list[str]] = {}
    for of, message in wrong:
        name = (of or "").partition(".")[0]
        said = told.setdefault(CONTROLS.get(of or "", CONTROLS.get(name, name)), [])
        if message not in said:
            said.append(message)
    return told


def again(replay: Replay) -> str:
    """The query with which the form of its run asks what a replay asked."""
    asked = replay.controls
    pairs = [("model", replay.candidate)] if replay.candidate else []
    named = ("temperature", "system", *NUMBERS)
    pairs += [(name, str(asked[name])) for name in named if name in asked]
    if (seqs := asked.get("effects")) is not None:
        pairs += [("calls", "choose"), ("effects", ", ".join(map(str, seqs)))]
    pairs += [("tool_off", name) for name in asked.get("tools_off", ())]
    if message := asked.get("message"):
        place = f"{message['effect']}:{message['index']}"
        pairs += [("message", place), ("message_text", message["text"])]
    if "dangling_result" in asked:
        pairs += [("dangling", "supply"), ("dangling_result", asked["dangling_result"])]
    elif "dangling" in asked:
        pairs.append(("dangling", asked["dangling"]))
    return urlencode(pairs + ([("strict", "1")] if asked.get("strict") else []))


def number_of(text: str, field: str, what: str = "") -> float:
    """A number as a person writes it; Refused where it is none."""
    try:
        return float(text.replace(",", "."))
    except ValueError:
        told = f"The {what or field} is a number, not “{text[:40]}”."
        raise Refused("invalid", told, field) from None


def whole_of(text: str, field: str, what: str) -> int:
    """A whole number as a person writes it, however large; Refused where it is none."""
    if not re.fullmatch(r"[+-]?[0-9]{1,30}", text, re.ASCII):
        raise Refused("invalid", f"The {what} is a whole number, not “{text[:40]}”.", field)
    return int(text)


def unix(text: str) -> str:
    """Line ends as the log has them; browsers send others."""
    return text.replace("\r\n", "\n").replace("\r", "\n")
