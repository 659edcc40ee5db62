"""What somebody asks a replay to do, read from the body of `POST /api/v1/replays`. Pure.

Every mistake is a `Refused` with a code and the field at fault; all of them are told at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from runs.messages.loose import clean
from runs.refusals import Mistakes, Refused, not_longer, not_unkept

MODES = ("reconstruct", "prompt", "execute")
FIELDS = frozenset(
    {"run", "mode", "model", "models", "temperature", "system", "effects", "strict", "plan_only"}
    | {"top_p", "max_tokens", "message", "tools_off", "dangling", "dangling_result", "samples"}
    | {"max_calls"}
)
RECORDED = "recorded"
"""In an experiment instead of a `provider:model`: of each run the one it was recorded with."""
MAX_MODELS = 20
MAX_NAME = 200
SHOWN_NAME = 100
MAX_SYSTEM = 1_000_000
MAX_TEMPERATURE = 2.0
MAX_TOKENS = 10_000_000
MAX_TOOLS_OFF = 500
MAX_SAMPLES = 20
OVERRIDES = ("temperature", "system", "top_p", "max_tokens", "message", "tools_off")
"""The fields that change what is asked, beside the model and how calls without results go out."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """Who is asked: a provider's name in our settings, and a model's name at that provider."""

    provider: str
    model: str

    def __str__(self) -> str:
        return f"{self.provider}:{self.model}"


@dataclass(frozen=True, slots=True)
class Message:
    """One message's new text: the message at `index` (from 0) of the history of call `effect`."""

    effect: int
    index: int
    text: str


@dataclass(frozen=True, slots=True)
class Controls:
    """What is changed beside the model; None leaves what was recorded. 0 is a temperature."""

    temperature: float | None = None
    system: str | None = None
    effects: tuple[int, ...] | None = None
    """Positions of the model calls to replay; None for all."""
    strict: bool = False
    """Stop at the first answer that differs."""
    top_p: float | None = None
    max_tokens: int | None = None
    message: Message | None = None
    tools_off: tuple[str, ...] = ()
    """Names of tools that are not offered."""
    dangling: str | None = None
    """`drop`: calls without a result are left out; else they get one."""
    dangling_result: str | None = None
    """What that result says; None: that there is none."""
    samples: int = 1
    """How often each call is asked."""

    def as_json(self) -> dict[str, Any]:
        """Only what was asked for, as the row keeps it."""
        asked: dict[str, Any] = {}
        if self.temperature is not None:
            asked["temperature"] = self.temperature
        if self.system is not None:
            asked["system"] = self.system
        if self.effects is not None:
            asked["effects"] = list(self.effects)
        for name in ("top_p", "max_tokens", "dangling", "dangling_result"):
            if getattr(self, name) is not None:
                asked[name] = getattr(self, name)
        if self.message is not None:
            asked["message"] = asdict(self.message)
        if self.tools_off:
            asked["tools_off"] = list(self.tools_off)
        if self.samples > 1:
            asked["samples"] = self.samples
        return {**asked, "strict": True} if self.strict else asked

    @classmethod
    def of_json(cls, kept: Mapping[str, Any]) -> Controls:
        effects = kept.get("effects")
        return cls(
            kept.get("temperature"),
            kept.get("system"),
            None if effects is None else tuple(effects),
            bool(kept.get("strict")),
            kept.get("top_p"),
            kept.get("max_tokens"),
            Message(**kept["message"]) if kept.get("message") else None,
            tuple(kept.get("tools_off", ())),
            kept.get("dangling"),
            kept.get("dangling_result"),
            kept.get("samples", 1),
        )

    @property
    def changes_prompt(self) -> bool:
        changed = (self.temperature, self.system, self.top_p, self.max_tokens, self.message)
        open_calls = (self.dangling, self.dangling_result)
        return any(one is not None for one in (*changed, *open_calls)) or bool(self.tools_off)


@dataclass(frozen=True, slots=True)
class Question:
    run: str
    mode: str
    candidates: tuple[Candidate, ...] = ()
    """Empty in a prompt replay: the model that was recorded."""
    controls: Controls = field(default_factory=Controls)
    plan_only: bool = False
    max_calls: int | None = None
    """So many calls the plan had when it was seen; it starts with no more."""


def read_question(body: Any) -> Question:
    """The question in a decoded body; SeveralRefused where it is none."""
    if not isinstance(body, dict):
        raise Refused("invalid", "Send a JSON object.")
    mistakes = Mistakes()
    read = mistakes.read
    read(None, _known, body)
    candidates = read((), _candidates, body)
    controls = Controls(
        read(None, number, body.get("temperature"), "temperature", MAX_TEMPERATURE),
        read(None, _words, body.get("system"), "system"),
        read(None, _effects, body.get("effects")),
        read(False, flag, body.get("strict"), "strict"),
        read(None, number, body.get("top_p"), "top_p", 1.0),
        read(None, _max_tokens, body.get("max_tokens")),
        read(None, _message, body.get("message")),
        read((), _tools_off, body.get("tools_off")),
        *read((None, None), _dangling, body),
        read(1, _samples, body.get("samples")),
    )
    mode = read("", _mode, body, candidates, controls)
    plan_only = read(False, flag, body.get("plan_only"), "plan_only")
    run = read("", _run, body.get("run"))
    max_calls = read(None, max_calls_in, body.get("max_calls"))
    mistakes.end()
    return Question(run, mode, candidates, controls, plan_only, max_calls)


def _known(body: dict[str, Any]) -> None:
    for unknown in sorted(body.keys() - FIELDS):
        name = clean(unknown[:SHOWN_NAME])
        raise Refused("unknown_field", f"There is no field `{name}`.", field=name)


