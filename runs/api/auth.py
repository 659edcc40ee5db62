"""Who an API request is: a key's holder, or a signed-in person naming a project.

Views say what they need with `scope = Scope.READ` (and a role for people follows from it).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.middleware.csrf import CsrfViewMiddleware
from rest_framework import authentication, exceptions, permissions
from rest_framework.request import Request

from runs import bulk
from runs.accounts import keys
from runs.accounts.models import Membership, Project, Role, Scope

if TYPE_CHECKING:  # DRF's views import this module while they are being imported
    from rest_framework.views import APIView

ROLE_FOR_SCOPE = {
    Scope.INGEST: Role.MEMBER,
    Scope.READ: Role.VIEWER,
    Scope.REPLAY: Role.MEMBER,
    Scope.ADMIN: Role.ADMIN,
}


class KeyAuthentication(authentication.BaseAuthentication):
    """`Authorization: Bearer rw_…`; the project follows from the key."""

    def authenticate(self, request: Request) -> tuple[Any, keys.KeyPrincipal] | None:
        header = request.META.get("HTTP_AUTHORIZATION", "")
        if not header:
            return None
        kind, _, token = header.partition(" ")
        if kind.lower() != "bearer" or not token.strip():
            raise exceptions.AuthenticationFailed("Send `Authorization: Bearer rw_…`.")
        principal = keys.check(token.strip())
        if principal is None:
            raise exceptions.AuthenticationFailed("This key is unknown, expired or revoked.")
        return AnonymousUser(), principal

    def authenticate_header(self, request: Request) -> str:
        return 'Bearer realm="api"'


class SessionProjectAuthentication(authentication.BaseAuthentication):
    """A signed-in person with `X-Project: <slug>`; unsafe methods need the CSRF token."""

    def authenticate(self, request: Request) -> tuple[Any, Membership] | None:
        user = getattr(request._request, "user", None)
        slug = request.META.get("HTTP_X_PROJECT", "")
        if user is None or not user.is_authenticated or not slug:
            return None
        _enforce_csrf(request)
        membership = (
            Membership.objects.select_related("project")
            .filter(user_id=user.pk, project__slug=slug)
            .first()
        )
        if membership is None:
            raise exceptions.AuthenticationFailed("You are not in a project of this name.")
        return user, membership


def _enforce_csrf(request: Request) -> None:
    check = CsrfViewMiddleware(_never_called)
    check.process_request(request._request)
    if check.process_view(request._request, _never_called, (), {}) is not None:
        raise exceptions.PermissionDenied("The CSRF token is missing or wrong.")


def _never_called(request: HttpRequest) -> HttpResponseBase:
    raise AssertionError("the CSRF check calls no view")


class ScopePermission(permissions.BasePermission):
    """What a view's `scope` asks for; None is open to every key and every member."""

    message = ""

    def has_permission(self, request: Request, view: APIView) -> bool:
        needed: Scope | None = getattr(view, "scope", Scope.ADMIN)
        if isinstance(request.auth, keys.KeyPrincipal):
            has = request.auth.scope
            self.message = f"This takes a key with the scope {needed}; this one has {has}."
            return needed is None or has.covers(needed)
        if isinstance(request.auth, Membership):
            if needed is None:
                return True
            self.message = f"This takes the role {ROLE_FOR_SCOPE[needed]} in the project."
            return Role(request.auth.role).covers(ROLE_FOR_SCOPE[needed])
        return False


def project_id_of(request: Request) -> int:
    """The project this request acts in."""
    auth = request.auth
    assert isinstance(auth, keys.KeyPrincipal | Membership)
    return auth.project_id


PROJECT_COLUMNS = ("slug", "name", "redaction_rules", "price_overrides")


def project_of(request: Request) -> Project:
    """The project this request acts in, as far as ingest and reading need it."""
    pk = project_id_of(request)
    found = bulk.find(Project, PROJECT_COLUMNS, id=pk)
    if found is None:
        raise exceptions.AuthenticationFailed("This key's project is gone.")
    return Project.from_db("default", ("id", *PROJECT_COLUMNS), (pk, *found))
