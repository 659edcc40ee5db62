"""The answers to requests that broke the server, or that Django refused before any view: a page,
and for the API its one error shape."""

from __future__ import annotations

from django.core.exceptions import DisallowedHost
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views import defaults

from runs.api.errors import body


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    if not request.path.startswith("/api/"):
        return defaults.bad_request(request, exception)
    if isinstance(exception, DisallowedHost):
        said = body("unknown_host", "This server does not answer to that host name.", "Host")
    else:
        said = body("malformed", "This request cannot be read.")
    return JsonResponse(said, status=400)


def server_error(request: HttpRequest) -> HttpResponse:
    """Nothing about what broke but that it did."""
    if not request.path.startswith("/api/"):
        return defaults.server_error(request)
    said = body("internal", "Something broke on the server; it is in the server's log.")
    return JsonResponse(said, status=500)
