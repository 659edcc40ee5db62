"""Requests of programs go straight to the API's views.

What the pages need of the middleware (sessions, forms, messages, a policy for scripts) a request
with a key does not: no cookie of it is read, and its answer is no page. Probes of the process need
none of it either.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.core.handlers.base import BaseHandler
from django.core.handlers.exception import convert_exception_to_response
from django.http import HttpRequest
from django.http.response import HttpResponseBase

_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "X-Frame-Options": "DENY",
}
Way = Callable[[HttpRequest], Any]
PROBES = ("/healthz", "/readyz")


class StraightToTheView:
    """Middleware: a request to `/api/v1/` with an `Authorization` passes by all that follow, a
    probe too. A probe names any host (an address inside of a cluster), all others one of ours."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.through_all = get_response
        self.probe, self.straight = _ways_to_the_view()

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if request.path in PROBES:
            return self.probe(request)  # type: ignore[no-any-return]
        if "HTTP_AUTHORIZATION" not in request.META or not request.path.startswith("/api/v1/"):
            return self.through_all(request)
        # A charset of the sender's choice (raw_unicode_escape) would let in lone surrogates.
        if request.encoding and request.encoding.lower() != "utf-8":
            request.encoding = "utf-8"
        response = self.straight(request)
        for name, value in _HEADERS.items():
            response.headers.setdefault(name, value)
        if not response.streaming:
            response.headers.setdefault("Content-Length", str(len(response.content)))
        return response  # type: ignore[no-any-return]


def _ways_to_the_view() -> tuple[Way, Way]:
    """Django's way from a request to its view, with no middleware around it: for any host, and for
    hosts of ours."""
    handler: Any = BaseHandler()
    handler._view_middleware = []
    handler._template_response_middleware = []
    handler._exception_middleware = []

    def of_our_hosts(request: HttpRequest) -> Any:
        request.get_host()  # raises DisallowedHost; for pages CommonMiddleware asks
        return handler._get_response(request)

    of_any_host: Way = convert_exception_to_response(handler._get_response)
    return of_any_host, convert_exception_to_response(of_our_hosts)
