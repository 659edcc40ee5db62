"""What somebody asks a replay to do, read from the body of `POST /api/v1/replays`. Pure.

Every mistake is a `Refused` with a code and the field at fault.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from runs.messages.loose import clean
from runs.refusals import Refused

MODES = ("reconstruct", "prompt", "execute")
FIELDS = frozenset(
    {"run", "mode", "model", "models", "temperature", "system", "effects", "strict", "plan_only"}
)
MAX_MODELS = 20
MAX_NAME = 200
SHOWN_NAME = 100
MAX_SYSTEM = 1_000_000
MAX_TEMPERATURE = 2.0
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Candidate:
    """Who is asked: a provider's name in our settings, and a model's name at that provider."""

    provider: str
    model: str

    def __str__(self) -> str:
        return f"{self.provider}:{self.model}"


@dataclass(frozen=True, slots=True)
class Controls:
    """What is changed beside the model; None leaves what was recorded. 0 is a temperature."""

    temperature: float | None = None
    system: str | None = None
    effects: tuple[int, ...] | None = None
    """Positions of the model calls to replay; None for all."""
    strict: bool = False
    """Stop at the first answer that differs."""

    def as_json(self) -> dict[str, Any]:
        """Only what was asked for, as the row keeps it."""
        asked: dict[str, Any] = {}
        if self.temperature is not None:
            asked["temperature"] = self.temperature
        if self.system is not None:
            asked["system"] = self.system
        if self.effects is not None:
            asked["effects"] = list(self.effects)
        return {**asked, "strict": True} if self.strict else asked

    @classmethod
    def of_json(cls, kept: Mapping[str, Any]) -> Controls:
        effects = kept.get("effects")
        return cls(
            kept.get("temperature"),
            kept.get("system"),
            None if effects is None else tuple(effects),
            bool(kept.get("strict")),
        )

    @property
    def changes_prompt(self) -> bool:
        return self.temperature is not None or self.system is not None


@dataclass(frozen=True, slots=True)
class Question:
    run: str
    mode: str
    candidates: tuple[Candidate, ...] = ()
    """Empty in a prompt replay: the model that was recorded."""
    controls: Controls = field(default_factory=Controls)
    plan_only: bool = False


def read_question(body: Any) -> Question:
    """The question in a decoded body; Refused where it is none."""
    if not isinstance(body, dict):
        raise Refused("invalid", "Send a JSON object.")
    unknown = sorted(body.keys() - FIELDS)
    if unknown:
        name = clean(unknown[0][:SHOWN_NAME])
        raise Refused("unknown_field", f"There is no field `{name}`.", field=name)
    candidates = _candidates(body)
    controls = Controls(
        _temperature(body.get("temperature")),
        _system(body.get("system")),
        _effects(body.get("effects")),
        _flag(body, "strict"),
    )
    mode = _mode(body, candidates, controls)
    return Question(_run(body.get("run")), mode, candidates, controls, _flag(body, "plan_only"))


def mode_of(candidates: tuple[Candidate, ...], controls: Controls) -> str:
    """The mode that follows from what is changed."""
    asks = bool(candidates) or controls.changes_prompt or controls.effects is not None
    return "prompt" if asks else "reconstruct"


def _mode(body: dict[str, Any], candidates: tuple[Candidate, ...], controls: Controls) -> str:
    follows = mode_of(candidates, controls)
    mode = body.get("mode")
    if mode is None:
        return follows
    if mode not in MODES:
        raise Refused("invalid", f"The mode is one of {', '.join(MODES)}.", field="mode")
    if mode == "execute":
        text = "Re-execution needs a target that runs your code; none can be configured yet."
        raise Refused("mode_not_available", text, field="mode")
    if mode == "reconstruct" and follows == "prompt":
        changed = next(name for name in ("models", "model", "temperature", "system", "effects")
                       if body.get(name) is not None)  # fmt: skip
        raise Refused("invalid", "A reconstruction changes nothing; use `prompt`.", field=changed)
    return str(mode)


def _run(value: Any) -> str:
    if not isinstance(value, str) or not _is_name(value):
        raise Refused("invalid", "Name the run by its id.", field="run")
    return value


def _is_name(text: str) -> bool:
    return 0 < len(text) <= MAX_NAME and not _UNSTORABLE.search(text)


def _candidates(body: dict[str, Any]) -> tuple[Candidate, ...]:
    name = "model" if body.get("models") is None else "models"
    given = body.get(name)
    if given is None:
        return ()
    listed = [given] if name == "model" else given
    if not isinstance(listed, list) or not 0 < len(listed) <= MAX_MODELS:
        text = f"Send a list of 1 to {MAX_MODELS} models as `provider:model`."
        raise Refused("invalid", text, field=name)
    return tuple(dict.fromkeys(read_candidate(one, name) for one in listed))


def read_candidate(text: Any, name: str = "models") -> Candidate:
    """`provider:model`; the model may hold colons of its own."""
    provider, colon, model = text.partition(":") if isinstance(text, str) else ("", "", "")
    legal = colon and provider and model.strip() and not _UNSTORABLE.search(text)
    if not legal or len(text) > MAX_NAME:
        raise Refused("invalid", "A model is written as `provider:model`.", field=name)
    return Candidate(provider.strip(), model.strip())


def _temperature(value: Any) -> float | None:
    if value is None:
        return None
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not 0 <= value <= MAX_TEMPERATURE:
        text = f"A temperature is a number from 0 to {MAX_TEMPERATURE:g}."
        raise Refused("invalid", text, field="temperature")
    return float(value)


def _system(value: Any) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str) or len(value) > MAX_SYSTEM:
        raise Refused(
            "invalid", f"The system text has at most {MAX_SYSTEM:,} characters.", field="system"
        )
    if _UNSTORABLE.search(value):
        raise Refused("invalid", "The system text holds NUL or half a character.", field="system")
    return value


def _effects(value: Any) -> tuple[int, ...] | None:
    if value is None:
        return None
    positions = isinstance(value, list) and all(type(one) is int and one > 0 for one in value)
    if not positions or not value:
        text = "Send the positions of the model calls to replay, or leave it out for all."
        raise Refused("invalid", text, field="effects")
    return tuple(sorted(set(value)))


def _flag(body: dict[str, Any], name: str) -> bool:
    value = body.get(name, False)
    if value is None:
        return False
    if not isinstance(value, bool):
        raise Refused("invalid", f"`{name}` is true or false.", field=name)
    return value
