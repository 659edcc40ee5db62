"""The answers to requests that broke the server, or that Django refused before any view: a page,
and for the API its one error shape."""

from __future__ import annotations

import sys

from django.core.exceptions import DisallowedHost
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.template.loader import render_to_string
from django.views import defaults

from runs.api.errors import LATER, body, unavailable
from runs.unable import AWAY, why_not_taken


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    if not request.path.startswith("/api/"):
        return defaults.bad_request(request, exception)
    if isinstance(exception, DisallowedHost):
        said = body("unknown_host", "This server does not answer to that host name.", "Host")
    else:
        said = body("malformed", "This request cannot be read.")
    return JsonResponse(said, status=400)


def server_error(request: HttpRequest) -> HttpResponse:
    """Nothing about what broke but that it did; a database that takes nothing is told as that."""
    error = sys.exception()
    if error and (why := why_not_taken(error)):
        return _not_taken(request, why)
    if not request.path.startswith("/api/"):
        return defaults.server_error(request)
    said = body("internal", "Something broke on the server; it is in the server's log.")
    return JsonResponse(said, status=500)


def _not_taken(request: HttpRequest, why: str) -> HttpResponse:
    if request.path.startswith("/api/"):
        return JsonResponse(unavailable(why), status=503, headers=LATER)
    context = {"why": why, "reads": request.method in ("GET", "HEAD"), "is_known": why != AWAY}
    # Without what each page's frame asks the database for.
    return HttpResponse(render_to_string("503.html", context), status=503, headers=LATER)
