"""What a span's attributes say of one model call, in whichever convention: the body in them."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from runs.messages import ai_sdk, openinference, openllmetry, otel, otlp, retrieval
from runs.messages.facts import facts_of, usage_facts
from runs.messages.loose import items, obj, text
from runs.messages.numbered import has
from runs.messages.openai_chat import offers
from runs.messages.parts import Answer, Data, Fact, Message, Part, Request, Text, Tool
from runs.messages.turns import opened

ASKED = (
    "gen_ai.input.messages", "ai.prompt.messages", "input.value", "langfuse.observation.input",
    "mlflow.spanInputs", "gen_ai.prompt", "ai.prompt",
)  # fmt: skip
ANSWERED = (
    "gen_ai.output.messages", "ai.response.text", "ai.response.toolCalls", "ai.response.object",
    "output.value", "langfuse.observation.output", "mlflow.spanOutputs", "gen_ai.completion",
)  # fmt: skip
_PARAMETERS = ("gen_ai.request.", "ai.settings.")
_USED = ("gen_ai.usage.", "ai.usage.")


_FLATTENED = (openinference, openllmetry)
_TURNS = tuple(start for one in _FLATTENED for start in (*one.ASKED, *one.ANSWERED))
_STARTS = (*_TURNS, *retrieval.STARTS)
_WHOLE = frozenset((*ASKED, *ANSWERED))
_WHOLE_TURNS = ("gen_ai.input.messages", "gen_ai.output.messages", "ai.prompt", "ai.response.")


def span_in(value: object) -> tuple[dict[str, Any], str] | None:
    """The attributes of the span that `value` is, and the pointer from `value` to them; None if
    it is no span. They may be flat, in OTLP's own spelling, or in a span written as a whole."""
    attributes, at = otlp.attributes(value)
    told = not _WHOLE.isdisjoint(attributes) or has(attributes, _STARTS)
    return (attributes, at) if told else None


def converses(attributes: dict[str, Any]) -> bool:
    """Whether the span tells of a model's turns, whatever else it tells."""
    return has(attributes, (*_TURNS, *_WHOLE_TURNS))


def asked(attributes: dict[str, Any], pointer: str) -> Request | tuple[Any, str] | None:
    """The request, or the provider's body it holds and where that is, if one attribute has it."""
    if "gen_ai.input.messages" in attributes:
        return _request(attributes, pointer, _otel_messages(attributes, pointer))
    if "ai.prompt.messages" in attributes:
        key = "ai.prompt.messages"
        turns = ai_sdk.messages(_json(attributes[key]), f"{pointer}/{key}")
        return _request(attributes, pointer, turns)
    found = _body(attributes, ASKED, pointer)
    if found is None or not isinstance(found[0], str):
        return found
    body, at = found
    return _request(attributes, pointer, (Message("user", (Text(body, at),), at, raw=body),))


def answered(attributes: dict[str, Any], pointer: str) -> Answer | tuple[Any, str] | None:
    """The answer, likewise."""
    if "gen_ai.output.messages" in attributes:
        key = "gen_ai.output.messages"
        turns = otel.messages(_json(attributes[key]), f"{pointer}/{key}")
        return _answer(attributes, tuple(part for turn in turns for part in turn.parts))
    if any(key.startswith("ai.response.") for key in attributes):
        names = ("text", "reasoning", "object", "toolCalls")
        body = {name: attributes.get(f"ai.response.{name}") for name in names}
        body["toolCalls"] = _json(body["toolCalls"])
        return _answer(attributes, tuple(ai_sdk.flat(body, pointer, "ai.response.")))
    found = _body(attributes, ANSWERED, pointer)
    if found is None or not isinstance(found[0], str):
        return found
    return _answer(attributes, (Text(*found),))


