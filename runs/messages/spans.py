"""What a span's attributes say of one model call, in whichever convention: the body in them."""

from typing import Any

from runs.messages import ai_sdk, otel
from runs.messages.facts import facts_of, usage_facts
from runs.messages.loose import items, obj, text
from runs.messages.openai_chat import offers
from runs.messages.parts import Answer, Message, Part, Request, Text, Tool
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


def is_span(body: dict[str, Any]) -> bool:
    return any(key in body for key in (*ASKED, *ANSWERED))


def asked(attributes: dict[str, Any], pointer: str) -> Request | tuple[Any, str]:
    """The request, or the provider's body it holds and where that is."""
    if "gen_ai.input.messages" in attributes:
        return _request(attributes, pointer, _otel_messages(attributes, pointer))
    if "ai.prompt.messages" in attributes:
        key = "ai.prompt.messages"
        turns = ai_sdk.messages(_json(attributes[key]), f"{pointer}/{key}")
        return _request(attributes, pointer, turns)
    body, at = _body(attributes, ASKED, pointer)
    if not isinstance(body, str):
        return body, at
    return _request(attributes, pointer, (Message("user", (Text(body, at),), at, raw=body),))


def answered(attributes: dict[str, Any], pointer: str) -> Answer | tuple[Any, str]:
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
    body, at = _body(attributes, ANSWERED, pointer)
    return _answer(attributes, (Text(body, at),)) if isinstance(body, str) else (body, at)


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


def _body(attributes: dict[str, Any], keys: tuple[str, ...], pointer: str) -> tuple[Any, str]:
    key = next((key for key in keys if key in attributes), "")
    return _json(attributes.get(key)), f"{pointer}/{key}"


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
