"""What the three writers share: settings, schemas, and parts that can't go."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Iterable, Mapping
from itertools import count
from typing import Any

from replay.dialects.loose import items, mapping, merged
from replay.dialects.prompt import CHAT, MESSAGES, Call, Media, Native, Note, Part, Prompt

Notes = list[Note]
Body = dict[str, Any]

_REASONING_MODEL = re.compile(r"^(o\d|gpt-[5-9])(?!\d)")


def reasons_always(model: str) -> bool:
    """Whether OpenAI's ``model`` is of a family that takes ``max_completion_tokens`` only."""
    return bool(_REASONING_MODEL.match(model.rsplit("/", 1)[-1]))


def put_params(body: Body, prompt: Prompt, api: str, known: frozenset[str], notes: Notes) -> None:
    """Put the recording's own parameters over ``body``: all for the same API, else those it knows.

    A parameter that ``api`` wouldn't know is left out with a note: it would be refused.
    """
    for key, value in prompt.params.items():
        path = f"{prompt.params_path}/{escaped(key)}"
        if key == "tools" and isinstance(value, list) and prompt.api in (api, None):
            body["tools"] = [*items(body.get("tools")), *value]
        elif prompt.api == api or (prompt.api is None and key in known):
            merged(body, {key: copy.deepcopy(value)})
        elif all(note.path != path for note in notes):
            said = f"the parameter {key} is left out: it is one of {prompt.api or 'another API'}"
            notes.append(Note("param_left_out", path, said))


def put_provider_options(body: Body, prompt: Prompt, api: str, notes: Notes) -> None:
    """Put what was addressed to the provider of ``api`` over ``body``; note what was not."""
    provider, _, name = api.partition(".")
    for key, by_api in prompt.provider_options.items():
        if key != provider:
            said = f"options for {key} are left out: this call goes to {provider}"
            notes.append(Note("other_provider", f"/provider_options/{escaped(key)}", said))
            continue
        for addressed in ("*", name, api):
            merged(body, copy.deepcopy(dict(mapping(mapping(by_api).get(addressed)))))


def put_options(
    body: Body, prompt: Prompt, spell: Mapping[str, Callable[[Any], Body | str]], notes: Notes
) -> None:
    """Spell each option that is set: a ``spell`` function gives what to merge, or why it can't."""
    options = prompt.options
    for name in type(options).__dataclass_fields__:
        value = getattr(options, name)
        if value is None or value == ():
            continue
        said = spell[name](value)
        if isinstance(said, str):
            path = f"{prompt.options_path}/{name}"
            notes.append(Note(f"{name}_left_out", path, f"{name} is left out: {said}"))
        else:
            merged(body, said)


def object_schema(schema: Mapping[str, Any], path: str, notes: Notes) -> dict[str, Any]:
    """A tool's schema as the providers take it: that of an object. What is completed is noted."""
    completed = dict(schema)
    if "type" not in completed and not completed.keys() & {"$ref", "anyOf", "oneOf", "allOf"}:
        completed["type"] = "object"
        completed.setdefault("properties", {})
        said = "a schema without a type is sent as that of an object"
        notes.append(Note("schema_completed", path, said))
    return completed


