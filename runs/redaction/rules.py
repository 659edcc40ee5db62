"""A project's own redaction rules: read, changed, and tried on what came in last.

A rule is {"name", "pattern", "field"}: a regular expression over strings, a place (a member's name
or a JSON pointer), or both. They count from the next request on.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from runs.accounts.models import Project
from runs.messages import exact
from runs.messages.loose import at as value_at
from runs.messages.loose import clean
from runs.models import Effect, Run
from runs.own_patterns import MAX_PATTERN, BadPattern, compile_pattern
from runs.redaction import Redactor
from runs.redaction.fields import MAX_FIELD, BadField, Field, read_field
from runs.redaction.redactor import BUILT_IN, Rule
from runs.refusals import BadMember
from runs.storage import segments

MAX_RULES = 50
MAX_NAME = 60
MEMBERS = ("name", "pattern", "field")
BUILT_IN_NAMES = tuple(dict.fromkeys(rule.name for rule in BUILT_IN))
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
PREVIEW_EFFECTS, PREVIEW_RUNS, PREVIEW_SHOWN = 200, 20, 20
PREVIEW_BYTES, PREVIEW_SECONDS = 4_000_000, 2.0
_SHOWN_CHARACTERS = 160
_BUILT_IN_ALONE = Redactor()


class BadRule(BadMember):
    """A rule that cannot be taken: the member at fault, and why."""


class ChangedMeanwhile(RuntimeError):
    """Somebody else has changed the rules since they were read."""


def for_project(rules: Iterable[Any]) -> Redactor:
    """The redactor of a project's `redaction_rules`. What is no rule (any more) is left out."""
    made = [made for rule in rules if (made := _made_or_none(rule)) is not None]
    if not made:
        return _BUILT_IN_ALONE
    return Redactor(
        [one for one in made if isinstance(one, Rule)],
        [one for one in made if isinstance(one, Field)],
    )


def problem_of(rule: Any) -> str:
    """Why a stored rule does not count, empty if it does."""
    try:
        made_of(rule)
    except BadRule as bad:
        return bad.message
    return ""


def made_of(rule: Any) -> Rule | Field:
    """A rule ready to use; raises BadRule."""
    if not isinstance(rule, dict) or any(not isinstance(rule.get(m, ""), str) for m in MEMBERS):
        raise BadRule("name", "A rule has a name and a pattern or a field, all texts.")
    name, pattern, place = (rule.get(member, "") for member in MEMBERS)
    for member in MEMBERS:
        if clean(rule.get(member, "")) != rule.get(member, ""):
            raise BadRule(member, "Control characters and broken ones are not taken.")
    BadRule.of_longer(name, MAX_NAME, "name", "A name")
    BadRule.of_longer(pattern, MAX_PATTERN, "pattern", "A pattern")
    BadRule.of_longer(place, MAX_FIELD, "field", "A field")
    if not _NAME.fullmatch(name):
        message = f"A name has 1 to {MAX_NAME} letters, digits, dots, hyphens or underscores."
        raise BadRule("name", message)
    if name in BUILT_IN_NAMES:
        raise BadRule("name", "A built-in rule has this name.")
    if not (pattern or place):
        raise BadRule("pattern", "A rule needs a pattern or a field.")
    return _compiled(name, pattern, place)


@lru_cache(512)
def _compiled(name: str, pattern: str, place: str) -> Rule | Field:
    try:
        compiled = compile_pattern(pattern) if pattern else None
    except BadPattern as bad:
        raise BadRule("pattern", str(bad)) from None
    if not place:
        assert compiled is not None
        return Rule(name, compiled)
    try:
        return read_field(name, place, compiled)
    except BadField as bad:
        raise BadRule("field", str(bad)) from None


def _made_or_none(rule: Any) -> Rule | Field | None:
    try:
        return made_of(rule)
    except BadRule:
        return None


# --- Changed --------------------------------------------------------------------------------------


