"""The state of the form for an experiment, in the address while one thinks, in the body at last."""

from __future__ import annotations

from typing import Any

from django.http import QueryDict

from replay.experiments.asked import Wanted, read_candidates, read_name
from replay.experiments.gate import Gate, read_gate
from replay.forms import number_of, unix, whole_of
from runs.refusals import Refused


class ExperimentForm:
    """Reads the controls; `error` names what is wrong, and then there are no candidates."""

    def __init__(self, given: QueryDict) -> None:
        self.models = [model.strip() for model in given.getlist("model") if model.strip()]
        self.temperature = given.get("temperature", "").strip()
        self.system = unix(given.get("system", ""))
        self.samples = given.get("samples", "").strip()
        self.name = given.get("name", "").strip()
        self.min_same = given.get("min_same", "").strip()
        self.max_cost = given.get("max_cost", "").strip()
        self.no_errors = given.get("no_errors") == "1"
        self.candidates: tuple[Wanted, ...] = ()
        self.gate = Gate()
        self.error: Refused | None = None
        try:
            self._read()
        except Refused as refusal:
            self.candidates, self.error = (), refusal

    def _read(self) -> None:
        if self.name:
            read_name(self.name)
        self.gate = read_gate(self._gate())
        if self.models:
            self.candidates = read_candidates({"models": self.models, **self._overrides()})

    def _overrides(self) -> dict[str, Any]:
        asked: dict[str, Any] = {}
        if self.temperature:
            asked["temperature"] = number_of(self.temperature, "temperature")
        if self.samples:
            asked["samples"] = whole_of(self.samples, "samples", "number of samples")
        return {**asked, "system": self.system} if self.system else asked

    def _gate(self) -> dict[str, Any]:
        """Percents, as a person writes them, as the shares the gate has."""
        asked: dict[str, Any] = {"no_errors": self.no_errors}
        if self.min_same:
            asked["min_same"] = number_of(self.min_same.rstrip("% "), "gate.min_same") / 100
        if self.max_cost:
            asked["max_cost_ratio"] = number_of(self.max_cost.rstrip("% "), "gate.max_cost") / 100
        return asked

    def inputs(self) -> list[tuple[str, str]]:
        """The controls as they are, to be posted when the plan is accepted."""
        pairs = [("model", model) for model in self.models]
        texts = ("temperature", "samples", "system", "name", "min_same", "max_cost")
        pairs += [(name, getattr(self, name)) for name in texts if getattr(self, name)]
        return pairs + ([("no_errors", "1")] if self.no_errors else [])
