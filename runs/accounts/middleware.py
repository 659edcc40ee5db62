"""Asks for sign-in where a page needs it, and reads every request's text as UTF-8."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from urllib.parse import urlencode, urlsplit

from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import Resolver404, resolve, reverse
from django.views.csrf import csrf_failure

from runs.access import SignInNeeded


class SignInMiddleware:
    """Turns SignInNeeded into the sign-in page, which leads back to the page asked for."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        # A charset of the sender's choice (raw_unicode_escape) would let in lone surrogates.
        if request.encoding and request.encoding.lower() != "utf-8":
            request.encoding = "utf-8"
        response = self.get_response(request)
        return _of_a_form(request, response) if response.status_code == 405 else response

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        if not isinstance(error, SignInNeeded):
            return None
        if request.headers.get("HX-Request"):
            return _for_fragment(request)
        return redirect(_sign_in_url(_asked_for(request)))


def _of_a_form(request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
    """The address of a form, opened as if it were a page: say so, and lead to the page it is on."""
    wants_page = request.method == "GET" and "text/html" in request.headers.get("Accept", "")
    if not wants_page or request.path.startswith("/api/"):
        return response
    page = render(request, "405.html", {"near": _near(request.path)}, status=405)
    page["Allow"] = response["Allow"]
    return page


def _near(path: str) -> str:
    """The nearest address above this one at which there is something."""
    while path := path.rpartition("/")[0]:
        with suppress(Resolver404):
            resolve(path)
            return path
    return "/"


def refused_as_forged(request: HttpRequest, reason: str = "") -> HttpResponseBase:
    """What the check for forged requests refuses. No page takes a PUT or a DELETE from anybody."""
    if request.method not in _PAGES_TAKE:
        return HttpResponseNotAllowed(_PAGES_TAKE)
    return csrf_failure(request, reason)


_PAGES_TAKE = ("GET", "HEAD", "POST")


def _asked_for(request: HttpRequest) -> str:
    return request.get_full_path() if request.method in ("GET", "HEAD") else ""


def _for_fragment(request: HttpRequest) -> HttpResponse:
    """What is typed on the page stays: its script (`refused.js`) says where to sign in."""
    shown = urlsplit(request.headers.get("HX-Current-URL", ""))
    here = f"{shown.path}?{shown.query}" if shown.query else shown.path
    return HttpResponse(status=401, headers={"Location": _sign_in_url(here)})


def _sign_in_url(following: str) -> str:
    url = reverse("accounts:sign-in")
    return f"{url}?{urlencode({'next': following})}" if following not in ("", "/") else url
