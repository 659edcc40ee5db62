"""What a known model is known to refuse, told before anything is sent.

Facts about model families, as their providers document them (2026-11). A model that is not listed
here is asked as it is: the provider's own words are the better answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from replay.dialects.loose import mapping
from replay.dialects.prompt import MESSAGES, Note

_NO_SAMPLING = re.compile(
    r"^claude-(fable-5|mythos-5|opus-4-[78]|opus-5|sonnet-5|haiku-5-5)",
)
_ALWAYS_REASONS = re.compile(r"^(o\d|gpt-5(-|$))")
_MAY_REASON = re.compile(r"^gpt-[5-9]")
_NEVER_REASONS = re.compile(r"^(gpt-4|gpt-3\.5|chatgpt-4o)")
_SAMPLING = ("temperature", "top_p", "top_k")


def may_refuse(api: str, model: str, body: Mapping[str, Any]) -> list[Note]:
    """A note for each field of ``body`` that ``model`` is known not to take."""
    rules = _claude if api == MESSAGES else _gpt
    return list(rules(model.rsplit("/", 1)[-1], body))


def _claude(model: str, body: Mapping[str, Any]) -> Iterator[Note]:
    if _NO_SAMPLING.match(model):
        yield from _sampling(model, body)


def _gpt(model: str, body: Mapping[str, Any]) -> Iterator[Note]:
    effort = body.get("reasoning_effort", mapping(body.get("reasoning")).get("effort"))
    if _NEVER_REASONS.match(model) and effort not in (None, "none"):
        key = "reasoning_effort" if "reasoning_effort" in body else "reasoning"
        yield _note(key, f"{model} does not reason and refuses {key}")
    reasons = _MAY_REASON.match(model) and effort not in (None, "none")
    if _ALWAYS_REASONS.match(model) or reasons:
        yield from _sampling(model, body)


def _sampling(model: str, body: Mapping[str, Any]) -> Iterator[Note]:
    for key in _SAMPLING:
        if body.get(key) not in (None, 1):
            yield _note(key, f"{model} takes no {key} but its own; it may refuse the call")


def _note(key: str, said: str) -> Note:
    return Note("model_may_refuse", f"/{key}", said)
