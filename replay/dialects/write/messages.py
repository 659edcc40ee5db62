"""Anthropic Messages: a prompt as a request body."""

from __future__ import annotations

import re
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
    put_options,
    put_params,
    put_provider_options,
    same_provider,
    sealed_reasoning,
    unsupported,
)
from replay.dialects.models import takes_one_sampling
from replay.dialects.prompt import (
    MESSAGES,
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
    "cache_control container context_management inference_geo mcp_servers metadata output_config"
    " service_tier speed stop_sequences thinking tool_choice tools top_k top_p"
)
KNOWN = frozenset(_KNOWN.split())
_IMAGES = ("image/jpeg", "image/png", "image/gif", "image/webp")
LEAST_BUDGET = 1024


# The highest limit of each family, by the first pattern found; Rig sends the same when none is set.
_LIMITS = (
    (re.compile(r"claude-3-(opus|sonnet|haiku)|claude-2|claude-instant"), 4096),
    (re.compile(r"claude-3-5"), 8192),
    (re.compile(r"claude-opus-4-(0|1|2025)"), 32000),
    (re.compile(r"claude-(3-7|(opus|sonnet|haiku|fable)-[4-9])"), 64000),
)
_OTHER_LIMIT = 16384


def default_max_tokens(model: str) -> int:
    """A limit for a request that was recorded without one; this API wants one."""
    return next((most for family, most in _LIMITS if family.search(model)), _OTHER_LIMIT)


def write(prompt: Prompt, model: str) -> tuple[Body, list[Note]]:
    """The request body for ``model``, and a note for all that is not in it as it was."""
    notes = [*prompt.notes]
    ids = ids_for(MESSAGES, notes)
    body: Body = {"model": model, "messages": list(_messages(prompt, ids, notes))}
    body["max_tokens"] = _limit(prompt, model, notes)
    system = list(_system(prompt, notes))
    if system:
        body["system"] = system
    _put_temperature(body, prompt, notes)
    tools = [_tool(tool, notes) for tool in prompt.tools] + hosted_tools(prompt, MESSAGES, notes)
    if tools:
        body["tools"] = tools
    _put_choice(body, prompt, notes)
    if prompt.schema:
        body["output_config"] = {"format": _format(prompt, notes)}
    elif prompt.json_only:
        said = "this API cannot ask for JSON without a schema; that the answer is JSON is not said"
        notes.append(Note("json_left_out", "/response_format", said))
    put_options(body, prompt, _spell(prompt, body), notes)
    put_provider_options(body, prompt, MESSAGES, notes)
    put_params(body, prompt, MESSAGES, KNOWN, notes)
    if prompt.stream:
        body["stream"] = True
    return body, notes


def _limit(prompt: Prompt, model: str, notes: Notes) -> int:
    if prompt.max_tokens is not None:
        return prompt.max_tokens
    limit = default_max_tokens(model)
    notes.append(limit_added(limit))
    return limit


def limit_added(limit: int) -> Note:
    """The note for a limit that is made up, as this API wants one."""
    said = f"the API wants a limit of tokens and none was recorded; {limit} is sent"
    return Note("max_tokens_added", "/max_tokens", said)


def _system(prompt: Prompt, notes: Notes) -> Iterator[Body]:
    lead = len(prompt.leading_system())
    for index, turn in enumerate(prompt.turns):
        if turn.role != "system":
            continue
        if index >= lead:
            said = "a system message in the middle goes to the top: this API has one place for it"
            notes.append(Note("system_moved", turn.path, said))
        if turn.text().strip():
            yield {"type": "text", "text": turn.text()}


def _put_temperature(body: Body, prompt: Prompt, notes: Notes) -> None:
    if prompt.temperature is None:
        return
    body["temperature"] = min(prompt.temperature, 1)
    if prompt.temperature > 1:
        notes.append(temperature_lowered(prompt.temperature))


def temperature_lowered(recorded: float) -> Note:
    """The note for a temperature that this API does not go up to."""
    said = f"the temperature {recorded} is above this API's highest, 1, so that is sent"
    return Note("temperature_lowered", "/temperature", said)


