"""What a known model is known to refuse, told before anything is sent.

Facts about model families, as their providers document them (2026-11). A model that is not listed
here is asked as it is: the provider's own words are the better answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from replay.dialects.loose import items, mapping, text
from replay.dialects.prompt import CHAT, MESSAGES, Note

_NO_SAMPLING = re.compile(
    r"^claude-(fable-5|mythos-5|opus-4-[78]|opus-5|sonnet-5|haiku-5-5)",
)
_ONE_SAMPLING = re.compile(r"^claude-(opus-4-[1-6](?!\d)|sonnet-4-[56]|haiku-4-5)")
_ALWAYS_REASONS = re.compile(
    r"^(o\d|gpt-5($|-(?!chat))|gpt-5\.\d+-(pro|chat)|gpt-5\.[12]-codex|gpt-5\.[7-9]"
    r"|gpt-6-astra|gpt-6\.1-sol)"
)
_REASONS_UNLESS_TOLD = re.compile(r"^gpt-(5\.[56]|6-(sol|luna)|6\.1-terra)")
_MAY_REASON = re.compile(r"^gpt-([6-9]|5\.)")
_NEVER_REASONS = re.compile(r"^(gpt-4|gpt-3\.5|chatgpt-4o)")
_NO_VISION = re.compile(
    r"^(gpt-3\.5|gpt-4($|-0|-32k)|gpt-oss|o1-(mini|preview)|o3-mini|claude-(2|instant)"
    r"|codestral|mistral-(tiny|nemo|saba)|open-mi|mixtral|ministral-[38]b-2410|qwq|qwen-?2\.5-\d"
    r"|llama-?3(\.[013])?-(8b|70b)|llama-3\.[13]|deepseek-(chat|coder|reasoner|r1|v3))",
    re.IGNORECASE,
)
_NO_SCHEMA = re.compile(
    r"^(gpt-3\.5|gpt-4($|-)|chatgpt-4o|o1-(mini|preview)|claude-(2|3|instant)"
    r"|claude-(opus|sonnet)-4-(0|2025)|mixtral|llama-?3|deepseek-(chat|reasoner))",
    re.IGNORECASE,
)
_SAMPLING = ("temperature", "top_p", "top_k")
LIMITS = ("max_tokens", "max_completion_tokens", "max_output_tokens")
"""What the APIs call a limit of tokens."""
_MOST_STOPS = 4
_MOST_OUTPUT = (
    (re.compile(r"^gpt-(3\.5|4-turbo|4-\d{4}-preview|4o-2024-05-13)"), 4096),
    (re.compile(r"^gpt-4($|-0|-32k)"), 8192),
    (re.compile(r"^(gpt-4o|chatgpt-4o)"), 16384),
    (re.compile(r"^(gpt-4\.1|o1-preview)"), 32768),
    (re.compile(r"^(o1-mini)"), 65536),
    (re.compile(r"^(o1|o3|o4)"), 100000),
    (re.compile(r"^gpt-5"), 128000),
    (re.compile(r"^claude-(2|instant|3-(opus|sonnet|haiku))"), 4096),
    (re.compile(r"^claude-3-5"), 8192),
    (re.compile(r"^claude-opus-4-(0|1|2025)"), 32000),
    (re.compile(r"^claude-((opus|sonnet)-4-6|opus-4-[78])"), 128000),
    (re.compile(r"^claude-((opus|sonnet|fable|mythos)-5|haiku-5-5)"), 128000),
    (re.compile(r"^claude-(3-7|(sonnet|haiku)-4|opus-4-5)"), 64000),
    (re.compile(r"^gemini-(1\.5|2\.0)"), 8192),
    (re.compile(r"^gemini-2\.5"), 65536),
)


def most_output(model: str) -> int | None:
    """The highest limit of tokens that ``model`` is known to take."""
    bare = model.rsplit("/", 1)[-1]
    return next((most for family, most in _MOST_OUTPUT if family.match(bare)), None)


def takes_one_sampling(model: str) -> bool:
    """Whether ``model`` is known to refuse a temperature and a top_p together."""
    return bool(_ONE_SAMPLING.match(model.rsplit("/", 1)[-1]))


def takes_no_sampling(api: str, model: str, effort: str | None = None) -> bool:
    """Whether ``model`` is known to refuse a temperature and a top_p, at this effort to reason."""
    bare = model.rsplit("/", 1)[-1]
    if api == MESSAGES:
        return bool(_NO_SAMPLING.match(bare))
    if _ALWAYS_REASONS.match(bare):
        return True
    thinks = effort is not None or bool(_REASONS_UNLESS_TOLD.match(bare))
    return bool(_MAY_REASON.match(bare)) and thinks and effort != "none"


def never_reasons(model: str) -> bool:
    """Whether ``model`` is known to refuse an effort to reason."""
    return bool(_NEVER_REASONS.match(model.rsplit("/", 1)[-1]))


def may_refuse(api: str, model: str, body: Mapping[str, Any]) -> list[Note]:
    """A note for each field of ``body`` that ``model`` is known not to take."""
    rules = _claude if api == MESSAGES else _gpt
    bare = model.rsplit("/", 1)[-1]
    return [
        *rules(bare, body),
        *_shape(bare, body),
        *_pictures(bare, body),
        *_limits(bare, body),
        *_stops(api, body),
    ]


def _limits(model: str, body: Mapping[str, Any]) -> Iterator[Note]:
    most = most_output(model)
    for key in LIMITS:
        limit = body.get(key)
        if most is not None and type(limit) is int and limit > most:
            yield _note(key, f"{model} gives {most:,} tokens at most; it may refuse {limit:,}")


def _stops(api: str, body: Mapping[str, Any]) -> Iterator[Note]:
    stops = items(body.get("stop"))
    if api == CHAT and len(stops) > _MOST_STOPS:
        said = f"OpenAI takes {_MOST_STOPS} stop texts at most; {len(stops)} may be refused"
        yield _note("stop", said)
    blank = [one for one in items(body.get("stop_sequences")) if not text(one).strip()]
    if blank:
        yield _note("stop_sequences", "Anthropic refuses a stop text of nothing but white space")


def _shape(model: str, body: Mapping[str, Any]) -> Iterator[Note]:
    """The shape the answer must have, for a model that knows no such thing."""
    key = next((key for key in ("response_format", "text", "output_config") if key in body), "")
    told = mapping(body.get(key))
    shape = told if key == "response_format" else mapping(told.get("format"))
    if shape.get("type") == "json_schema" and _NO_SCHEMA.match(model):
        said = f"{model} takes no schema for its answer; it may refuse the call"
        yield Note("schema_not_supported", f"/{key}", said)


def _pictures(model: str, body: Mapping[str, Any]) -> Iterator[Note]:
    if _NO_VISION.match(model) and has_image(body):
        yield Note("no_vision", "", f"{model} sees no images; it may refuse the call")


def has_image(body: Mapping[str, Any]) -> bool:
    """Whether a message of the body, or a tool's result in one, holds an image."""
    listed = [*items(body.get("messages")), *items(body.get("input"))]
    return any(_holds_image(items(mapping(one).get("content"))) for one in listed)


