"""OpenAI Chat Completions: a prompt as a request body, and a body as a prompt."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from replay.dialects import media
from replay.dialects.carry import (
    Body,
    CallIds,
    Notes,
    closed_schema,
    foreign_reasoning,
    hosted_tools,
    ids_for,
    invalid_arguments,
    left_out,
    no_such_part,
    object_schema,
    openai_cache,
    put_options,
    put_params,
    put_provider_options,
    reasons_always,
    same_provider,
    sealed_reasoning,
)
from replay.dialects.loose import compact_json
from replay.dialects.prompt import (
    CHAT,
    Call,
    Media,
    Note,
    Opaque,
    Prompt,
    Reasoning,
    Result,
    Text,
    Turn,
)

_KNOWN = (
    "audio frequency_penalty logit_bias logprobs max_completion_tokens metadata modalities n"
    " parallel_tool_calls prediction presence_penalty prompt_cache_key prompt_cache_options"
    " prompt_cache_retention reasoning_effort response_format safety_identifier seed service_tier"
    " stop store stream_options tool_choice tools top_logprobs top_p user verbosity"
    " web_search_options"
)
KNOWN = frozenset(_KNOWN.split())
_AUDIO = {"audio/wav": "wav", "audio/mpeg": "mp3"}


def write(prompt: Prompt, model: str) -> tuple[Body, list[Note]]:
    """The request body for ``model``, and a note for all that is not in it as it was."""
    notes = [*prompt.notes]
    ids = ids_for(CHAT, notes)
    body: Body = {"model": model, "messages": list(_messages(prompt, ids, notes))}
    tools = [
        {"type": "function", "function": _function(tool, notes)} for tool in prompt.tools
    ] + hosted_tools(prompt, CHAT, notes)
    if tools:
        body["tools"] = tools
    _put_choice(body, prompt, notes)
    if prompt.temperature is not None:
        body["temperature"] = prompt.temperature
    if prompt.max_tokens is not None:
        limit = "max_completion_tokens" if reasons_always(model) else "max_tokens"
        body[limit] = prompt.max_tokens
    if prompt.schema:
        body["response_format"] = _format(prompt, notes)
    elif prompt.json_only:
        body["response_format"] = {"type": "json_object"}
    put_options(body, prompt, _SPELL, notes)
    if "tools" not in body:
        body.pop("parallel_tool_calls", None)
    put_provider_options(body, prompt, CHAT, notes)
    put_params(body, prompt, CHAT, KNOWN, notes)
    if prompt.stream:
        body.setdefault("stream_options", {}).setdefault("include_usage", True)
        body["stream"] = True
    return body, notes


def _effort(reasoning: Any) -> Body | str:
    if reasoning == "off":
        return {"reasoning_effort": "none"}
    if isinstance(reasoning, Mapping) and reasoning.get("effort"):
        return {"reasoning_effort": reasoning["effort"]}
    return "Chat Completions takes an effort level, not a budget of tokens"


def _plain(name: str) -> Callable[[Any], Body | str]:
    return lambda value: {name: list(value) if isinstance(value, tuple) else value}


_SPELL: dict[str, Callable[[Any], Body | str]] = {
    "reasoning": _effort,
    "cache": openai_cache,
    **{
        name: _plain(name)
        for name in ("service_tier", "verbosity", "parallel_tool_calls", "top_p", "seed", "stop")
    },
}


def _function(tool: Any, notes: Notes) -> Body:
    function = {
        "name": tool.name,
        "description": tool.description,
        "parameters": object_schema(tool.schema, f"{tool.path}/parameters", notes),
    }
    return function if tool.strict is None else {**function, "strict": tool.strict}


def _put_choice(body: Body, prompt: Prompt, notes: Notes) -> None:
    choice = prompt.tool_choice
    if choice is None:
        return
    if "tools" not in body:
        said = "there is no tool to choose, and the API refuses a choice without tools"
        notes.append(Note("tool_choice_left_out", "/tool_choice", said))
    elif isinstance(choice, str):
        body["tool_choice"] = choice
    elif len(choice) == 1:
        body["tool_choice"] = {"type": "function", "function": {"name": choice[0]}}
    else:
        named = [{"type": "function", "function": {"name": name}} for name in choice]
        allowed = {"mode": "required", "tools": named}
        body["tool_choice"] = {"type": "allowed_tools", "allowed_tools": allowed}


def _format(prompt: Prompt, notes: Notes) -> Body:
    schema = prompt.schema
    assert schema is not None
    closed = closed_schema(schema.schema, all_required=True) if schema.strict else schema.schema
    if closed != schema.schema:
        said = "the strict mode wants closed objects with all members required; so it is sent"
        notes.append(Note("schema_closed", schema.path, said))
    shape = {"name": schema.name, "strict": schema.strict, "schema": closed}
    return {"type": "json_schema", "json_schema": shape}


def _messages(prompt: Prompt, ids: CallIds, notes: Notes) -> Iterator[Body]:
    for turn in prompt.turns:
        if turn.role == "system":
            yield {"role": "system", "content": turn.text()}
        elif turn.role == "user":
            yield from _user(turn, prompt, ids, notes)
        else:
            yield from _assistant(turn, ids, notes)


def _user(turn: Turn, prompt: Prompt, ids: CallIds, notes: Notes) -> Iterator[Body]:
    """A user turn: first the results of calls, a message each, then the rest as one message."""
    parts: list[Body] = []
    results = 0
    for index, part in enumerate(turn.parts):
        if not isinstance(part, Result):
            parts += _user_part(part, prompt, notes)
            continue
        if index > results:
            said = "results go first: the API wants them right after their calls"
            notes.append(Note("results_moved", part.path, said))
        results += 1
        called = ids.spell(part.call_id, part.path)
        told = _told(part, parts, prompt, notes)
        yield {"role": "tool", "tool_call_id": called, "content": told}
    if not parts:
        return
    if len(parts) == 1 and parts[0]["type"] == "text":
        yield {"role": "user", "content": parts[0]["text"]}
    else:
        yield {"role": "user", "content": parts}


def _user_part(part: Any, prompt: Prompt, notes: Notes) -> list[Body]:
    if isinstance(part, Text):
        return [{"type": "text", "text": part.text}]
    if isinstance(part, Media):
        return [_medium(part, prompt, notes)]
    if isinstance(part, Opaque) and part.native.api == CHAT:
        return [dict(part.native.item)]
    notes.append(Note("part_left_out", part.path, "a part of another API is left out"))
    return []


def _medium(part: Media, prompt: Prompt, notes: Notes) -> Body:
    url = _media_url(part)
    if part.kind == "image" and url:
        image = {"url": url, "detail": part.detail or "auto"}
        return {"type": "image_url", "image_url": image}
    if part.source == "text":
        return {"type": "text", "text": part.value}
    if part.kind == "document":
        if part.source == "file" and same_provider(prompt, CHAT):
            return {"type": "file", "file": {"file_id": part.value}}
        if part.source == "base64" and part.mime == media.PDF:
            file = {"file_data": url, "filename": "document.pdf"}
            return {"type": "file", "file": file}
        if part.source == "base64" and (written := media.as_text(part.value)) is not None:
            return {"type": "text", "text": written}
    if part.kind == "audio" and part.source == "base64" and part.mime in _AUDIO:
        sound = {"data": part.value, "format": _AUDIO[part.mime]}
        return {"type": "input_audio", "input_audio": sound}
    return {"type": "text", "text": left_out(part, CHAT, notes)}


def _media_url(part: Media) -> str | None:
    if part.source == "url":
        return part.value
    if part.source == "base64" and part.mime:
        return f"data:{part.mime};base64,{part.value}"
    return None


def _told(result: Result, after: list[Body], prompt: Prompt, notes: Notes) -> str:
    """A result as text, all a tool message takes; images go to ``after``, the next message."""
    told: list[str] = []
    for part in result.parts:
        medium = None if isinstance(part, Text) else _medium(part, prompt, notes)
        if isinstance(part, Text):
            told.append(part.text)
        elif medium and medium["type"] == "text":
            told.append(medium["text"])
        elif medium:
            after.append(medium)
            told.append(f"[{part.kind}: in the next message]")
            said = f"a tool result takes text only; the {part.kind} goes into the next message"
            notes.append(Note("media_moved", part.path, said))
    if result.is_error:
        said = "a tool message has no mark for a failed call; its text is sent as it is"
        notes.append(Note("is_error_left_out", f"{result.path}/is_error", said))
    return "\n".join(told)


def _assistant(turn: Turn, ids: CallIds, notes: Notes) -> Iterator[Body]:
    message: Body = {"role": "assistant"}
    texts: list[str] = []
    calls: list[Body] = []
    for part in turn.parts:
        if isinstance(part, Text):
            texts.append(part.text)
        elif isinstance(part, Call):
            calls.append(_call(part, ids, notes))
        elif isinstance(part, Reasoning):
            _reasoning(part, message, texts, notes)
        elif isinstance(part, Opaque) and part.native.api == CHAT:
            message.update(part.native.item)
        else:
            notes.append(no_such_part(part))
    if "".join(texts):
        message["content"] = "".join(texts)
    if calls:
        message["tool_calls"] = calls
    if message.keys() & {"content", "tool_calls", "refusal", "audio"}:
        yield message
    else:
        notes.append(Note("turn_left_out", turn.path, "nothing is left of this turn"))


def _reasoning(part: Reasoning, message: Body, texts: list[str], notes: Notes) -> None:
    native = part.native
    if native and native.api == CHAT and "type" not in native.item:
        message.update(native.item)
    elif part.text.strip():
        texts.append(part.text)
        notes.append(foreign_reasoning(part.path, CHAT))
    else:
        notes.append(sealed_reasoning(part.path))


def _call(part: Call, ids: CallIds, notes: Notes) -> Body:
    if part.written is not None:
        notes.append(invalid_arguments(part))
    written = compact_json(dict(part.arguments))
    if part.native and part.native.api == CHAT:
        own = part.native.item.get("function") or {}
        written = own.get("arguments", written) if isinstance(own, dict) else written
    return {
        "id": ids.spell(part.id, part.path),
        "type": "function",
        "function": {"name": part.name, "arguments": written},
    }
