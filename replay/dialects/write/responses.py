"""OpenAI Responses: a prompt as a request body."""

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
    same_provider,
    sealed_reasoning,
    unsupported,
)
from replay.dialects.loose import compact_json
from replay.dialects.prompt import (
    RESPONSES,
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
    "background context_management conversation include max_tool_calls metadata"
    " parallel_tool_calls previous_response_id prompt prompt_cache_key prompt_cache_options"
    " prompt_cache_retention reasoning safety_identifier service_tier store stream_options text"
    " tool_choice tools top_logprobs top_p truncation user"
)
KNOWN = frozenset(_KNOWN.split())
LEAST_OUTPUT = 16
LIMIT_RAISED = Note(
    "max_tokens_raised",
    "/max_tokens",
    f"the API takes no limit of tokens below {LEAST_OUTPUT}, so that is sent",
)


def write(prompt: Prompt, model: str) -> tuple[Body, list[Note]]:
    """The request body for ``model``, and a note for all that is not in it as it was."""
    notes = [*prompt.notes]
    lead = prompt.leading_system()
    rest = prompt.turns[len(lead) :]
    ids = ids_for(RESPONSES, notes)
    body: Body = {"model": model, "input": list(_items(rest, prompt, ids, notes))}
    if instructions := prompt.system():
        body["instructions"] = instructions
    _put_limit(body, prompt, notes)
    if prompt.temperature is not None:
        body["temperature"] = prompt.temperature
    tools = [_function(tool, notes) for tool in prompt.tools] + hosted_tools(
        prompt, RESPONSES, notes
    )
    if tools:
        body["tools"] = tools
    _put_choice(body, prompt, notes)
    if prompt.schema:
        body["text"] = {"format": _format(prompt, notes)}
    elif prompt.json_only:
        body["text"] = {"format": {"type": "json_object"}}
    put_options(body, prompt, _SPELL, notes)
    put_provider_options(body, prompt, RESPONSES, notes)
    put_params(body, prompt, RESPONSES, KNOWN, notes)
    if prompt.stream:
        body["stream"] = True
    return body, notes


def _effort(reasoning: Any) -> Body | str:
    if reasoning == "off":
        return {"reasoning": {"effort": "none"}}
    if isinstance(reasoning, Mapping) and reasoning.get("effort"):
        return {"reasoning": {"effort": reasoning["effort"]}}
    return "Responses takes an effort level, not a budget of tokens"


_SPELL: dict[str, Callable[[Any], Body | str]] = {
    "reasoning": _effort,
    "cache": openai_cache,
    "service_tier": lambda tier: {"service_tier": tier},
    "verbosity": lambda level: {"text": {"verbosity": level}},
    "parallel_tool_calls": lambda value: {"parallel_tool_calls": value},
    "top_p": lambda value: {"top_p": value},
    **unsupported(("seed", "stop"), "the Responses API has no such parameter"),
}


def _put_limit(body: Body, prompt: Prompt, notes: Notes) -> None:
    if prompt.max_tokens is None:
        return
    body["max_output_tokens"] = max(prompt.max_tokens, LEAST_OUTPUT)
    if prompt.max_tokens < LEAST_OUTPUT:
        notes.append(LIMIT_RAISED)


def _function(tool: Any, notes: Notes) -> Body:
    return {
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": object_schema(tool.schema, f"{tool.path}/parameters", notes),
        # The API's default is strict, which most recorded schemas don't meet.
        "strict": bool(tool.strict),
    }


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
        body["tool_choice"] = {"type": "function", "name": choice[0]}
    else:
        named = [{"type": "function", "name": name} for name in choice]
        body["tool_choice"] = {"type": "allowed_tools", "mode": "required", "tools": named}


def _format(prompt: Prompt, notes: Notes) -> Body:
    schema = prompt.schema
    assert schema is not None
    closed = closed_schema(schema.schema, all_required=True) if schema.strict else schema.schema
    if closed != schema.schema:
        said = "the strict mode wants closed objects with all members required; so it is sent"
        notes.append(Note("schema_closed", schema.path, said))
    return {"type": "json_schema", "name": schema.name, "schema": closed, "strict": schema.strict}


