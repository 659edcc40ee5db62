"""A project's own redaction rules, for programs: read, replaced as a whole, tried."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, ClassVar

from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from runs.accounts.models import Project, Scope
from runs.api import redaction_docs
from runs.api.auth import project_of
from runs.api.incoming import read_small
from runs.formats import jsonbytes
from runs.redaction import rules as redaction_rules
from runs.redaction.rules import BadRule
from runs.refusals import Refused
from runs.strangers import only

MAX_BODY = 200_000


class RedactionView(APIView):
    scope: ClassVar[Scope] = Scope.ADMIN

    @redaction_docs.get_rules
    def get(self, request: Request) -> Response:
        return Response(_shape(project_of(request)))

    @redaction_docs.put_rules
    def put(self, request: Request) -> Response:
        project = project_of(request)
        sent = _sent(request)
        only(sent, "rules", "built_in")  # what was read may be put again
        rules = sent.get("rules")
        if not isinstance(rules, list):
            raise Refused("invalid", "Expected a list of rules.", "rules")
        project.redaction_rules = _or_refused(redaction_rules.replace, project, rules)
        return Response(_shape(project))


class PreviewView(APIView):
    scope: ClassVar[Scope] = Scope.ADMIN

    @redaction_docs.preview
    def post(self, request: Request) -> Response:
        project, rule = project_of(request), {"name": "preview", **_sent(request)}
        return Response(asdict(_or_refused(redaction_rules.preview, project, rule)))


def _sent(request: Request) -> dict[str, Any]:
    body = read_small(request._request, MAX_BODY)
    try:
        sent = jsonbytes.read(body)
    except UnicodeDecodeError:
        raise Refused("invalid_utf8", "The body is not UTF-8.") from None
    if not isinstance(sent, dict):
        raise Refused("invalid", "Expected an object.")
    return sent


def _or_refused(act: Any, project: Project, given: Any) -> Any:
    try:
        return act(project, given)
    except BadRule as bad:
        raise bad.refused() from None


def _shape(project: Project) -> dict[str, Any]:
    rules = [rule for rule in project.redaction_rules if isinstance(rule, dict)]
    return {
        "rules": [
            {name: rule.get(name) or None for name in redaction_rules.MEMBERS}
            | {"problem": redaction_rules.problem_of(rule) or None}
            for rule in rules
        ],
        "built_in": list(redaction_rules.BUILT_IN_NAMES),
    }