def checked(rules: list[Any]) -> list[dict[str, str]]:
    """The rules as they are stored; BadRule of the first that cannot be (`rules[2].pattern`)."""
    if len(rules) > MAX_RULES:
        raise BadRule("rules", f"A project has at most {MAX_RULES} rules.", MAX_RULES)
    kept: dict[str, dict[str, str]] = {}
    for number, rule in enumerate(rules):
        try:
            made_of(rule)
            BadRule.of_unknown(rule, MEMBERS, "A rule")
            if rule["name"] in kept:
                raise BadRule("name", "Another rule has this name.")
        except BadRule as bad:
            raise bad.within(f"rules[{number}]") from None
        kept[rule["name"]] = {member: rule[member] for member in MEMBERS if rule.get(member)}
    return list(kept.values())


def replace(project: Project, rules: list[Any]) -> list[dict[str, str]]:
    """Store these rules instead of those there are; gives them as stored."""
    kept = checked(rules)
    Project.objects.filter(pk=project.pk).update(redaction_rules=kept)
    return kept


def add(project: Project, rule: dict[str, str]) -> None:
    """Add one; BadRule if it cannot be, ChangedMeanwhile if somebody else was quicker."""
    made_of(rule)
    old = list(project.redaction_rules)
    if any(isinstance(one, dict) and one.get("name") == rule["name"] for one in old):
        raise BadRule("name", "Another rule has this name.")
    if len(old) >= MAX_RULES:
        raise BadRule("name", f"A project has at most {MAX_RULES} rules.", MAX_RULES)
    _exchange(project, [*old, {member: rule[member] for member in MEMBERS if rule.get(member)}])


def remove(project: Project, name: str) -> bool:
    """Take one out; whether it was there."""
    old = project.redaction_rules
    left = [one for one in old if not (isinstance(one, dict) and one.get("name") == name)]
    if len(left) == len(old):
        return False
    _exchange(project, left)
    return True


def _exchange(project: Project, rules: list[Any]) -> None:
    same = Project.objects.filter(pk=project.pk, redaction_rules=project.redaction_rules)
    if not same.update(redaction_rules=rules):
        raise ChangedMeanwhile


# --- Tried ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Example:
    """A place where a rule would take something out, and what stands in that text or number."""

    run: str
    seq: int
    path: str
    text: str


@dataclass(slots=True)
class Preview:
    """What a rule would do to the effects that came in last. `complete`: all of them were read."""

    runs: int = 0
    effects: int = 0
    matched: int = 0
    complete: bool = True
    examples: list[Example] = field(default_factory=list)


def preview(project: Project, rule: dict[str, str]) -> Preview:
    """Try a rule, within bounds of effects, bytes and time; raises BadRule."""
    made = made_of(rule)
    redactor = Redactor([made]) if isinstance(made, Rule) else Redactor((), [made])
    until = time.monotonic() + PREVIEW_SECONDS
    found, weight = Preview(), 0
    for run, effect in _latest(project, found):
        weight += effect.length
        if found.effects and (weight > PREVIEW_BYTES or time.monotonic() > until):
            found.complete = False
            break
        found.effects += 1
        data = segments.read(effect)
        marks = redactor.json(data)[1]
        paths = list(dict.fromkeys(mark.path for mark in marks if mark.rule == rule["name"]))
        found.matched += bool(paths)
        room = PREVIEW_SHOWN - len(found.examples)
        found.examples += [_example(run, effect, data, path) for path in paths[:room]]
    return found


def _latest(project: Project, found: Preview) -> Iterator[tuple[Run, Effect]]:
    """The last effects of the last runs; `found` counts the runs they are of."""
    left = PREVIEW_EFFECTS
    columns = ("run_id", "seq", "segment_id", "offset", "length")
    for run in Run.objects.of(project).order_by("-sort_at", "-pk")[:PREVIEW_RUNS]:
        if not left:
            return
        found.runs += 1
        effects = list(Effect.objects.filter(run=run).order_by("-seq").only(*columns)[:left])
        left -= len(effects)
        yield from ((run, effect) for effect in effects)


def _example(run: Run, effect: Effect, data: bytes, path: str) -> Example:
    try:
        value = value_at(exact.loads(data), path)
    except (KeyError, ValueError):  # a name of a member went, or the path is cut
        value = ""
    text = value if isinstance(value, str) else str(value)
    shown = clean(text[:_SHOWN_CHARACTERS]) + ("…" if len(text) > _SHOWN_CHARACTERS else "")
    return Example(run.external_id, effect.seq, path, shown)
