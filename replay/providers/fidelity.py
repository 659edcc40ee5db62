"""What a client library made of a call: the recorded prompt held against the body it sent."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from replay.dialects import Note, Prompt, read_body
from replay.dialects.carry import escaped
from replay.dialects.prompt import Call, Media, Opaque, Part, Reasoning, Result, Text
from replay.dialects.settle import settled


def notes_from_wire(prompt: Prompt, api: str, sent: Mapping[str, Any]) -> tuple[Note, ...]:
    """A note for each thing of ``prompt`` that is not in ``sent``, or is there in other words.

    Told from the bytes that went out, not from what the library is believed to do.
    """
    prompt, said = settled(prompt), read_body(api, sent)
    return (
        Note("api_changed", "", f"recorded on {prompt.api}, asked on {api}"),
        *prompt.notes,
        *_settings(prompt, said, sent),
        *_tools(prompt, said),
        *_parts(prompt, said, sent),
        *_left(prompt),
    )


_SETTINGS = (
    "top_p",
    "seed",
    "stop",
    "service_tier",
    "verbosity",
    "parallel_tool_calls",
    "reasoning",
)


def _settings(prompt: Prompt, said: Prompt, sent: Mapping[str, Any]) -> Iterator[Note]:
    yield from _setting("temperature", "/temperature", prompt.temperature, said.temperature)
    yield from _setting("max_tokens", "/max_tokens", prompt.max_tokens, said.max_tokens)
    if prompt.max_tokens is not None and "max_completion_tokens" in sent:
        said_so = "max_tokens goes out as max_completion_tokens"
        yield Note("max_tokens_renamed", "/max_tokens", said_so)
    for name in _SETTINGS:
        path = f"{prompt.options_path}/{name}"
        yield from _setting(name, path, getattr(prompt.options, name), getattr(said.options, name))
    if prompt.stream != said.stream:
        way = "streamed" if said.stream else "sent whole"
        yield Note("stream_changed", "/stream", f"the answer is {way}, other than recorded")


def _setting(name: str, path: str, recorded: Any, sent: Any) -> Iterator[Note]:
    if recorded in (None, ()) or recorded == sent:
        return
    if sent in (None, ()):
        told = f"{name} was {_json(recorded)}; the library left it out"
        yield Note(f"{name}_left_out", path, told)
    else:
        told = f"{name} was {_json(recorded)}; the library sent {_json(sent)}"
        yield Note(f"{name}_changed", path, told)


def _json(value: Any) -> str:
    """A value as people know it from the log, without quotes around a mere name."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _tools(prompt: Prompt, said: Prompt) -> Iterator[Note]:
    sent = {tool.name: tool for tool in said.tools}
    for tool in prompt.tools:
        found = sent.get(tool.name)
        if found is None:
            yield Note("tool_left_out", tool.path, f"the tool {tool.name} is not in the request")
        elif found.schema != tool.schema or found.description != tool.description:
            told = f"the library words the tool {tool.name} otherwise"
            yield Note("tool_changed", tool.path, told)
    # To force any of the tools named, when no other is offered, is the same choice.
    forced = tuple(sent) if said.tool_choice == "required" else said.tool_choice
    if prompt.tool_choice not in (None, said.tool_choice, forced):
        was, now = _json(prompt.tool_choice), _json(said.tool_choice)
        told = f"the choice of tools was {was}, sent is {now}"
        yield Note("tool_choice_changed", "/tool_choice", told)
    if prompt.schema and said.schema is None:
        told = "the shape of the answer is not asked for"
        yield Note("schema_left_out", prompt.schema.path, told)
    elif prompt.schema and said.schema and said.schema.schema != prompt.schema.schema:
        told = "the library sends the shape of the answer in other words"
        yield Note("schema_changed", prompt.schema.path, told)


def _parts(prompt: Prompt, said: Prompt, sent: Mapping[str, Any]) -> Iterator[Note]:
    texts = "\n".join(_strings(sent))
    failed = {p.call_id: p for t in said.turns for p in t.parts if isinstance(p, Result)}
    noted = {note.path for note in prompt.notes}
    for turn in prompt.turns:
        for part in turn.parts:
            if part.path not in noted:
                yield from _part(part, texts, failed)


def _part(part: Part, texts: str, results: Mapping[str, Result]) -> Iterator[Note]:
    if isinstance(part, Text) and part.text.strip() and part.text not in texts:
        yield Note("text_left_out", part.path, "a text is not in the request as it was")
    elif isinstance(part, Media) and part.value and part.value not in texts:
        yield Note("media_left_out", part.path, f"the {part.kind} is not in the request")
    elif isinstance(part, Call) and part.id not in texts:
        yield Note("call_id_respelled", part.path, f"the call id {part.id} is not in the request")
    elif isinstance(part, Result):
        yield from _result(part, texts, results.get(part.call_id))
    elif isinstance(part, Reasoning):
        yield from _reasoning(part, texts)
    elif isinstance(part, Opaque):
        yield Note("part_left_out", part.path, "a part of another API is left out")


def _result(part: Result, texts: str, sent: Result | None) -> Iterator[Note]:
    for inner in part.parts:
        yield from _part(inner, texts, {})
    if part.is_error and sent is not None and not sent.is_error:
        told = "".join(inner.text for inner in sent.parts if isinstance(inner, Text))
        plain = "".join(inner.text for inner in part.parts if isinstance(inner, Text))
        code = "is_error_left_out" if told == plain else "is_error_reworded"
        said = f"this API marks no failed call; its result is sent as {told[:100]!r}"
        yield Note(code, f"{part.path}/is_error", said)


def _reasoning(part: Reasoning, texts: str) -> Iterator[Note]:
    signature = part.native.item.get("signature") if part.native else None
    if isinstance(signature, str) and signature in texts:
        return
    if part.text.strip() and part.text in texts:
        said = "reasoning goes out as text, marked by the library"
        yield Note("reasoning_reworded", part.path, said)
    else:
        yield Note("reasoning_left_out", part.path, "reasoning is not in the request")


def _left(prompt: Prompt) -> Iterator[Note]:
    """What the library is not given, as only the recording's own API knows it."""
    for key in prompt.params:
        path = f"{prompt.params_path}/{escaped(key)}"
        yield Note("param_left_out", path, f"{key} is a parameter of {prompt.api} alone")
    for key in prompt.provider_options:
        path = f"/provider_options/{escaped(key)}"
        yield Note("other_provider", path, f"options for {key} are left out")
    for tool in prompt.hosted_tools:
        said = f"the tool {tool.item.get('type')!r} runs at another API's provider"
        yield Note("hosted_tool_left_out", "/tools", said)


def _strings(value: object) -> list[str]:
    """All texts in a value, in no order."""
    found, waiting = [], [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, str):
            found.append(one)
        elif isinstance(one, dict):
            waiting += one.values()
        elif isinstance(one, list):
            waiting += one
    return found
