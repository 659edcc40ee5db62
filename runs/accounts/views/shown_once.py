"""A secret that a POST made, shown by the page it leads to: once, and not again on a reload.

It travels in a cookie of that page alone. Sessions are rows of the database, and no secret is
written there in plain.
"""

from __future__ import annotations

from django.conf import settings
from django.core.signing import BadSignature
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect

from runs.accounts.models import Membership

COOKIE = "rewyn_shown_once"
SECONDS = 60
"""How long the next page may take to ask for it."""


def redirect_with(secret: str, me: Membership, address: str) -> HttpResponseRedirect:
    """To the page at `address`, which takes the secret; only this member's next visit gets it."""
    response = HttpResponseRedirect(address)
    response.set_signed_cookie(
        COOKIE,
        secret,
        salt=_salt(me, address),
        max_age=SECONDS,
        path=address,
        httponly=True,
        secure=settings.SESSION_COOKIE_SECURE,
        samesite="Strict",
    )
    return response


def take(request: HttpRequest, me: Membership) -> str:
    """The secret this page was led to with; empty for any other visit."""
    try:
        salt = _salt(me, request.path)
        return request.get_signed_cookie(COOKIE, salt=salt, max_age=SECONDS) or ""
    except (KeyError, BadSignature):
        return ""


def forget(request: HttpRequest, response: HttpResponse) -> HttpResponse:
    """Have the browser drop what this page has shown."""
    if COOKIE in request.COOKIES:
        response.delete_cookie(COOKIE, path=request.path, samesite="Strict")
    return response


def _salt(me: Membership, address: str) -> str:
    return f"{COOKIE}:{me.pk}:{address}"
