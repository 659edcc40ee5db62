"""A project's ignore rules: read, added, removed, replaced."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.db import IntegrityError, transaction

from replay.ignore_rules.models import IgnoreRule
from replay.ignore_rules.rule import MAX_NAME, MEMBERS, BadRule, Rule, made_of
from replay.review.turns import turn_of
from runs import bulk, statements
from runs.accounts.models import Project
from runs.messages.loose import clean

MAX_RULES = 50
_TAKEN = "Another rule has this name."


def rules_of(project_id: int) -> tuple[Rule, ...]:
    """The rules of a project, in the order they were added; one that can be none any more is left
    out."""
    rows = statements.rows(IgnoreRule, MEMBERS, order="id", project_id=project_id)
    given = (dict(zip(MEMBERS, row, strict=True)) for row in rows)
    return tuple(made for one in given if (made := made_or_none(one)) is not None)


def made_or_none(given: Mapping[str, Any]) -> Rule | None:
    try:
        return made_of(given)
    except BadRule:
        return None


def problem_of(rule: IgnoreRule) -> str:
    """Why a stored rule does not count, empty if it does."""
    try:
        made_of(rule.as_given())
    except BadRule as bad:
        return bad.message
    return ""


def add(project: Project, given: Mapping[str, Any], signed: str) -> IgnoreRule:
    """Add one; BadRule where it cannot be."""
    row = _row(project, given, signed)
    with bulk.turn():
        turn_of(project.pk)
        if IgnoreRule.objects.filter(project=project).count() >= MAX_RULES:
            raise BadRule("name", f"A project has at most {MAX_RULES} rules.", MAX_RULES)
        try:
            with transaction.atomic():
                row.save(force_insert=True)
        except IntegrityError:
            raise BadRule("name", _TAKEN) from None
    return row


def remove(project: Project, name: str) -> bool:
    """Take one out; whether it was there. What it silenced stays so until rules are applied."""
    if len(name) > MAX_NAME or clean(name) != name:
        return False
    return bool(IgnoreRule.objects.filter(project=project, name=name).delete()[0])


def replace(project: Project, rules: Sequence[Any], signed: str) -> None:
    """These rules instead of those there are; BadRule of the first that cannot be. One that stays
    as it was keeps who added it."""
    rows = checked(project, rules, signed)
    with bulk.turn():
        turn_of(project.pk)
        there = {row.name: row for row in IgnoreRule.objects.filter(project=project)}
        same = {
            row.name: there[row.name]
            for row in rows
            if row.name in there and there[row.name].as_given() == row.as_given()
        }
        gone = [row.pk for name, row in there.items() if name not in same]
        IgnoreRule.objects.filter(pk__in=gone).delete()
        IgnoreRule.objects.bulk_create([row for row in rows if row.name not in same])


def checked(project: Project, rules: Sequence[Any], signed: str) -> list[IgnoreRule]:
    if len(rules) > MAX_RULES:
        raise BadRule("rules", f"A project has at most {MAX_RULES} rules.", MAX_RULES)
    rows: dict[str, IgnoreRule] = {}
    for number, given in enumerate(rules):
        try:
            row = _row(project, given, signed)
            if row.name in rows:
                raise BadRule("name", _TAKEN)
        except BadRule as bad:
            raise bad.within(f"rules[{number}]") from None
        rows[row.name] = row
    return list(rows.values())


def _row(project: Project, given: Any, signed: str) -> IgnoreRule:
    if not isinstance(given, dict):
        raise BadRule("name", "A rule is an object.")
    made_of(given)
    BadRule.of_unknown(given, MEMBERS, "A rule")
    members = {member: given.get(member, "") for member in MEMBERS}
    return IgnoreRule(project=project, signed=signed, **members)
