"""OpenLLMetry (Traceloop) up to 0.4x, and LiteLLM: `gen_ai.prompt.0.tool_calls.1.arguments` and its
like; a content of several parts is one JSON text in the provider's own spelling."""

from typing import Any

from runs.messages import anthropic
from runs.messages.facts import facts_of
from runs.messages.loose import items, obj, text
from runs.messages.numbered import Branch, branch, spoken, turns, used
from runs.messages.openai_chat import offer
from runs.messages.parts import Answer, Data, Message, Part, Reasoning, Request, Text, Tool
from runs.messages.turns import call, opened

ASKED, ANSWERED = ("gen_ai.prompt.",), ("gen_ai.completion.",)
_TOOLS = "llm.request.functions."
_SCHEMAS = ("parameters", "input_schema")


def request(attributes: dict[str, Any], pointer: str) -> Request:
    tools, left = _tools(attributes, pointer)
    return Request(
        "completion",
        messages=turns(attributes, ASKED[0], pointer, _turn),
        tools=tools,
        facts=facts_of(branch(attributes, "gen_ai.request.", pointer).members),
        parts=left,
    )


def answer(attributes: dict[str, Any], pointer: str) -> Answer:
    said = turns(attributes, ANSWERED[0], pointer, _turn)
    ended = branch(attributes, ANSWERED[0], pointer).listed().values()
    reasons = (text(one.members.get("finish_reason")) for one in ended)
    named = {key: attributes.get(f"gen_ai.response.{key}") for key in ("id", "model")}
    return Answer(
        parts=tuple(part for message in said for part in message.parts),
        facts=facts_of(named),
        usage=(*used(attributes, "gen_ai.usage."), *used(attributes, "llm.usage.")),
        finish=", ".join(dict.fromkeys(filter(None, reasons))),
    )


def _tools(attributes: dict[str, Any], pointer: str) -> tuple[tuple[Tool, ...], tuple[Data, ...]]:
    """The tools offered, and what there is that is none."""
    tools = branch(attributes, _TOOLS, pointer)
    made: list[Tool] = []
    for one in tools.listed().values():
        at, name = one.at("name"), one.text("name")
        if name:
            told = {"name": name, "description": one.text("description")}
            found = {key: opened(one.members.get(key)) for key in _SCHEMAS}
            schemas = {key: value for key, value in found.items() if isinstance(value, dict)}
            for key in schemas:
                del one.members[key]
            made.append(offer({**told, **(schemas or {"parameters": {}})}, at))
        tools.give_back(one)
    return tuple(made), tools.unread()


def _turn(one: Branch) -> tuple[Message, ...]:
    role, name, answers = one.text("role"), one.text("name"), one.text("tool_call_id")
    one.text("finish_reason")
    made = _said(one, role)
    if refusal := one.text("refusal"):
        made.append(Text(refusal, one.at("refusal"), "refusal"))
    for inner in one.listed("tool_calls.").values():
        made += [*_call(inner), *inner.unread()]
    made += _call(one, "function_call.")
    return spoken("assistant" if role == "thinking" else role, made, one, name, answers)


def _said(one: Branch, role: str) -> list[Part]:
    content, at = one.text("content"), one.at("content")
    if role == "thinking" and content:
        return [Reasoning(content, at)]
    listed = items(opened(content))
    if listed and all(text(obj(part).get("type")) for part in listed):
        return [anthropic.either(part, f"{at}/{index}") for index, part in enumerate(listed)]
    return [Text(content, at)] if content else []


def _call(one: Branch, prefix: str = "") -> list[Part]:
    identity, name = one.text(f"{prefix}id"), one.text(f"{prefix}name")
    key = f"{prefix}arguments"
    if not (identity or name or key in one.members):
        return []
    given = one.members.pop(key, None)
    return [call({} if given is None else given, one.at(key), identity, name)]
