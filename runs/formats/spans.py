"""What a record made of a span says for a row: who answered, how it ended, what it took.

A log of spans has a span's attributes where a log of Rig has its own request or answer (both read
by `runs.messages`); the attribute names are those of OpenTelemetry's GenAI conventions and of the
producers that came before them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from runs import usage
from runs.messages import answer_view, otlp, request_view
from runs.messages.loose import items, obj, text
from runs.messages.parts import Part, Request, Text
from runs.messages.turns import opened

_SHOWN = 2_400
"""Characters that a line of a list is made of."""
_MARKS = (
    "gen_ai.", "llm.", "ai.", "openinference.", "langfuse.observation.", "langsmith.", "mlflow.",
    "traceloop.", "retrieval.", "reranker.", "embedding.",
)  # fmt: skip
"""Starts of keys; a native record has none with a dot."""
_MODELS = (
    "gen_ai.request.model", "ai.model.id", "llm.model_name", "embedding.model_name",
    "reranker.model_name", "langfuse.observation.model.name",
)  # fmt: skip
_ANSWERED_BY = ("gen_ai.response.model", "ai.response.model")
_PROVIDERS = (
    "gen_ai.provider.name", "gen_ai.system", "llm.provider", "llm.system", "ai.model.provider",
)  # fmt: skip
_API = re.compile(r"\.(chat|completion|responses|messages|embedding)$")
"""What the AI SDK has behind a provider's name."""
_FINISHES = ("gen_ai.response.finish_reasons", "llm.finish_reason", "ai.response.finishReason")


@dataclass(frozen=True, slots=True)
class SpanFacts:
    """Empty texts and unknown counts for what the span does not say. `is_call`: it is a call of its
    own, and not an agent or a step around calls."""

    model: str
    response_model: str
    provider: str
    finish_reason: str
    usage: usage.Usage
    is_call: bool
    asked: str
    """The last text of a person in what it asked, and the text it answered."""
    answered: str


def facts_of(record: dict[str, Any]) -> SpanFacts | None:
    """The facts of the span that a record has as its request, its answer or both; None for a record
    that has none."""
    kind, outcome = obj(record.get("kind")), obj(record.get("outcome"))
    named = {**_attributes(*kind.values()), **_attributes(outcome.get("Ok"))}
    if not named:
        return None
    return SpanFacts(
        model=_first(named, _MODELS),
        response_model=_first(named, _ANSWERED_BY),
        provider=_API.sub("", _first(named, _PROVIDERS).lower()),
        finish_reason=_finish(named),
        usage=usage.of_span(named),
        is_call=not usage.wraps(named),
        asked=_last_asked(request_view(record)),
        answered=_texts(answer_view(record).parts),
    )


def _last_asked(request: Request) -> str:
    people = (turn for turn in reversed(request.messages) if turn.role == "user")
    return next(filter(None, (_texts(turn.parts) for turn in people)), "")


def _texts(parts: Iterable[Part]) -> str:
    return " ".join(part.text[:_SHOWN] for part in parts if isinstance(part, Text))[:_SHOWN]


def _attributes(*values: object) -> dict[str, Any]:
    """The attributes of the first of some members that is a span."""
    held = (otlp.attributes(value)[0] for value in values)
    return next((one for one in held if any(key.startswith(_MARKS) for key in one)), {})


def _first(named: Mapping[str, Any], keys: tuple[str, ...]) -> str:
    return next(filter(None, (text(named.get(key)) for key in keys)), "")


def _finish(named: Mapping[str, Any]) -> str:
    """A call's one reason; of several answers each its own."""
    told = next((named[key] for key in _FINISHES if named.get(key)), None)
    reasons = items(opened(told)) or items(told)
    return ", ".join(dict.fromkeys(filter(None, map(text, reasons)))) or text(told)
