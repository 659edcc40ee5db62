"""What somebody asks an experiment to be, read from the body of `POST /api/v1/experiments`. Pure.

Every mistake is a `Refused` with a code and the field at fault; all of them are told at once.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from replay.experiments.gate import Gate, read_gate
from replay.questions import FIELDS as OF_A_REPLAY
from replay.questions import (
    MAX_MODELS,
    MAX_NAME,
    RECORDED,
    Candidate,
    Controls,
    Question,
    flag,
    max_calls_in,
    read_question,
)
from rewyn_sdk import canonical_bytes
from runs.messages.loose import clean, is_blank
from runs.refusals import Mistakes, Refused, SeveralRefused, not_longer

MAX_RUNS = 1000
MAX_CANDIDATES = MAX_MODELS
MAX_CELLS = 5000
OF_THE_WHOLE = frozenset({"plan_only", "max_calls"})
OVERRIDES = OF_A_REPLAY - {"run", "mode", "model", "models", "effects"} - OF_THE_WHOLE
"""What a candidate may change beside the model."""
OF_CANDIDATES = frozenset({"models", "candidates", *OVERRIDES})
FIELDS = OF_CANDIDATES | {"name", "runs", "dataset", "gate"} | OF_THE_WHOLE


@dataclass(frozen=True, slots=True)
class Wanted:
    """A candidate: who is asked (None: of each run its recorded model), and what is changed beside
    the model."""

    model: Candidate | None
    controls: Controls = field(default_factory=Controls)

    @property
    def name(self) -> str:
        """As one asks for it."""
        return str(self.model) if self.model else RECORDED

    @property
    def mark(self) -> str:
        """The same for two candidates that would ask the same."""
        asked = {"model": self.name, "controls": self.controls.as_json()}
        return hashlib.blake2b(canonical_bytes(asked), digest_size=32).hexdigest()

    def question(self, run_id: str, model: Candidate) -> Question:
        """What `model` is asked about a run."""
        return Question(run_id, "prompt", (model,), self.controls)


@dataclass(frozen=True, slots=True)
class Asked:
    """`runs` are ids, empty where a `dataset` names them."""

    candidates: tuple[Wanted, ...]
    runs: tuple[str, ...] = ()
    dataset: str = ""
    name: str = ""
    gate: Gate = field(default_factory=Gate)
    plan_only: bool = False
    max_calls: int | None = None


def read_asked(body: Any) -> Asked:
    """The experiment in a decoded body; SeveralRefused where it is none."""
    mistakes = Mistakes()
    read = mistakes.read
    read(None, _only, body, FIELDS)
    if not isinstance(body, dict):
        mistakes.end()
    runs, dataset = read(((), ""), _of_what, body)
    asked = Asked(
        candidates=read((), read_candidates, body),
        runs=runs,
        dataset=dataset,
        name=read("", _text, body, "name"),
        gate=read(Gate(), read_gate, body.get("gate")),
        plan_only=read(False, flag, body.get("plan_only"), "plan_only"),
        max_calls=read(None, max_calls_in, body.get("max_calls")),
    )
    mistakes.end()
    return asked


def _of_what(body: dict[str, Any]) -> tuple[tuple[str, ...], str]:
    runs, dataset = _runs(body.get("runs")), _text(body, "dataset")
    if bool(runs) == bool(dataset):
        raise Refused("invalid", "Name either `runs` or a `dataset`.", "runs")
    return runs, dataset


def read_more(body: Any) -> tuple[tuple[Wanted, ...], bool, int | None]:
    """Candidates that are to be added, whether only the plan is asked for, and how many calls that
    plan may have."""
    mistakes = Mistakes()
    read = mistakes.read
    read(None, _only, body, OF_CANDIDATES | OF_THE_WHOLE)
    if not isinstance(body, dict):
        mistakes.end()
    candidates = read((), read_candidates, body)
    plan_only = read(False, flag, body.get("plan_only"), "plan_only")
    max_calls = read(None, max_calls_in, body.get("max_calls"))
    mistakes.end()
    return candidates, plan_only, max_calls


def read_candidates(body: dict[str, Any]) -> tuple[Wanted, ...]:
    """`models` with the overrides beside them, or `candidates` with their own; each once."""
    listed, name = body.get("candidates"), "candidates"
    shared = {one: body[one] for one in OVERRIDES if one in body}
    if listed is None:
        listed, name = body.get("models"), "models"
    elif body.get("models") is not None:
        raise Refused("invalid", "Name either `models` or `candidates`.", "models")
    if isinstance(listed, list) and len(listed) > MAX_CANDIDATES:
        text = f"An experiment has at most {MAX_CANDIDATES} candidates."
        raise Refused("too_many", text, name, limit=MAX_CANDIDATES)
    if not isinstance(listed, list) or not listed:
        raise Refused("invalid", f"Send a list of 1 to {MAX_CANDIDATES} candidates.", name)
    mistakes = Mistakes()
    found = [
        wanted
        for at, one in enumerate(listed)
        if (wanted := mistakes.read(None, _candidate, one, shared, f"{name}.{at}"))
    ]
    mistakes.end()
    return tuple({one.mark: one for one in found}.values())


def _candidate(given: Any, shared: dict[str, Any], where: str) -> Wanted:
    own = given if isinstance(given, dict) else {"model": given}
    _only(own, OVERRIDES | {"model"}, f"{where}.")
    recorded = own.get("model") == RECORDED
    if recorded:
        own = {name: value for name, value in own.items() if name != "model"}
    try:
        question = read_question({"run": "-", **shared, **own})
    except Refused as refusal:
        told = (_placed(one, given, where) for one in refusal.each)
        raise SeveralRefused(told) from None
    if recorded:
        return Wanted(None, question.controls)
    if not question.candidates:
        text = f"A candidate names its `model` as `provider:model`, or `{RECORDED}`."
        raise Refused("invalid", text, where)
    return Wanted(question.candidates[0], question.controls)


def _placed(wrong: Refused, given: Any, where: str) -> Refused:
    """The same mistake by where it stands: with this candidate, or beside all of them."""
    field = wrong.field
    if not isinstance(given, dict):
        field = where if field == "model" else field
    elif field in given:
        field = f"{where}.{field}"
    return Refused(wrong.code, wrong.message, field, **wrong.extra)


def _only(body: Any, allowed: frozenset[str] | set[str], where: str = "") -> None:
    if not isinstance(body, dict):
        raise Refused("invalid", "Send a JSON object.")
    for name in sorted(body.keys() - allowed):
        told = clean(name[:100])
        raise Refused("unknown_field", f"There is no field `{told}`.", f"{where}{told}")


def _runs(value: Any) -> tuple[str, ...]:
    if value is None:
        return ()
    if not isinstance(value, list) or not value:
        raise Refused("invalid", "Send a list of ids of runs.", "runs")
    return read_run_ids(value)


def read_run_ids(value: list[Any], name: str = "runs") -> tuple[str, ...]:
    """Ids of runs, each once; Refused for too many, and for what is no id."""
    if len(value) > MAX_RUNS:
        text = f"At most {MAX_RUNS:,} runs at once."
        raise Refused("too_many", text, name, limit=MAX_RUNS)
    return tuple(dict.fromkeys(_ids(value, name)))


def _ids(value: list[Any], name: str) -> Iterator[str]:
    for at, one in enumerate(value):
        if isinstance(one, str):
            not_longer(one, MAX_NAME, f"{name}.{at}", "A run's id")
        if not isinstance(one, str) or not one or clean(one) != one:
            raise Refused("invalid", "A run is named by its id.", f"{name}.{at}")
        yield one


def _text(body: dict[str, Any], name: str) -> str:
    value = body.get(name)
    if value is None:
        return ""
    return read_name(value, name)


def read_name(value: Any, name: str = "name") -> str:
    """A name somebody gives; Refused where it cannot be one."""
    if not isinstance(value, str) or is_blank(value):
        raise Refused("invalid", f"`{name}` is a text of 1 to {MAX_NAME} characters.", name)
    not_longer(value.strip(), MAX_NAME, name, f"`{name}`")
    if clean(value) != value:
        text = f"`{name}` holds control characters or broken ones, which no name has."
        raise Refused("invalid", text, name)
    return value.strip()
