"""OpenInference (Phoenix): `llm.input_messages.0.message.contents.1.message_content.text` and its
like, one attribute each value."""

from collections import Counter
from typing import Any

from runs.messages.facts import facts_of
from runs.messages.loose import items, obj, text
from runs.messages.numbered import Branch, branch, spoken, turns, used
from runs.messages.openai_chat import from_url, offer, offers
from runs.messages.parts import (
    Answer,
    Call,
    Data,
    Message,
    Part,
    Reasoning,
    Request,
    Text,
    Tool,
)
from runs.messages.turns import call, opened

ASKED = ("llm.input_messages.", "llm.prompts")
ANSWERED = ("llm.output_messages.", "llm.choices.")
"""Of chats, and of models that only complete a text."""
_TOOLS, _SET = "llm.tools.", "llm.invocation_parameters"
_PARAMETERS = (
    "model", "temperature", "top_p", "top_k", "max_tokens", "max_completion_tokens",
    "max_output_tokens", "stop", "stop_sequences", "seed", "n", "stream", "tool_choice",
    "parallel_tool_calls", "reasoning_effort", "frequency_penalty", "presence_penalty",
    "service_tier", "truncation",
)  # fmt: skip
"""Some clients put whole objects of their own beside these."""
_MEDIA = {
    "message_content.image.image.url": "image",
    "message_content.image.url": "image",
    "message_content.audio.audio.url": "audio",
}


def request(attributes: dict[str, Any], pointer: str) -> Request:
    given, at = obj(opened(attributes.get(_SET))), f"{pointer}/{_SET}"
    facts = {key: value for key in _PARAMETERS if not isinstance(value := given.get(key), dict)}
    known = {"tools"} | {key for key, value in facts.items() if not isinstance(value, list)}
    others = {key: value for key, value in given.items() if key not in known and value is not None}
    tools, left = _tools(attributes, pointer)
    return Request(
        "completion",
        messages=(
            *turns(attributes, ASKED[0], pointer, _turn),
            *_prompts(attributes.get(ASKED[1]), f"{pointer}/{ASKED[1]}"),
            *turns(attributes, f"{ASKED[1]}.", pointer, _prompt),
        ),
        tools=tools or offers(given.get("tools"), f"{at}/tools"),
        facts=facts_of(facts),
        parts=(*left, *((Data(others, at, "Other parameters"),) if others else ())),
    )


def answer(attributes: dict[str, Any], pointer: str) -> Answer:
    said = (
        *turns(attributes, ANSWERED[0], pointer, _turn),
        *turns(attributes, ANSWERED[1], pointer, _choice),
    )
    named = {"model": "llm.model_name", "provider": "llm.provider"}
    return Answer(
        parts=tuple(part for message in said for part in message.parts),
        facts=facts_of({name: attributes.get(key) for name, key in named.items()}),
        usage=used(attributes, "llm.token_count."),
        finish=text(attributes.get("llm.finish_reason")),
    )


def _tools(attributes: dict[str, Any], pointer: str) -> tuple[tuple[Tool, ...], tuple[Data, ...]]:
    """The tools offered, and what there is that is none."""
    tools, key = branch(attributes, _TOOLS, pointer), "tool.json_schema"
    made: list[Tool] = []
    for one in tools.listed().values():
        schema = opened(one.members.get(key))
        if isinstance(schema, dict):
            del one.members[key]
            made.append(offer(schema, one.at(key)))
        tools.give_back(one)
    return tuple(made), tools.unread()


def _prompts(value: object, pointer: str) -> tuple[Message, ...]:
    """Prompts in one attribute."""
    said = ((one, f"{pointer}/{index}") for index, one in enumerate(items(value)))
    return tuple(
        Message("user", (Text(one, at) if isinstance(one, str) else Data(one, at),), at, raw=one)
        for one, at in said
    )


def _prompt(one: Branch) -> tuple[Message, ...]:
    said, at = one.text("prompt.text"), one.at("prompt.text")
    return spoken("user", [Text(said, at)] if said else [], one)


def _choice(one: Branch) -> tuple[Message, ...]:
    said, at = one.text("completion.text"), one.at("completion.text")
    return spoken("assistant", [Text(said, at)] if said else [], one)


def _turn(one: Branch) -> tuple[Message, ...]:
    role, name = one.text("message.role"), one.text("message.name")
    answers = one.text("message.tool_call_id")
    return spoken(role, _parts(one), one, name, answers)


def _parts(one: Branch) -> list[Part]:
    inner = _listed(one, "message.contents.")
    calls = [*_listed(one, "message.tool_calls."), *_function(one)]
    said = "".join(part.text for part in inner if isinstance(part, Text))
    content = one.text("message.content")
    first = [Text(content, one.at("message.content"))] if content not in ("", said) else []
    return [*first, *inner, *_not_among(inner, calls)]


def _listed(one: Branch, prefix: str) -> list[Part]:
    return [
        part
        for inner in one.listed(prefix).values()
        for part in (*_content(inner), *inner.unread())
    ]


def _not_among(shown: list[Part], calls: list[Part]) -> list[Part]:
    """A call may stand among the contents and among the calls: each of the former for one."""
    twice = Counter(_identity(part) for part in shown if isinstance(part, Call))
    left: list[Part] = []
    for part in calls:
        if isinstance(part, Call) and twice[_identity(part)]:
            twice[_identity(part)] -= 1
        else:
            left.append(part)
    return left


def _identity(part: Call) -> tuple[str, ...]:
    return (part.id, part.name, part.invalid or "", repr(part.arguments))


def _content(one: Branch) -> list[Part]:
    """What is known of one of the contents or calls; the rest stays in it."""
    kind, key = text(one.members.get("message_content.type")), "message_content.text"
    said, at = one.text(key), one.at(key)
    made: list[Part] = []
    if said:
        made.append(Reasoning(said, at) if kind in ("reasoning", "thinking") else Text(said, at))
    urls = ((media, name, one.text(name)) for name, media in _MEDIA.items())
    made += [from_url(media, url, one.at(name)) for media, name, url in urls if url]
    made += _call(one)
    if made or kind == "text":  # an id of the content, if any, says nothing
        for key in ("message_content.type", "message_content.id"):
            one.text(key)
    return made


def _call(one: Branch) -> list[Part]:
    identity, name = one.text("tool_call.id"), one.text("tool_call.function.name")
    key = "tool_call.function.arguments"
    if not (identity or name or key in one.members):
        return []
    given = one.members.pop(key, None)
    return [call({} if given is None else given, one.at(key), identity, name)]


def _function(one: Branch) -> list[Part]:
    """The one call of a turn, before there were tools."""
    name, key = one.text("message.function_call_name"), "message.function_call_arguments_json"
    return [call(one.members.pop(key, {}), one.at(key), "", name)] if name else []
