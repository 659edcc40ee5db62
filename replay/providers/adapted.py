"""A prompt as the other API takes it, before the provider's library words it.

The library hands on what it is given, so what would surely be refused is made to fit here, each
with a note. The plan and the call are made of the same prompt: what is told is what goes out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from replay.dialects import CHAT, MESSAGES, RESPONSES, Note, Prompt
from replay.dialects.carry import closed_schema
from replay.dialects.models import (
    most_output,
    never_reasons,
    takes_no_sampling,
    takes_one_sampling,
)
from replay.dialects.prompt import Media, Opaque, Part, Text
from replay.dialects.write.messages import (
    LEAST_BUDGET,
    default_max_tokens,
    limit_added,
    temperature_lowered,
)
from replay.dialects.write.responses import LEAST_OUTPUT, LIMIT_RAISED

MOST_UNSTREAMED = 16384
_FAMILIES = "fable-5|mythos-5|sonnet-5|opus-5|haiku-5-5"
_ADAPTIVE = re.compile(rf"^claude-({_FAMILIES}|mythos|sonnet-4-6|opus-4-[6-8])")
_KNOWS_XHIGH = re.compile(rf"^claude-({_FAMILIES}|opus-4-[78])")
_NEVER_THINKS = re.compile(r"^claude-(2|instant|3-(opus|sonnet|haiku)|3-5)")
_BUDGETS = {"minimal": 1024, "low": 2048, "medium": 10000, "high": 16384}
_MOST_BUDGET = 32768


def adapted(prompt: Prompt, api: str, model: str, *, keeps_top_p: bool = False) -> Prompt:
    """``prompt`` with limits, sampling and thinking that ``model`` takes on ``api``.

    ``keeps_top_p``: where one of top_p and temperature has to go, it is the temperature.
    """
    prompt = _unsampled(_said(_limited(prompt, api, model)), api, model)
    if api == MESSAGES:
        return _sampled(_thinking(prompt, model), model, keeps_top_p)
    if prompt.options.reasoning and prompt.options.reasoning != "off" and never_reasons(model):
        prompt = _reasons(prompt, None, f"reasoning is left out: {model} does not reason")
    return prompt


def in_library_words(prompt: Prompt, api: str) -> Prompt:
    """``prompt`` with notes of what the library is known to word in its own way."""
    prompt = _strictly(prompt, api)
    return _shaped(prompt) if api == MESSAGES else _in_its_words(prompt, api)


def foretold(notes: Sequence[Note], api: str) -> list[Note]:
    """The notes on our own wording of a call, where the library's is known to be another."""
    return [_foretold_error(note, api) for note in notes]


def _foretold_error(note: Note, api: str) -> Note:
    if note.code != "is_error_left_out" or api == MESSAGES:
        return note
    said = 'this API marks no failed call; its result goes out as {"error": …}'
    return Note("is_error_reworded", note.path, said)


def _said(prompt: Prompt) -> Prompt:
    """With refusals as texts: no other API takes one as such."""
    notes: list[Note] = []
    turns = []
    for turn in prompt.turns:
        parts = tuple(_refusal(part, notes) for part in turn.parts)
        turns.append(turn if parts == turn.parts else replace(turn, parts=parts))
    return _noted(replace(prompt, turns=tuple(turns)), *notes) if notes else prompt


def _refusal(part: Part, notes: list[Note]) -> Part:
    words = part.native.item.get("refusal") if isinstance(part, Opaque) else None
    if not isinstance(words, str) or not words.strip():
        return part
    notes.append(Note("refusal_as_text", part.path, "the refusal goes out as a plain text"))
    return Text(words, part.path)


def _limited(prompt: Prompt, api: str, model: str) -> Prompt:
    """With a limit the API takes.

    Where one has to be made up for Anthropic, it is low enough that the library doesn't stream on
    its own.
    """
    limit, most = prompt.max_tokens, most_output(model)
    if api == MESSAGES and limit is None:
        limit = min(default_max_tokens(model), MOST_UNSTREAMED)
        note = limit_added(limit)
    elif api == RESPONSES and limit is not None and limit < LEAST_OUTPUT:
        note, limit = LIMIT_RAISED, LEAST_OUTPUT
    elif most is not None and type(limit) is int and limit > most:
        said = f"{model} gives {most:,} tokens at most; that is sent in place of {limit:,}"
        note, limit = Note("max_tokens_lowered", "/max_tokens", said), most
    else:
        return prompt
    return _noted(replace(prompt, max_tokens=limit), note)


def _shaped(prompt: Prompt) -> Prompt:
    """Told that the shape of the answer goes out without titles, where it has some."""
    if prompt.schema is None or not _has_title(prompt.schema.schema):
        return prompt
    said = "the shape of the answer goes out without its titles"
    return _noted(prompt, Note("schema_changed", prompt.schema.path, said))


def _strictly(prompt: Prompt, api: str) -> Prompt:
    """Told which strict tools go out in other words: their schemas are made fit for the API."""
    said = "its schema is strict, and goes out as this API wants those"
    notes = [
        Note("tool_changed", tool.path, f"the tool {tool.name}: {said}")
        for tool in prompt.tools
        if tool.strict
        and (
            _has_title(tool.schema)
            or closed_schema(tool.schema, all_required=api != MESSAGES) != tool.schema
        )
    ]
    return _noted(prompt, *notes) if notes else prompt


