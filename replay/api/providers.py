"""`/api/v1/providers`: a project's providers, for programs. No answer holds a key."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, ClassVar

from django.http import Http404
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from replay.api import provider_docs
from replay.project_providers import keeping
from replay.project_providers.catalog import Catalog, catalog_of
from replay.project_providers.keeping import LIMITS, BadProvider
from replay.project_providers.limits import blind_today
from replay.project_providers.models import ProjectProvider
from replay.project_providers.trying import try_out
from rewyn_sdk.errors import DecodeError
from rewyn_sdk.jsontext import parse
from runs.accounts.models import Membership, Scope
from runs.api.auth import project_id_of, project_of
from runs.api.incoming import read_small
from runs.messages.loose import clean
from runs.models import NAME
from runs.refusals import Refused, not_longer, not_unkept

MAX_BODY = 20_000


class ProvidersView(APIView):
    scope: ClassVar[Scope] = Scope.ADMIN

    @provider_docs.list_providers
    def get(self, request: Request) -> Response:
        project_id = project_id_of(request)
        catalog = catalog_of(project_id)
        rows = ProjectProvider.objects.filter(project_id=project_id).order_by("name")
        others = sorted(set(catalog.ready) - catalog.own)
        blind = blind_today(project_id)
        shown = [_shape(row, catalog, blind) for row in rows]
        return Response({"results": shown, "environment": others})


class ProviderView(APIView):
    scope: ClassVar[Scope] = Scope.ADMIN

    @provider_docs.get_provider
    def get(self, request: Request, name: str) -> Response:
        return Response(_answer(_row(request, name)))

    @provider_docs.put_provider
    def put(self, request: Request, name: str) -> Response:
        """Make it, or make the one there is as given; a key that is not sent stays."""
        try:
            given = keeping.read({**_sent(request), "name": name})
            row = _mine(request).filter(name=name).first()
            if row is None:
                by = request.auth.user if isinstance(request.auth, Membership) else None
                made = keeping.add(project_of(request), given, by)
                return Response(_answer(made), status=201)
            keeping.change(row, given)
        except BadProvider as bad:
            raise bad.refused() from None
        return Response(_answer(_row(request, name)))

    @provider_docs.delete_provider
    def delete(self, request: Request, name: str) -> Response:
        keeping.remove(_row(request, name))
        return Response(status=204)


class ProviderTestView(APIView):
    scope: ClassVar[Scope] = Scope.ADMIN

    @provider_docs.test_provider
    def post(self, request: Request, name: str) -> Response:
        """What came is the answer, also where the provider refused: the test itself went well."""
        row, model = _row(request, name), _sent(request).get("model")
        if not isinstance(model, str) or not model.strip():
            raise Refused("invalid", "Name the model to ask.", "model")
        not_longer(model.strip(), NAME, "model", "A model")
        not_unkept(model, "model")
        return Response(asdict(try_out(row, clean(model).strip())))


def _mine(request: Request) -> Any:
    return ProjectProvider.objects.filter(project_id=project_id_of(request))


def _row(request: Request, name: str) -> ProjectProvider:
    row: ProjectProvider | None = _mine(request).filter(name=name).first()
    if row is None:
        raise Http404
    return row


def _sent(request: Request) -> dict[str, Any]:
    body = read_small(request._request, MAX_BODY)
    try:
        sent = parse(body)
    except DecodeError:
        # The decoder's own words could repeat a piece of the body, and so of a key.
        raise Refused("malformed", "The body is no JSON.") from None
    if not isinstance(sent, dict):
        raise Refused("invalid", "Expected an object.")
    return sent


def _answer(row: ProjectProvider) -> dict[str, Any]:
    return _shape(row, catalog_of(row.project_id), blind_today(row.project_id))


def _shape(row: ProjectProvider, catalog: Catalog, blind: set[int]) -> dict[str, Any]:
    problem = catalog.broken.get(row.name)
    counts, spent, complete = row.has_limits, row.spent_today, row.pk not in blind
    return {
        "name": row.name,
        "kind": row.kind,
        "base_url": row.base_url or None,
        "asked_at": row.address,
        "key": "sealed" if row.sealed else "variable" if row.key_variable else None,
        "key_variable": row.key_variable or None,
        "sealed_at": row.sealed_at,
        **{name: _number(getattr(row, name)) for name in LIMITS},
        "spent_today": float(spent) if counts and (complete or spent) else None,
        "spent_today_complete": counts and complete,
        "problem": {"code": problem.code, "message": str(problem)} if problem else None,
        "test": _test(row),
    }


def _number(value: Any) -> int | float | None:
    return value if value is None or isinstance(value, int) else float(value)


def _test(row: ProjectProvider) -> dict[str, Any] | None:
    if row.tested_at is None:
        return None
    return {
        "at": row.tested_at,
        "model": row.test_model,
        "passed": row.test_passed,
        "said": row.test_said,
    }