def closed_schema(schema: Any, *, all_required: bool) -> Any:
    """An answer's schema as strict modes take it: every object closed, its members required."""
    if isinstance(schema, list):
        return [closed_schema(item, all_required=all_required) for item in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {
        key: value
        if key in ("enum", "const", "default", "examples", "required")
        else _closed_member(key, value, all_required=all_required)
        for key, value in schema.items()
    }
    if closed.get("type") == "object" or "properties" in closed:
        closed.setdefault("additionalProperties", False)
        if all_required:
            closed["required"] = list(mapping(closed.get("properties")))
    return closed


def _closed_member(key: str, value: Any, *, all_required: bool) -> Any:
    if key in ("properties", "$defs", "definitions", "patternProperties") and isinstance(
        value, dict
    ):
        return {k: closed_schema(v, all_required=all_required) for k, v in value.items()}
    return closed_schema(value, all_required=all_required)


def left_out(part: Media, api: str, notes: Notes) -> str:
    """The text that stands where a medium can't go, with a note of it."""
    said = f"{api} takes no {part.kind} as {part.mime or part.source}; a text says so instead"
    notes.append(Note("media_left_out", part.path, said))
    return f"[{part.kind} left out: this API cannot receive it in this form]"


def same_provider(prompt: Prompt, api: str) -> bool:
    """Whether ids of files made at the recording's provider mean something to ``api``'s."""
    return prompt.api is None or prompt.api.partition(".")[0] == api.partition(".")[0]


def hosted_tools(prompt: Prompt, api: str, notes: Notes) -> list[Any]:
    """The tools that run at the provider, for the API they were made for."""
    kept = []
    for index, tool in enumerate(prompt.hosted_tools):
        if tool.api == api:
            kept.append(dict(tool.item))
        else:
            notes.append(foreign_tool(tool, index))
    return kept


def foreign_tool(tool: Native, index: int) -> Note:
    """The note for a tool that runs at the provider of another API."""
    name = tool.item.get("type")
    said = f"the tool {name!r} is left out: it runs at another API's provider"
    return Note("hosted_tool_left_out", f"/tools/{index}", said)


def unsupported(names: Iterable[str], why: str) -> dict[str, Callable[[Any], Body | str]]:
    """Spellings for options an API has no place for."""
    return {name: (lambda _value: why) for name in names}


class CallIds:
    """Call ids as an API takes them; one that is too long or spelled otherwise is respelled."""

    def __init__(self, notes: Notes, *, most: int, illegal: re.Pattern[str] | None = None) -> None:
        self._notes = notes
        self._most = most
        self._illegal = illegal
        self._spelled: dict[str, str] = {}

    def spell(self, given: str, path: str) -> str:
        """The id to send for ``given``, the same for a call and its result."""
        if given in self._spelled:
            return self._spelled[given]
        legal = self._illegal.sub("_", given) if self._illegal else given
        legal = stem = legal[: self._most] or "call"
        for number in count(1):
            if legal not in self._spelled.values():
                break
            legal = f"{stem[: self._most - 5]}_{number}"
        self._spelled[given] = legal
        if legal != given:
            said = f"the API doesn't take the id {given!r}; {legal!r} is sent"
            self._notes.append(Note("call_id_respelled", path, said))
        return legal


_ILLEGAL_ID = re.compile(r"[^a-zA-Z0-9_-]")


def ids_for(api: str, notes: Notes) -> CallIds:
    """The rule of each API: how long an id may be, and of what letters."""
    if api == MESSAGES:
        return CallIds(notes, most=64, illegal=_ILLEGAL_ID)
    return CallIds(notes, most=40 if api == CHAT else 64)


def escaped(key: str) -> str:
    """A key as a JSON Pointer token."""
    return key.replace("~", "~0").replace("/", "~1")


def openai_cache(retention: str) -> Body | str:
    """OpenAI's prompt cache by retention; it can't be switched off."""
    if retention == "long":
        return {"prompt_cache_retention": "24h"}
    if retention == "short":
        return {"prompt_cache_retention": "in_memory"}
    return "OpenAI's prompt cache is always on"


def no_such_part(part: Part) -> Note:
    """The note for a part of an assistant's turn that an API has no place for."""
    return Note("part_left_out", part.path, "a part is left out: this API takes no such")


def invalid_arguments(part: Call) -> Note:
    """The note for arguments that the model wrote as no JSON object."""
    said = f"the arguments of a call were no JSON object: {(part.written or '')[:200]}"
    return Note("invalid_arguments", part.path, said)


def sealed_reasoning(path: str) -> Note:
    """The note for reasoning that has no text to send."""
    said = "the model's reasoning is left out: only the API it was recorded on can read it"
    return Note("reasoning_left_out", path, said)


def foreign_reasoning(path: str, api: str) -> Note:
    """The note for reasoning that only another API could take back as such."""
    said = f"{api} takes no reasoning of another API; it is sent as text"
    if api == MESSAGES:
        said = "reasoning without this API's signature is sent as text"
    return Note("reasoning_as_text", path, said)
