"""What a client library made of a call: the recorded prompt held against the body it sent."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from replay.dialects import Note, Prompt, read_body
from replay.dialects.carry import escaped, foreign_tool
from replay.dialects.settle import settled
from replay.providers.fidelity_parts import notes_on_parts


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
        *notes_on_parts(prompt, said, sent),
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
    for name in _SETTINGS:
        if name == "parallel_tool_calls" and (prompt.tool_choice == "none" or not prompt.tools):
            continue  # with no tool to call
        path = f"{prompt.options_path}/{name}"
        yield from _setting(name, path, getattr(prompt.options, name), getattr(said.options, name))
    if prompt.options.cache in ("short", "long") and "cache_control" not in json.dumps(sent):
        told = "the prompt is not asked to be cached"
        yield Note("cache_left_out", f"{prompt.options_path}/cache", told)
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
        if found is not None and bool(found.strict) != bool(tool.strict):
            told = f"the tool {tool.name} is {'' if found.strict else 'not '}asked for strictly"
            yield Note("strict_changed", f"{tool.path}/strict", told)
    # To force any of the tools named, when no other is offered, is the same choice.
    forced = tuple(sent) if said.tool_choice == "required" else said.tool_choice
    if prompt.tool_choice not in (None, said.tool_choice, forced):
        was, now = _json(prompt.tool_choice), _json(said.tool_choice)
        told = f"the choice of tools was {was}, sent is {now}"
        yield Note("tool_choice_changed", "/tool_choice", told)
    yield from _shape(prompt, said)


def _shape(prompt: Prompt, said: Prompt) -> Iterator[Note]:
    if prompt.json_only and not said.json_only:
        told = "that the answer is JSON is not asked for"
        yield Note("json_left_out", "/response_format", told)
    if prompt.schema and said.schema is None:
        told = "the shape of the answer is not asked for"
        yield Note("schema_left_out", prompt.schema.path, told)
    elif prompt.schema and said.schema and said.schema.schema != prompt.schema.schema:
        told = "the library sends the shape of the answer in other words"
        yield Note("schema_changed", prompt.schema.path, told)
    elif prompt.schema and said.schema and said.schema.strict != prompt.schema.strict:
        told = f"the shape of the answer is {'' if said.schema.strict else 'not '}held to strictly"
        yield Note("schema_changed", prompt.schema.path, told)


def _left(prompt: Prompt) -> Iterator[Note]:
    """What the library is not given, as only the recording's own API knows it."""
    noted = {note.path for note in prompt.notes}
    for key in prompt.params:
        path = f"{prompt.params_path}/{escaped(key)}"
        if path not in noted:
            yield Note("param_left_out", path, f"{key} is left out: it is one of {prompt.api}")
    for key in prompt.provider_options:
        path = f"/provider_options/{escaped(key)}"
        yield Note("other_provider", path, f"options for {key} are left out")
    for index, tool in enumerate(prompt.hosted_tools):
        yield foreign_tool(tool, index)