def _holds_image(parts: list[Any]) -> bool:
    for part in map(mapping, parts):
        if part.get("type") in ("image", "image_url", "input_image"):
            return True
        if _holds_image(items(part.get("content"))):
            return True
    return False


def _claude(model: str, body: Mapping[str, Any]) -> Iterator[Note]:
    if takes_no_sampling(MESSAGES, model):
        yield from _sampling(model, body)
    if mapping(body.get("thinking")).get("type") != "enabled":
        return
    for key in ("temperature", "top_k"):
        if body.get(key) not in (None, 1):
            yield _note(key, f"{model} takes no {key} while it thinks; it may refuse the call")
    if mapping(body.get("tool_choice")).get("type") in ("any", "tool"):
        said = f"{model} cannot be made to call a tool while it thinks; it may refuse the call"
        yield _note("tool_choice", said)


def _gpt(model: str, body: Mapping[str, Any]) -> Iterator[Note]:
    effort = body.get("reasoning_effort", mapping(body.get("reasoning")).get("effort"))
    if _NEVER_REASONS.match(model) and effort not in (None, "none"):
        key = "reasoning_effort" if "reasoning_effort" in body else "reasoning"
        yield _note(key, f"{model} does not reason and refuses {key}")
    if takes_no_sampling(CHAT, model, effort if isinstance(effort, str) else None):
        yield from _sampling(model, body)


def _sampling(model: str, body: Mapping[str, Any]) -> Iterator[Note]:
    for key in _SAMPLING:
        if body.get(key) not in (None, 1):
            yield _note(key, f"{model} takes no {key} but its own; it may refuse the call")


def _note(key: str, said: str) -> Note:
    return Note("model_may_refuse", f"/{key}", said)
