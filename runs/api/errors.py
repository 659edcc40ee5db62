"""The one error shape of the API: {"error": {"code", "message", "field"}}."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import Http404
from rest_framework import exceptions
from rest_framework.response import Response

from runs.accounts.models import Project
from runs.refusals import Refused
from runs.unable import AWAY, why_not_taken

DRF_CODES = {
    "not_authenticated": "unauthenticated",
    "authentication_failed": "unauthenticated",
    "permission_denied": "forbidden",
    "parse_error": "malformed",
}


STATUS_OF = {
    "malformed": 400,
    "invalid_utf8": 400,
    "incomplete": 400,
    "forbidden": 403,
    "not_found": 404,
    "conflict": 409,
    "plan_changed": 409,
    "deleted": 410,
    "too_large": 413,
    "unsupported_encoding": 415,
    "busy": 503,
}
"""HTTP statuses of `Refused` codes; any other is 422."""


class ApiError(Exception):
    """An answer with a name: HTTP status, code, message, the field at fault, extra members."""

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        *,
        field: str | None = None,
        headers: dict[str, str] | None = None,
        **extra: Any,
    ) -> None:
        super().__init__(message)
        self.status, self.code, self.message, self.field = status, code, message, field
        self.headers = headers or {}
        self.extra = extra


def body(code: str, message: str, field: str | None = None, **extra: Any) -> dict[str, Any]:
    return {"error": {"code": code, "message": message, "field": field, **extra}}


LATER = {"Retry-After": "5"}


def unavailable(why: str) -> dict[str, Any]:
    """Whether one that went away in the middle had stored it already, nobody can tell."""
    stored = "" if why == AWAY else "; nothing of this was stored"
    return body("unavailable", f"{why}{stored}. Send it again later.")


def handle(error: Exception, context: dict[str, Any]) -> Response | None:
    """DRF's exception handler: every known error in the one shape; others stay errors."""
    if isinstance(error, ApiError):
        return Response(
            body(error.code, error.message, error.field, **error.extra),
            status=error.status,
            headers=error.headers,
        )
    if isinstance(error, Refused):
        return _from_refusal(error)
    if isinstance(error, Http404):
        return Response(body("not_found", "There is nothing here."), status=404)
    if isinstance(error, Project.DoesNotExist):
        # A process may trust a key for some seconds after its project was removed elsewhere.
        return _from_drf(exceptions.AuthenticationFailed("This key's project is removed."))
    if isinstance(error, PermissionDenied):
        return Response(body("forbidden", str(error) or "Not allowed."), status=403)
    if why := why_not_taken(error):
        return Response(unavailable(why), status=503, headers=LATER)
    if isinstance(error, exceptions.ValidationError):
        field, message = first_problem(error.detail)
        return Response(body("invalid", message, field), status=422)
    if isinstance(error, exceptions.APIException):
        return _from_drf(error)
    return None


def _from_refusal(error: Refused) -> Response:
    status = STATUS_OF.get(error.code, 422)
    return Response(
        body(error.code, error.message, error.field, **error.extra),
        status=status,
        headers={"Retry-After": "1"} if status == 503 else {},
    )


def _from_drf(error: exceptions.APIException) -> Response:
    code = DRF_CODES.get(error.default_code, error.default_code)
    headers = {}
    if getattr(error, "auth_header", None):
        headers["WWW-Authenticate"] = error.auth_header  # type: ignore[attr-defined]
    return Response(body(code, str(error.detail)), status=error.status_code, headers=headers)


def first_problem(detail: Any, field: str | None = None) -> tuple[str | None, str]:
    """The first message of DRF's nested error detail and the dotted field it is about."""
    if isinstance(detail, dict) and detail:
        key, inner = next(iter(detail.items()))
        name = None if key == "non_field_errors" else str(key)
        return first_problem(inner, ".".join(p for p in (field, name) if p) or None)
    if isinstance(detail, list) and detail:
        return first_problem(detail[0], field)
    return field, str(detail)