def mode_of(candidates: tuple[Candidate, ...], controls: Controls) -> str:
    """The mode that follows from what is changed."""
    chosen = controls.effects is not None or controls.samples > 1
    asks = bool(candidates) or controls.changes_prompt or chosen
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
        given = ("models", "model", *OVERRIDES, "dangling", "dangling_result", "effects", "samples")
        changed = next(name for name in given if body.get(name) is not None)
        raise Refused("invalid", "A reconstruction changes nothing; use `prompt`.", field=changed)
    return str(mode)


def _run(value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise Refused("invalid", "Name the run by its id.", field="run")
    not_longer(value, MAX_NAME, "run", "A run's id")
    not_unkept(value, "run")
    return value


def _candidates(body: dict[str, Any]) -> tuple[Candidate, ...]:
    name = "model" if body.get("models") is None else "models"
    given = body.get(name)
    if given is None:
        return ()
    listed = [given] if name == "model" else given
    if isinstance(listed, list) and len(listed) > MAX_MODELS:
        text = f"At most {MAX_MODELS} models at once."
        raise Refused("too_many", text, field=name, limit=MAX_MODELS)
    if not isinstance(listed, list) or not listed:
        text = f"Send a list of 1 to {MAX_MODELS} models as `provider:model`."
        raise Refused("invalid", text, field=name)
    return tuple(dict.fromkeys(read_candidate(one, name) for one in listed))


def read_candidate(text: Any, name: str = "models") -> Candidate:
    """`provider:model`; the model may hold colons of its own."""
    provider, colon, model = text.partition(":") if isinstance(text, str) else ("", "", "")
    if isinstance(text, str):
        not_longer(text, MAX_NAME, name, "A model, its provider in front,")
        not_unkept(text, name)
    if not (colon and provider and model.strip()):
        given = f", not “{clean(text[:SHOWN_NAME])}”" if isinstance(text, str) and text else ""
        raise Refused("invalid", f"A model is written as `provider:model`{given}.", field=name)
    return Candidate(provider.strip(), model.strip())


def number(value: Any, name: str, most: float, field: str = "") -> float | None:
    """A number from 0 to `most`, None for nothing; `field` names it where that is not `name`."""
    if value is None:
        return None
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not 0 <= value <= most:
        text = f"`{name}` is a number from 0 to {most:g}."
        raise Refused("invalid", text, field=field or name)
    return float(value)


def _max_tokens(value: Any) -> int | None:
    if value is None:
        return None
    if type(value) is not int or not 1 <= value <= MAX_TOKENS:
        text = f"A limit of tokens is a whole number from 1 to {MAX_TOKENS:,}."
        raise Refused("invalid", text, field="max_tokens")
    return value


def max_calls_in(value: Any) -> int | None:
    if value is not None and (type(value) is not int or value < 0):
        text = "`max_calls` is a number of calls: how many the plan may have at most."
        raise Refused("invalid", text, field="max_calls")
    return value


def _samples(value: Any) -> int:
    if value is None:
        return 1
    if type(value) is not int or not 1 <= value <= MAX_SAMPLES:
        text = f"The number of samples is a whole number from 1 to {MAX_SAMPLES}."
        raise Refused("invalid", text, field="samples")
    return value


def _message(value: Any) -> Message | None:
    if value is None:
        return None
    text = "Send a message as {effect, index, text}: where it stands, and what it is to say."
    if not isinstance(value, dict) or value.keys() != {"effect", "index", "text"}:
        raise Refused("invalid", text, field="message")
    effect, index, said = value["effect"], value["index"], _words(value["text"], "message")
    is_place = type(effect) is int and 0 < effect < 2**31 and type(index) is int and index >= 0
    if not is_place or said is None:
        raise Refused("invalid", text, field="message")
    return Message(effect, index, said)


def _words(value: Any, field: str) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str):
        raise Refused("invalid", "Send a text.", field=field)
    not_longer(value, MAX_SYSTEM, field, "This text")
    not_unkept(value, field)
    return value


def _tools_off(value: Any) -> tuple[str, ...]:
    if value is None:
        return ()
    listed = value if isinstance(value, list) else [None]
    if not all(isinstance(one, str) and one for one in listed):
        raise Refused("invalid", "Send the names of the tools to switch off.", field="tools_off")
    for one in value:
        not_longer(one, MAX_NAME, "tools_off", "A tool's name")
        not_unkept(one, "tools_off")
    if len(value) > MAX_TOOLS_OFF:
        text = f"At most {MAX_TOOLS_OFF} tools to switch off."
        raise Refused("too_many", text, field="tools_off", limit=MAX_TOOLS_OFF)
    return tuple(sorted(set(value)))


def _dangling(body: dict[str, Any]) -> tuple[str | None, str | None]:
    way, said = body.get("dangling"), body.get("dangling_result")
    if way not in (None, "drop", "supply"):
        raise Refused("invalid", "`dangling` is drop or supply.", field="dangling")
    if way == "supply" and said is None:
        raise Refused("invalid", "Send the result that is to be supplied.", field="dangling_result")
    if said is None:
        return way, None
    if way == "drop":
        raise Refused("invalid", "A dropped call has no result.", field="dangling_result")
    return None, _words(said, "dangling_result")


def _effects(value: Any) -> tuple[int, ...] | None:
    if value is None:
        return None
    positions = isinstance(value, list) and all(type(one) is int and one > 0 for one in value)
    if not positions or not value:
        text = "Send the positions of the model calls to replay, or leave it out for all."
        raise Refused("invalid", text, field="effects")
    return tuple(sorted(set(value)))


def flag(value: Any, name: str, field: str = "") -> bool:
    """Whether it is true; nothing is false."""
    if value is not None and not isinstance(value, bool):
        raise Refused("invalid", f"`{name}` is true or false.", field=field or name)
    return bool(value)
