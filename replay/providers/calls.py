"""A recorded completion made ready to be asked again: where, in which lane, with what body.

**same**: the recorded body, or the request rebuilt in the API it was made for, goes out as it is
but for what was changed. **cross**: the call was made on another API; the provider's own client
library says it anew, through ``pydantic_ai.direct``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal
from urllib.parse import urlsplit

from replay.dialects import (
    CHAT,
    MESSAGES,
    RESPONSES,
    Note,
    Overrides,
    Prompt,
    api_of,
    change_body,
    change_prompt,
    known_fields,
    read_body,
    read_request,
    recorded_api,
    write_body,
)
from replay.dialects.bodies import open_call_ids
from replay.dialects.closing import close_calls
from replay.dialects.loose import items, mapping, text
from replay.dialects.models import may_refuse
from replay.providers.adapted import adapted, foretold, in_library_words
from replay.providers.catalog import ANTHROPIC_VERSION, Provider
from replay.providers.manners import for_mistral
from rewyn_sdk.exact import as_written

Lane = Literal["same", "cross"]
APIS = (CHAT, RESPONSES, MESSAGES)
PromptOf = Callable[[Mapping[str, Any]], Prompt]
_CARRIED = ("anthropic-beta", "anthropic-version", "openai-beta")


class CannotAsk(ValueError):
    """The record is no model call that can be asked again; the message says why."""


@dataclass(frozen=True)
class Call:
    """A call ready to go.

    ``body`` is what will be sent. In the cross lane it is what we would send; the library may word
    it otherwise, and the result has what it did. ``headers`` hold no secret. ``notes`` tell what is
    not as it was recorded, as far as that is known beforehand.
    """

    provider: Provider
    dialect: str
    lane: Lane
    model: str
    url: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]
    notes: tuple[Note, ...] = ()
    prompt: Prompt | None = field(default=None, repr=False)
    is_worded: bool = False
    """Whether the body is what goes out, in the cross lane too."""

    @property
    def streams(self) -> bool:
        return self.body.get("stream") is True

    @cached_property
    def request_bytes(self) -> bytes:
        """The body as JSON. Half a surrogate pair, which UTF-8 can't hold, goes out escaped."""
        try:
            written = as_written(self.body)
            if written is None:
                written = json.dumps(self.body, ensure_ascii=False, separators=(",", ":"))
            return written.encode()
        except UnicodeEncodeError:
            return json.dumps(self.body, separators=(",", ":")).encode()


NO_CALL = "the effect is no model call"
NO_REQUEST = "nothing was recorded of what it was asked"
NO_MESSAGE = "no message was recorded of what it was asked"


def why_not(record: Mapping[str, Any], wire: Mapping[str, Any] | None) -> str:
    """Why a recorded call cannot be asked again; empty where it can, as far as it tells."""
    sent = mapping(mapping(wire).get("request"))
    if why := _lacks(record, sent):
        return why
    if sent and api_of(text(mapping(wire).get("url")), sent):
        return ""
    return "" if recorded_prompt(record).turns else NO_MESSAGE


def _lacks(record: Mapping[str, Any], sent: Mapping[str, Any]) -> str:
    kind = mapping(record.get("kind"))
    if kind.get("effect") != "completion":
        return NO_CALL
    return "" if mapping(kind.get("request")) or sent else NO_REQUEST


def build_call(
    record: Mapping[str, Any],
    wire: Mapping[str, Any] | None,
    *,
    provider: Provider,
    model: str,
    overrides: Overrides | None = None,
    prompt_of: PromptOf | None = None,
) -> Call:
    """A recorded completion as a call to ``model`` at ``provider``.

    ``record`` is the record of the effect log, ``wire`` its entry in the envelope, if it has one.
    ``prompt_of`` gives what ``recorded_prompt`` gives of the record, where that is at hand.
    Raises ``CannotAsk`` for a record that is no completion, or says nothing that was asked.
    """
    overrides = overrides or Overrides()
    request = mapping(mapping(record.get("kind")).get("request"))
    sent = mapping(mapping(wire).get("request"))
    if why := _lacks(record, sent):
        raise CannotAsk(why)
    wire_api = api_of(text(mapping(wire).get("url")), sent) if sent else None
    origin = recorded_api(record.get("outcome")) or _turns_api(request)
    source = wire_api or (origin if origin in APIS else None)
    target = target_api(provider, source, on_wire=wire_api is not None)
    if wire_api == target:
        body, notes = _as_it_was(provider, target, sent, model, overrides)
        notes += _unknown(provider, target, body, mapping(wire))
        return _call(provider, target, "same", model, body, notes, wire)
    prompt = read_body(wire_api, sent) if wire_api else (prompt_of or recorded_prompt)(record)
    if not prompt.turns:
        raise CannotAsk(NO_MESSAGE)
    prompt = change_prompt(prompt, overrides)
    if source in (target, None):
        body, notes = _written(provider, target, prompt, model)
        notes = [*_unread(sent, wire_api), *notes]
        return _call(provider, target, "same", model, body, notes, wire)
    told = [
        Note("api_changed", "", f"recorded on {source}, asked on {target}"),
        *_unread(sent, wire_api),
    ]
    keeps_top_p = overrides.top_p is not None and overrides.temperature is None
    prompt = adapted(prompt, target, model, keeps_top_p=keeps_top_p)
    if provider.kind == "mistral":
        # The library speaks OpenAI's manner only, so the body is ours.
        body, notes = _written(provider, target, prompt, model)
        return _call(provider, target, "same", model, body, [*told, *notes], wire)
    prompt = in_library_words(prompt, target)
    body, notes = write_body(target, prompt, model)
    told += foretold(notes, target)
    return _call(provider, target, "cross", model, body, told, wire, prompt)


