"""The state of the form for an experiment, in the address while one thinks, in the body at last."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.http import QueryDict

from replay.experiments.asked import Wanted, read_candidates, read_name
from replay.experiments.gate import MAX_RATIO, Gate, read_gate
from replay.forms import MessageControl, Recorded, number_of, unix, whole_of
from replay.questions import RECORDED
from runs.models import Run
from runs.refusals import Mistakes, Refused


class ExperimentForm(MessageControl):
    """Reads the controls; `errors` name what is wrong, and then there are no candidates. A message
    to reword is chosen of the first `run`, of which `known` tells."""

    def __init__(
        self, given: QueryDict, run: Run | None = None, known: Recorded | None = None
    ) -> None:
        self.run, self.known = run, known or Recorded()
        self.read_message(given)
        self.models = [model.strip() for model in given.getlist("model") if model.strip()]
        self.temperature = given.get("temperature", "").strip()
        self.top_p = given.get("top_p", "").strip()
        self.max_tokens = given.get("max_tokens", "").strip()
        self.system = unix(given.get("system", ""))
        self.samples = given.get("samples", "").strip()
        self.tools_off = [name for name in given.getlist("tool_off") if name]
        self.name = given.get("name", "").strip()
        self.min_same = given.get("min_same", "").strip()
        self.max_cost = given.get("max_cost", "").strip()
        self.no_errors = given.get("no_errors") == "1"
        self.seen = given.get("seen", "")
        """Of a POST: how many calls the plan had that was accepted."""
        self.max_calls: int | None = None
        self.candidates: tuple[Wanted, ...] = ()
        self.gate = Gate()
        mistakes = Mistakes()
        self._read(mistakes)
        self.errors = mistakes.found
        if self.errors:
            self.candidates = ()

    def _read(self, mistakes: Mistakes) -> None:
        read = mistakes.read
        if self.name:
            read("", read_name, self.name)
        self.gate = read(Gate(), read_gate, self._gate(mistakes))
        if self.seen:
            self.max_calls = read(None, whole_of, self.seen, "seen", "number of calls")
        changed = self._overrides(mistakes)
        if self.models:
            self.candidates = read((), read_candidates, {"models": self.models, **changed})

    def _overrides(self, mistakes: Mistakes) -> dict[str, Any]:
        read, asked = mistakes.read, dict[str, Any]()
        if self.temperature:
            asked["temperature"] = read(None, number_of, self.temperature, "temperature")
        if self.top_p:
            asked["top_p"] = read(None, number_of, self.top_p, "top_p")
        if self.max_tokens:
            most = read(None, whole_of, self.max_tokens, "max_tokens", "limit of tokens")
            asked["max_tokens"] = most
        if self.samples:
            asked["samples"] = read(None, whole_of, self.samples, "samples", "number of samples")
        if self.tools_off:
            asked["tools_off"] = self.tools_off
        if self.replaces_message:
            asked["message"] = self.message_asked
        return {**asked, "system": self.system} if self.system else asked

    def _gate(self, mistakes: Mistakes) -> dict[str, Any]:
        """Percents, as a person writes them, as the shares the gate has."""
        asked: dict[str, Any] = {"no_errors": self.no_errors}
        read = mistakes.read
        if self.min_same:
            asked["min_same"] = read(None, _share, self.min_same, 1, "gate.min_same")
        if self.max_cost:
            asked["max_cost_ratio"] = read(None, _share, self.max_cost, MAX_RATIO, "gate.max_cost")
        return asked

    @property
    def asks_recorded(self) -> bool:
        """Whether each run is asked of the model it was recorded with."""
        return RECORDED in self.models

    @property
    def named(self) -> list[str]:
        """The models that are named, without the recorded one."""
        return [model for model in self.models if model != RECORDED]

    @property
    def query(self) -> str:
        """The controls as they are, as an address has them."""
        return urlencode(self.inputs())

    def inputs(self) -> list[tuple[str, str]]:
        """The controls as they are, to be posted when the plan is accepted."""
        pairs = [("model", model) for model in self.models]
        texts = ("temperature", "top_p", "max_tokens", "samples", "system", "name", "min_same",
                 "max_cost")  # fmt: skip
        pairs += [(name, getattr(self, name)) for name in texts if getattr(self, name)]
        pairs += [("tool_off", name) for name in self.tools_off]
        pairs += self.message_inputs()
        return pairs + ([("no_errors", "1")] if self.no_errors else [])


def _share(text: str, most: float, field: str) -> float:
    share = number_of(text.rstrip("% "), field, "share") / 100
    if not 0 <= share <= most:
        raise Refused("invalid", f"The share is from 0 to {most * 100:,.0f} %.", field)
    return share