def fuller_request(one: Request | None, attributes: dict[str, Any], pointer: str) -> Request:
    """`one`, read from one attribute, or what the flattened ones have where that is more: a
    client's own objects are no conversation, and a limit cuts either. Each has what only the other
    names: tools, parameters."""
    flat = next(
        (a.request(attributes, pointer) for a in _FLATTENED if has(attributes, a.ASKED)), None
    )
    if flat is None or one is None:
        return one or flat or Request("unknown", parts=(Data(attributes, pointer, unknown=True),))
    more, less = (one, flat) if _told(one.messages) >= _told(flat.messages) else (flat, one)
    facts = _both(more.facts, less.facts)
    return replace(more, tools=more.tools or less.tools, facts=facts)


def fuller_answer(one: Answer | None, attributes: dict[str, Any], pointer: str) -> Answer:
    """Likewise; a plain text beside turns is a rendering of them."""
    flat = next(
        (a.answer(attributes, pointer) for a in _FLATTENED if has(attributes, a.ANSWERED)), None
    )
    if flat is None or one is None:
        return one or flat or Answer(parts=(Data(attributes, pointer, unknown=True),))
    plain = any(attributes.get(key) == _text_of(one) for key in ANSWERED)
    is_more = not plain and _known(one.parts) >= _known(flat.parts)
    more, less = (one, flat) if is_more else (flat, one)
    return replace(
        more,
        facts=_both(more.facts, less.facts),
        usage=more.usage or less.usage,
        finish=more.finish or less.finish,
    )


def _told(messages: Sequence[Message]) -> int:
    """How many turns say something that is understood."""
    return sum(bool(_known(message.parts)) for message in messages)


def _known(parts: Sequence[Part]) -> int:
    return sum(
        bool(part.text) if isinstance(part, Text) else not getattr(part, "unknown", False)
        for part in parts
    )


def _text_of(answer: Answer) -> object:
    only = answer.parts[0] if len(answer.parts) == 1 else None
    return only.text if isinstance(only, Text) else answer


def _both(facts: tuple[Fact, ...], others: tuple[Fact, ...]) -> tuple[Fact, ...]:
    named = {fact.label for fact in facts}
    return (*facts, *(fact for fact in others if fact.label not in named))


def _otel_messages(attributes: dict[str, Any], pointer: str) -> tuple[Message, ...]:
    told, said = "gen_ai.system_instructions", "gen_ai.input.messages"
    return (
        *otel.system(_json(attributes.get(told)), f"{pointer}/{told}"),
        *otel.messages(_json(attributes[said]), f"{pointer}/{said}"),
    )


def _request(attributes: dict[str, Any], pointer: str, turns: tuple[Message, ...]) -> Request:
    return Request(
        "completion",
        messages=turns,
        tools=_tools(attributes, pointer),
        facts=facts_of(_under(attributes, _PARAMETERS)),
    )


def _tools(attributes: dict[str, Any], pointer: str) -> tuple[Tool, ...]:
    for key in ("gen_ai.tool.definitions", "ai.prompt.tools"):
        listed = [_json(one) for one in items(_json(attributes.get(key)))]
        if listed:
            return offers(listed, f"{pointer}/{key}")
    return ()


def _answer(attributes: dict[str, Any], said: tuple[Part, ...]) -> Answer:
    reasons = _json(attributes.get("gen_ai.response.finish_reasons"))
    finish = text(attributes.get("ai.response.finishReason"))
    named = {key: attributes.get(f"gen_ai.response.{key}") for key in ("id", "model")}
    return Answer(
        parts=said,
        facts=facts_of(named),
        usage=usage_facts(_under(attributes, _USED)),
        finish=finish or ", ".join(filter(None, map(text, items(reasons)))),
    )


def _body(
    attributes: dict[str, Any], keys: tuple[str, ...], pointer: str
) -> tuple[Any, str] | None:
    key = next((key for key in keys if key in attributes), None)
    return None if key is None else (_json(attributes[key]), f"{pointer}/{key}")


def _under(attributes: dict[str, Any], prefixes: tuple[str, ...]) -> dict[str, Any]:
    return {
        key.removeprefix(prefix): value
        for key, value in obj(attributes).items()
        for prefix in prefixes
        if key.startswith(prefix)
    }


def _json(value: Any) -> Any:
    inner = opened(value)
    return value if inner is None else inner
