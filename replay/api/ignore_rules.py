"""`/api/v1/ignore-rules`: what does not count as a difference, for programs."""

from __future__ import annotations

from typing import Any, ClassVar

from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from replay.api import ignore_rule_docs as docs
from replay.api.asking import decider_of, read_json
from replay.ignore_rules import applying, keeping, trying
from replay.ignore_rules.models import IgnoreRule
from replay.ignore_rules.rule import MEMBERS, BadRule
from replay.ignore_rules.trying import Example
from runs.accounts.models import Scope
from runs.api.auth import project_id_of, project_of
from runs.messages.loose import clean
from runs.refusals import Refused
from runs.strangers import only


class IgnoreRulesView(APIView):
    @property
    def scope(self) -> Scope:
        return Scope.READ if self.request.method in ("GET", "HEAD") else Scope.ADMIN

    @docs.get_rules
    def get(self, request: Request) -> Response:
        return Response(_shape(request))

    @docs.put_rules
    def put(self, request: Request) -> Response:
        sent = _sent(request)
        only(sent, "rules")
        rules = sent.get("rules")
        if not isinstance(rules, list):
            raise Refused("invalid", "Expected a list of rules.", "rules")
        given = [_without_nulls(rule) for rule in rules]
        try:
            keeping.replace(project_of(request), given, decider_of(request).signed)
        except BadRule as bad:
            raise bad.refused() from None
        return Response(_shape(request))


class PreviewView(APIView):
    scope: ClassVar[Scope] = Scope.ADMIN

    @docs.preview
    def post(self, request: Request) -> Response:
        try:
            tried = trying.preview(project_of(request), _without_nulls(_sent(request)))
        except BadRule as bad:
            raise bad.refused() from None
        return Response(
            {
                "replays": tried.replays,
                "compared": tried.compared,
                "differ": tried.differ,
                "silenced": tried.silenced,
                "milder": tried.milder,
                "complete": tried.complete,
                "examples": [_example(one) for one in tried.examples],
            }
        )


class ApplicationView(APIView):
    scope: ClassVar[Scope] = Scope.ADMIN

    @docs.apply
    def post(self, request: Request) -> Response:
        sent = _sent(request)
        only(sent, "after")
        after = sent.get("after")
        try:
            if after is not None and not isinstance(after, str):
                raise applying.BadCursor
            done = applying.apply(project_of(request), decider_of(request), after or "")
        except applying.BadCursor:
            text = "`after` is the `next` of the answer before."
            raise Refused("invalid", text, "after") from None
        return Response({**done.counts, "next": done.next or None})


def _sent(request: Request) -> dict[str, Any]:
    sent = read_json(request)
    if not isinstance(sent, dict):
        raise Refused("invalid", "Expected an object.")
    return sent


def _without_nulls(rule: Any) -> Any:
    """A rule as it was read: a member that is null is one that is left out."""
    if not isinstance(rule, dict):
        return rule
    left = {name: value for name, value in rule.items() if value is not None}
    return {name: value for name, value in left.items() if name in MEMBERS or name not in _SHOWN}


_SHOWN = ("problem", "added_by", "created_at")
"""Members of the answer that may be sent back."""


def _shape(request: Request) -> dict[str, Any]:
    rows = IgnoreRule.objects.filter(project=project_id_of(request)).order_by("pk")
    return {
        "rules": [
            {name: value or None for name, value in row.as_given().items()}
            | {
                "problem": keeping.problem_of(row) or None,
                "added_by": row.signed or None,
                "created_at": row.created_at,
            }
            for row in rows
        ]
    }


def _example(one: Example) -> dict[str, Any]:
    row = one.row
    return {
        "replay": row.replay.public_id,
        "run": row.replay.run.external_id,
        "seq": row.seq,
        "class": row.difference,
        "becomes": one.found.difference,
        "summary": clean(row.summary),
    }