def _spell(prompt: Prompt, body: Body) -> dict[str, Callable[[Any], Body | str]]:
    def parallel(value: Any) -> Body | str:
        if value or "tools" not in body:
            return {}
        choice = body.get("tool_choice") or {"type": "auto"}
        return {"tool_choice": {**choice, "disable_parallel_tool_use": True}}

    def top_p(value: Any) -> Body | str:
        both = prompt.temperature is not None and prompt.api != MESSAGES
        if both and takes_one_sampling(body["model"]):
            return f"{body['model']} takes temperature or top_p, not both"
        return {"top_p": value}

    return {
        "reasoning": lambda value: _thinking(value, body["max_tokens"]),
        "cache": _cache,
        "service_tier": _tier,
        "parallel_tool_calls": parallel,
        "top_p": top_p,
        "stop": lambda value: {"stop_sequences": list(value)},
        **unsupported(("seed", "verbosity"), "the Messages API has no such parameter"),
    }


def _thinking(reasoning: Any, max_tokens: int) -> Body | str:
    if reasoning == "off":
        return {"thinking": {"type": "disabled"}}
    told = reasoning if isinstance(reasoning, Mapping) else {}
    if told.get("effort"):
        if told["effort"] == "minimal":
            return "this API has no minimal effort"
        return {"thinking": {"type": "adaptive"}, "output_config": {"effort": told["effort"]}}
    budget = (told.get("budget") or {}).get("tokens")
    if not isinstance(budget, int) or not LEAST_BUDGET <= budget < max_tokens:
        return f"a thinking budget is at least {LEAST_BUDGET} and below max_tokens"
    return {"thinking": {"type": "enabled", "budget_tokens": budget}}


def _cache(retention: Any) -> Body | str:
    if retention == "none":
        return {}
    marker = {"type": "ephemeral"}
    return {"cache_control": {**marker, "ttl": "1h"} if retention == "long" else marker}


def _tier(tier: Any) -> Body | str:
    spelled = {"auto": "auto", "default": "standard_only"}.get(str(tier))
    return {"service_tier": spelled} if spelled else f"this API has no {tier} tier"


def _tool(tool: Any, notes: Notes) -> Body:
    schema = object_schema(tool.schema, f"{tool.path}/parameters", notes)
    told = {"name": tool.name, "description": tool.description, "input_schema": schema}
    return {**told, "strict": True} if tool.strict else told


def _put_choice(body: Body, prompt: Prompt, notes: Notes) -> None:
    choice = prompt.tool_choice
    if choice is None:
        return
    if "tools" not in body:
        said = "there is no tool to choose, and the API refuses a choice without tools"
        notes.append(Note("tool_choice_left_out", "/tool_choice", said))
    elif isinstance(choice, str):
        body["tool_choice"] = {"type": "any" if choice == "required" else choice}
    elif len(choice) == 1:
        body["tool_choice"] = {"type": "tool", "name": choice[0]}
    else:
        body["tool_choice"] = {"type": "any"}
        said = "this API names one tool at most; any tool is asked for"
        notes.append(Note("tool_choice_widened", "/tool_choice", said))


def _format(prompt: Prompt, notes: Notes) -> Body:
    schema = prompt.schema
    assert schema is not None
    closed = closed_schema(schema.schema, all_required=False)
    if closed != schema.schema:
        said = "the API wants closed objects; so the schema is sent"
        notes.append(Note("schema_closed", schema.path, said))
    return {"type": "json_schema", "schema": closed}


BEFORE = "[the turns before this are not part of the request]"


def _messages(prompt: Prompt, ids: CallIds, notes: Notes) -> Iterator[Body]:
    """The turns; a user turn in front where a trimmed history begins with the model's."""
    asked = False
    for turn in prompt.turns:
        if turn.role == "system":
            continue
        blocks = _user if turn.role == "user" else _assistant
        content = list(blocks(turn, prompt, ids, notes))
        if not content:
            notes.append(Note("turn_left_out", turn.path, "nothing is left of this turn"))
            continue
        if turn.role == "assistant" and not asked:
            yield {"role": "user", "content": [{"type": "text", "text": BEFORE}]}
            said = "the API wants the user's turn first; one saying that turns are missing is sent"
            notes.append(Note("first_turn_added", turn.path, said))
        asked = True
        yield {"role": turn.role, "content": content}


