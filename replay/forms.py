"""The replay form's state, in the address while one thinks and in the body when one starts."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from django.http import QueryDict

from replay import recording
from replay.plan import CHECKED_CALLS, system_text
from replay.questions import Question, read_question
from rewyn_sdk.facts import as_list, as_object, request_history
from runs.models import Effect, Family, Run
from runs.refusals import Refused

_RANGE = re.compile(r"(\d{1,9})(?:\s*[-–]\s*(\d{1,9}))?")


@dataclass(slots=True)
class Recorded:
    """What of the recording the form shows beside its controls."""

    seqs: list[int] = field(default_factory=list)
    models: list[str] = field(default_factory=list)
    temperatures: list[float] = field(default_factory=list)
    systems: list[str] = field(default_factory=list)
    tools: list[tuple[str, int]] = field(default_factory=list)

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
    for call in calls[:CHECKED_CALLS]:
        _add_request(told, recording.record(call).value or {})
    return told


def _model(call: Effect) -> str:
    return f"{call.provider}:{call.name}" if call.provider else call.name or "unknown"


def _add_request(told: Recorded, record: dict[str, Any]) -> None:
    request = as_object(as_object(record.get("kind")).get("request"))
    temperature = request.get("temperature")
    if isinstance(temperature, int | float) and temperature not in told.temperatures:
        told.temperatures.append(temperature)
    text = system_text(as_list(request_history(request)))
    if text not in told.systems:
        told.systems.append(text)


class ReplayForm:
    """Reads the controls; `question` is None where `error` names what is wrong."""

    def __init__(self, run: Run, given: QueryDict, known: Recorded) -> None:
        self.run, self.known = run, known
        self.models = [model.strip() for model in given.getlist("model") if model.strip()]
        self.temperature = given.get("temperature", "").strip()
        self.system = unix(given.get("system", known.system))
        self.calls = given.get("calls", "all")
        self.start_at = given.get("from", "").strip()
        self.effects = given.get("effects", "").strip()
        self.strict = given.get("strict") == "1"
        self.question: Question | None = None
        self.error: Refused | None = None
        try:
            self.question = read_question(self._body())
        except Refused as refusal:
            self.error = refusal

    @property
    def replaces_system(self) -> bool:
        return self.system != self.known.system

    def inputs(self) -> list[tuple[str, str]]:
        """The controls as they are, to be posted when the plan is accepted."""
        pairs = [("model", model) for model in self.models]
        pairs += [("temperature", self.temperature)] if self.temperature else []
        pairs += [("system", self.system)] if self.replaces_system else []
        pairs += [("calls", self.calls)] if self.calls != "all" else []
        pairs += [("from", self.start_at)] if self.calls == "from" else []
        pairs += [("effects", self.effects)] if self.calls == "choose" else []
        return pairs + ([("strict", "1")] if self.strict else [])

    def _body(self) -> dict[str, Any]:
        body: dict[str, Any] = {"run": self.run.external_id, "strict": self.strict}
        if self.models:
            body["models"] = self.models
        if self.temperature:
            body["temperature"] = _number(self.temperature)
        if self.replaces_system:
            body["system"] = self.system
        if self.calls != "all":
            body["effects"] = self._effects()
        return body

    def _effects(self) -> list[int]:
        if self.calls == "from":
            first = int(self.start_at) if self.start_at.isdecimal() else 0
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


def _number(text: str) -> float:
    try:
        return float(text.replace(",", "."))
    except ValueError:
        raise Refused("invalid", "The temperature is a number.", "temperature") from None


def unix(text: str) -> str:
    """Line ends as the log has them; browsers send others."""
    return text.replace("\r\n", "\n").replace("\r", "\n")