def _as_it_was(
    provider: Provider, api: str, sent: Mapping[str, Any], model: str, overrides: Overrides
) -> tuple[dict[str, Any], list[Note]]:
    """The recorded body with what is changed on purpose, and what the maker wants otherwise."""
    body, notes = change_body(api, sent, model, overrides)
    closes = overrides.dangling is not None or overrides.dangling_result is not None
    if closes and open_call_ids(body):
        notes += close_calls(api, body, overrides.dangling_result)
    if provider.kind == "mistral":
        body, otherwise = for_mistral(body)
        return body, [*notes, *otherwise]
    if _hides_usage(provider, api, body):
        options = mapping(body.get("stream_options"))
        body["stream_options"] = {**options, "include_usage": True}
        said = "the stream is asked to tell its usage, which it does not by itself"
        notes.append(Note("usage_asked", "/stream_options", said))
    return body, notes


def _written(
    provider: Provider, api: str, prompt: Prompt, model: str
) -> tuple[dict[str, Any], list[Note]]:
    """The body in our own words, as the maker takes it."""
    body, notes = write_body(api, prompt, model)
    if provider.kind != "mistral":
        return body, notes
    body, otherwise = for_mistral(body)
    for name in body.keys() - _MISTRAL:
        del body[name]
        said = f"{name} is left out: Mistral has no such parameter"
        otherwise.append(Note("param_left_out", f"/{name}", said))
    return body, [*notes, *otherwise]


def _hides_usage(provider: Provider, api: str, body: Mapping[str, Any]) -> bool:
    """Whether a stream would end without its usage, at a maker known to tell it when asked."""
    tells = provider.is_openais_own() or provider.kind in ("openai", "groq", "openrouter", "google")
    asked = mapping(body.get("stream_options")).get("include_usage")
    return tells and api == CHAT and body.get("stream") is True and asked is not True


def _unread(sent: Mapping[str, Any], wire_api: str | None) -> Iterator[Note]:
    """A note where there is a recorded body of an API that is not read here, Gemini's own say."""
    if sent and wire_api is None:
        said = (
            "the recorded body is of an API that is not read here; the call is made of the log's"
            " own form of the request, and what only the body says is left out"
        )
        yield Note("body_not_read", "", said)


def target_api(provider: Provider, source: str | None, *, on_wire: bool = False) -> str:
    """The API to ask ``provider`` on, for a call that was recorded on ``source``.

    Responses is asked where it surely is: at OpenAI itself, where the recorded bytes went to it, or
    where ``openai-responses:`` says so. Servers that call themselves compatible speak Chat.
    """
    if provider.maker == "anthropic":
        return MESSAGES
    if provider.api:
        return provider.api
    if source == RESPONSES and (provider.is_openais_own() or on_wire):
        return RESPONSES
    return CHAT


_FIELDS = (
    "model messages stream temperature top_p max_tokens stop random_seed metadata tools"
    " response_format tool_choice presence_penalty frequency_penalty n prediction"
    " parallel_tool_calls prompt_mode reasoning_effort safe_prompt"
)
_MISTRAL = frozenset(_FIELDS.split())
_NOT_GROQ = frozenset(("logprobs", "logit_bias", "top_logprobs", "prediction"))
"""What the makers document of their Chat Completions (2026-11)."""


def _unknown(
    provider: Provider, api: str, body: Mapping[str, Any], wire: Mapping[str, Any]
) -> Iterator[Note]:
    """A note for each member that somebody else's server may not know."""
    if urlsplit(text(wire.get("url"))).hostname == urlsplit(provider.base_url).hostname:
        return
    known = known_fields(api)
    if provider.kind == "mistral":
        known = _MISTRAL
    elif provider.kind == "groq":
        known = known - _NOT_GROQ
    for name in body:
        if name not in known:
            said = f"{provider.name} may not know the parameter {name}; it goes out as recorded"
            yield Note("param_unknown", f"/{name}", said)
    roles = [mapping(message).get("role") for message in items(body.get("messages"))]
    if "developer" in roles:
        said = f"{provider.name} may not know the role developer; it goes out as recorded"
        yield Note("param_unknown", f"/messages/{roles.index('developer')}/role", said)


def recorded_prompt(record: Mapping[str, Any]) -> Prompt:
    """What a record asked, whatever is changed of it later."""
    kind = mapping(record.get("kind"))
    request = mapping(kind.get("request"))
    origin = recorded_api(record.get("outcome")) or _turns_api(request)
    return read_request(request, api=origin, stream=kind.get("stream") is True)


def _turns_api(request: Mapping[str, Any]) -> str | None:
    """The API of the last turn the model took: all that tells it when the call failed."""
    history = request.get("chat_history")
    for message in reversed(history if isinstance(history, list) else []):
        if api := mapping(mapping(message).get("origin")).get("api"):
            return text(api)
    return None


def _call(
    provider: Provider,
    api: str,
    lane: Lane,
    model: str,
    body: Mapping[str, Any],
    notes: list[Note],
    wire: Mapping[str, Any] | None,
    prompt: Prompt | None = None,
) -> Call:
    stream = body.get("stream") is True
    headers = {
        "Content-Type": "application/json",
        "Accept": "text/event-stream" if stream else "application/json",
        **provider.headers,
    }
    if api == MESSAGES:
        headers["anthropic-version"] = ANTHROPIC_VERSION
    for name, value in mapping(mapping(wire).get("headers")).items():
        if name.lower() in _CARRIED and isinstance(value, str) and lane == "same":
            headers[name.lower()] = value
    told = (*notes, *may_refuse(api, model, body))
    return Call(provider, api, lane, model, provider.shown_url(api), headers, body, told, prompt)