def _user(turn: Turn, prompt: Prompt, ids: CallIds, notes: Notes) -> Iterator[Body]:
    results = [part for part in turn.parts if isinstance(part, Result)]
    if results and list(turn.parts[: len(results)]) != results:
        said = "results go first: the API wants them right after their calls"
        notes.append(Note("results_moved", results[0].path, said))
    for result in results:
        yield _result(result, prompt, ids, notes)
    for part in turn.parts:
        if isinstance(part, Text):
            yield from _text(part, notes)
        elif isinstance(part, Media):
            yield _medium(part, prompt, notes)
        elif isinstance(part, Opaque) and part.native.api == MESSAGES:
            yield dict(part.native.item)
        elif not isinstance(part, Result):
            notes.append(Note("part_left_out", part.path, "a part of another API is left out"))


def _text(part: Text, notes: Notes) -> Iterator[Body]:
    if part.text.strip():
        yield {"type": "text", "text": part.text}
    else:
        notes.append(Note("blank_text", part.path, "the API refuses a blank text; not sent"))


def _result(result: Result, prompt: Prompt, ids: CallIds, notes: Notes) -> Body:
    content: list[Body] = []
    for part in result.parts:
        if isinstance(part, Text):
            content += _text(part, notes)
        else:
            content.append(_medium(part, prompt, notes))
    block = {
        "type": "tool_result",
        "tool_use_id": ids.spell(result.call_id, result.path),
        "content": content,
    }
    return {**block, "is_error": True} if result.is_error else block


def _medium(part: Media, prompt: Prompt, notes: Notes) -> Body:
    source = _source(part, prompt)
    if source is None or part.kind not in ("image", "document"):
        return {"type": "text", "text": left_out(part, MESSAGES, notes)}
    if part.detail and part.detail != "auto":
        said = f"this API has no detail level; {part.detail} is left out"
        notes.append(Note("detail_left_out", f"{part.path}/detail", said))
    return {"type": part.kind, "source": source}


def _source(part: Media, prompt: Prompt) -> Body | None:
    if part.source == "file":
        own = same_provider(prompt, MESSAGES)
        return {"type": "file", "file_id": part.value} if own else None
    if part.source == "url":
        fits = part.kind == "image" or part.mime in (None, media.PDF)
        return {"type": "url", "url": part.value} if fits else None
    if part.source == "text":
        return {"type": "text", "media_type": "text/plain", "data": part.value}
    if part.source != "base64":
        return None
    if part.mime in (_IMAGES if part.kind == "image" else (media.PDF,)):
        return {"type": "base64", "media_type": part.mime, "data": part.value}
    written = media.as_text(part.value) if part.kind == "document" else None
    if written is None:
        return None
    return {"type": "text", "media_type": "text/plain", "data": written}


def _assistant(turn: Turn, prompt: Prompt, ids: CallIds, notes: Notes) -> Iterator[Body]:
    for part in turn.parts:
        native = getattr(part, "native", None)
        if native and native.api == MESSAGES and not isinstance(part, Call):
            yield dict(native.item)
        elif isinstance(part, Text):
            yield from _text(part, notes)
        elif isinstance(part, Call):
            yield _call(part, ids, notes)
        elif isinstance(part, Reasoning) and part.text.strip() and not part.redacted:
            yield {"type": "text", "text": part.text}
            notes.append(foreign_reasoning(part.path, MESSAGES))
        elif isinstance(part, Reasoning):
            notes.append(sealed_reasoning(part.path))
        else:
            notes.append(no_such_part(part))


def _call(part: Call, ids: CallIds, notes: Notes) -> Body:
    if part.written is not None:
        notes.append(invalid_arguments(part))
    own = dict(part.native.item) if part.native and part.native.api == MESSAGES else {}
    spelled = ids.spell(part.id, part.path)
    call = {"type": "tool_use", "id": spelled, "name": part.name, "input": dict(part.arguments)}
    return {**own, **call}