def _has_title(schema: Any) -> bool:
    if isinstance(schema, list):
        return any(map(_has_title, schema))
    if not isinstance(schema, dict):
        return False
    return isinstance(schema.get("title"), str) or any(map(_has_title, schema.values()))


def _unsampled(prompt: Prompt, api: str, model: str) -> Prompt:
    """Without a temperature and a top_p where ``model`` refuses them; the library drops them."""
    reasoning = prompt.options.reasoning
    told = "none" if reasoning == "off" else None
    effort = reasoning.get("effort") if isinstance(reasoning, Mapping) else told
    if not takes_no_sampling(api, model, effort):
        return prompt
    options = f"{prompt.options_path}/top_p"
    asked = (
        ("temperature", "/temperature", prompt.temperature),
        ("top_p", options, prompt.options.top_p),
    )
    notes = [
        Note(f"{name}_left_out", path, f"{model} takes no {name} but its own; {value} is left out")
        for name, path, value in asked
        if value is not None
    ]
    if not notes:
        return prompt
    bare = replace(prompt, temperature=None, options=replace(prompt.options, top_p=None))
    return _noted(bare, *notes)


def _sampled(prompt: Prompt, model: str, keeps_top_p: bool) -> Prompt:
    """With a temperature that Anthropic takes, and one of two where ``model`` refuses both."""
    if isinstance(prompt.temperature, int | float) and prompt.temperature > 1:
        prompt = _noted(replace(prompt, temperature=1), temperature_lowered(prompt.temperature))
    options = prompt.options
    if prompt.temperature is None or options.top_p is None or not takes_one_sampling(model):
        return prompt
    said = f"{model} takes temperature or top_p, not both"
    if keeps_top_p:
        note = Note("temperature_left_out", "/temperature", f"{said}; temperature is left out")
        return _noted(replace(prompt, temperature=None), note)
    left = f"{said}; top_p is left out"
    note = Note("top_p_left_out", f"{prompt.options_path}/top_p", left)
    return _noted(replace(prompt, options=replace(options, top_p=None)), note)


def _thinking(prompt: Prompt, model: str) -> Prompt:
    """An effort as ``model`` knows it: as a level, or as a budget that the limit has room for."""
    reasoning = prompt.options.reasoning
    effort = reasoning.get("effort") if isinstance(reasoning, Mapping) else None
    if not isinstance(effort, str):
        return prompt
    bare = model.rsplit("/", 1)[-1]
    if _ADAPTIVE.match(bare):
        level = {"minimal": "low"}.get(effort, effort)
        level = "max" if level == "xhigh" and not _KNOWS_XHIGH.match(bare) else level
        said = f"reasoning effort {effort} goes out as {level}"
        return prompt if level == effort else _reasons(prompt, {"effort": level}, said)
    budget = _budget(effort, prompt.max_tokens)
    if _NEVER_THINKS.match(bare) or budget is None:
        why = f"{model} does not think" if budget else "the limit leaves no room for thinking"
        return _reasons(prompt, None, f"reasoning effort {effort} is left out: {why}")
    said = f"reasoning effort {effort} goes out as a thinking budget of {budget} tokens"
    return _reasons(prompt, {"budget": {"tokens": budget}}, said)


def _budget(effort: str, limit: int | None) -> int | None:
    """Tokens to think in; half of the limit at most, as thinking counts in it."""
    room = (limit or 0) // 2
    return min(_BUDGETS.get(effort, _MOST_BUDGET), room) if room >= LEAST_BUDGET else None


def _reasons(prompt: Prompt, reasoning: Any, said: str) -> Prompt:
    code = "reasoning_left_out" if reasoning is None else "reasoning_changed"
    note = Note(code, f"{prompt.options_path}/reasoning", said)
    return _noted(replace(prompt, options=replace(prompt.options, reasoning=reasoning)), note)


def _in_its_words(prompt: Prompt, api: str) -> Prompt:
    """With what the library is known to word in its own way at OpenAI's APIs."""
    if api == CHAT and prompt.max_tokens is not None:
        said = "max_tokens goes out as max_completion_tokens"
        prompt = _noted(prompt, Note("max_tokens_renamed", "/max_tokens", said))
    if prompt.options.cache in ("short", "long"):
        said = "the prompt is not asked to be cached; cost and latency may differ for that"
        note = Note("cache_left_out", f"{prompt.options_path}/cache", said)
        prompt = _noted(replace(prompt, options=replace(prompt.options, cache=None)), note)
    if api != RESPONSES:
        return prompt
    said = "the library passes on no id of a file; a text says so instead"
    files = [part for turn in prompt.turns for part in turn.parts if isinstance(part, Media)]
    notes = [Note("media_left_out", one.path, said) for one in files if one.source == "file"]
    return _noted(prompt, *notes)


def _noted(prompt: Prompt, *notes: Note) -> Prompt:
    return replace(prompt, notes=(*prompt.notes, *notes))