def _items(turns: tuple[Turn, ...], prompt: Prompt, ids: CallIds, notes: Notes) -> Iterator[Body]:
    for turn in turns:
        if turn.role == "system":
            yield _message("system", [{"type": "input_text", "text": turn.text()}])
        elif turn.role == "user":
            yield from _user(turn, prompt, ids, notes)
        else:
            yield from _assistant(turn, ids, notes)


def _message(role: str, content: list[Body]) -> Body:
    return {"type": "message", "role": role, "content": content}


def _user(turn: Turn, prompt: Prompt, ids: CallIds, notes: Notes) -> Iterator[Body]:
    """Results as items, every other part as a message of its own, as Rig sends them."""
    for part in turn.parts:
        if isinstance(part, Result):
            yield _output(part, prompt, ids, notes)
        elif isinstance(part, Text):
            if part.text.strip():
                yield _message("user", [{"type": "input_text", "text": part.text}])
            else:
                notes.append(Note("blank_text", part.path, "a blank text is not sent"))
        elif isinstance(part, Media):
            yield _message("user", [_medium(part, prompt, notes)])
        elif isinstance(part, Opaque) and part.native.api == RESPONSES:
            yield dict(part.native.item)
        else:
            notes.append(Note("part_left_out", part.path, "a part of another API is left out"))


def _output(result: Result, prompt: Prompt, ids: CallIds, notes: Notes) -> Body:
    parts = [
        {"type": "input_text", "text": part.text}
        if isinstance(part, Text)
        else _medium(part, prompt, notes)
        for part in result.parts
    ]
    if result.is_error:
        said = "a call's output has no mark for a failed call; its text is sent as it is"
        notes.append(Note("is_error_left_out", f"{result.path}/is_error", said))
    single = len(parts) == 1 and parts[0]["type"] == "input_text"
    output: Any = parts[0]["text"] if single else parts or ""
    called = ids.spell(result.call_id, result.path)
    return {"type": "function_call_output", "call_id": called, "output": output}


def _medium(part: Media, prompt: Prompt, notes: Notes) -> Body:
    url = part.value if part.source == "url" else None
    if part.source == "base64" and part.mime:
        url = f"data:{part.mime};base64,{part.value}"
    own_file = part.source == "file" and same_provider(prompt, RESPONSES)
    if part.kind == "image" and (url or own_file):
        where = {"image_url": url} if url else {"file_id": part.value}
        return {"type": "input_image", "detail": part.detail or "auto", **where}
    if part.source == "text":
        return {"type": "input_text", "text": part.value}
    if part.kind == "document":
        if own_file:
            return {"type": "input_file", "file_id": part.value}
        if part.source == "url":
            return {"type": "input_file", "file_url": part.value}
        if part.mime == media.PDF:
            return {"type": "input_file", "file_data": url, "filename": "document.pdf"}
        if part.source == "base64" and (written := media.as_text(part.value)) is not None:
            return {"type": "input_text", "text": written}
    return {"type": "input_text", "text": left_out(part, RESPONSES, notes)}


def _assistant(turn: Turn, ids: CallIds, notes: Notes) -> Iterator[Body]:
    for part in turn.parts:
        native = getattr(part, "native", None)
        if native and native.api == RESPONSES:
            yield dict(native.item)
        elif isinstance(part, Text) and part.text.strip():
            yield _said(part.text)
        elif isinstance(part, Text):
            notes.append(Note("blank_text", part.path, "a blank text is not sent"))
        elif isinstance(part, Call):
            yield _call(part, ids, notes)
        elif isinstance(part, Reasoning) and part.text.strip() and not part.redacted:
            yield _said(part.text)
            notes.append(foreign_reasoning(part.path, RESPONSES))
        elif isinstance(part, Reasoning):
            notes.append(sealed_reasoning(part.path))
        else:
            notes.append(no_such_part(part))


def _said(text: str) -> Body:
    return _message("assistant", [{"type": "output_text", "text": text}])


def _call(part: Call, ids: CallIds, notes: Notes) -> Body:
    if part.written is not None:
        notes.append(invalid_arguments(part))
    written = compact_json(dict(part.arguments))
    return {
        "type": "function_call",
        "call_id": ids.spell(part.id, part.path),
        "name": part.name,
        "arguments": written,
    }
