"""The answer to a request that broke the server: nothing about it but that it did."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.defaults import server_error as page

from runs.api.errors import body


def server_error(request: HttpRequest) -> HttpResponse:
    """A page, and for the API its one error shape."""
    if not request.path.startswith("/api/"):
        return page(request)
    said = body("internal", "Something broke on the server; it is in the server's log.")
    return JsonResponse(said, status=500)
