"""One ignore rule, read and made ready to use. Pure.

A rule names a place (a JSON pointer with `*` and `**`), a regular expression, or both, and may hold
only for the calls of one tool or for the effects of one key. What it covers is taken out of both
sides before they are compared (`masking`).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from runs.messages.loose import clean, is_blank
from runs.own_patterns import MAX_PATTERN, BadPattern, compile_pattern
from runs.refusals import BadMember

MEMBERS = ("name", "pattern", "path", "tool", "key")
MAX_NAME = 60
MAX_PATH = 200
MAX_STEPS = 20
MAX_PLACE = 200
"""Characters of a tool's name and of an effect key."""
ONE, ANY = "*", "**"
ROOTS = ("text", "refusal", "finish_reason", "calls", "result", "request")
"""What a compared document has at its top: the first four of an answer (`compare.document`), the
last two of an effect that is no model call (`two_runs.effects`)."""
_ESCAPE = re.compile(r"~(?![01])")


class BadRule(BadMember):
    """A rule that cannot be taken: the member at fault, and why."""


@dataclass(frozen=True, slots=True)
class Rule:
    """`steps` is empty where a rule holds everywhere; `pattern` None where all of a place goes."""

    name: str
    pattern: re.Pattern[str] | None
    steps: tuple[str, ...] = ()
    tool: str = ""
    key: str = ""


def made_of(given: Mapping[str, Any]) -> Rule:
    """A rule of its members, ready to use; raises BadRule."""
    if any(not isinstance(given.get(member, ""), str) for member in MEMBERS):
        raise BadRule("name", "A rule has a name and a path or a pattern, all texts.")
    members = [given.get(member, "") for member in MEMBERS]
    for member, text in zip(MEMBERS, members, strict=True):
        if clean(text) != text or (member != "pattern" and not text.isprintable()):
            raise BadRule(member, "Control characters and broken ones are not taken.")
    return _made(*members)


@lru_cache(512)
def _made(name: str, pattern: str, path: str, tool: str, key: str) -> Rule:
    if is_blank(name):
        raise BadRule("name", f"A name has 1 to {MAX_NAME} characters.")
    BadRule.of_longer(name, MAX_NAME, "name", "A name")
    if name != name.strip():
        raise BadRule("name", "A name begins and ends with no space.")
    if not (pattern or path):
        raise BadRule("path", "A rule needs a path or a pattern.")
    BadRule.of_longer(tool, MAX_PLACE, "tool", "A tool's name")
    BadRule.of_longer(key, MAX_PLACE, "key", "A key")
    steps = read_path(path) if path else ()
    if tool and steps and steps[0] not in ("calls", "result", ONE, ANY):
        raise BadRule("path", "A rule of a tool names a place in its /calls or its /result.")
    return Rule(name, _compiled(pattern) if pattern else None, steps, tool, key)


def _compiled(pattern: str) -> re.Pattern[str]:
    BadRule.of_longer(pattern, MAX_PATTERN, "pattern", "A pattern")
    try:
        return compile_pattern(pattern)
    except BadPattern as bad:
        raise BadRule("pattern", str(bad)) from None


def read_path(path: str) -> tuple[str, ...]:
    """The steps of a pointer (RFC 6901), `*` for any one step and `**` for any number of them."""
    BadRule.of_longer(path, MAX_PATH, "path", "A path")
    if not path.startswith("/") or _ESCAPE.search(path):
        raise BadRule("path", "A path is a JSON pointer, such as /calls/*/arguments/order_id.")
    steps = tuple(step.replace("~1", "/").replace("~0", "~") for step in path[1:].split("/"))
    if len(steps) > MAX_STEPS:
        raise BadRule("path", f"A path has at most {MAX_STEPS} steps.")
    if steps[0] not in (*ROOTS, ONE, ANY):
        listed = ", ".join(f"/{root}" for root in ROOTS)
        raise BadRule("path", f"A path begins with one of {listed}, or with /* or /**.")
    if all(step in (ONE, ANY) for step in steps):
        raise BadRule("path", "This covers everything; name what is not to count.")
    return steps


def of_effect(rules: Iterable[Rule], key: str) -> tuple[Rule, ...]:
    """The rules that hold for an effect of this key."""
    return tuple(rule for rule in rules if rule.key in ("", key))


def mark_of(rules: Sequence[Rule]) -> str:
    """A name of all that rules say: what was compared under others is made anew."""
    told = [
        (rule.name, rule.pattern.pattern if rule.pattern else "", rule.steps, rule.tool, rule.key)
        for rule in rules
    ]
    return hashlib.blake2b(repr(told).encode(), digest_size=8).hexdigest() if told else ""
