"""A browser session as signing in leaves it, without the four writes that signing in takes."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.sessions.backends.db import SessionStore
from django.test import Client

BACKEND = "runs.accounts.backends.SignedIn"


def session_of(user: Any) -> str:
    """The key of a new session in which `user` is signed in: the value of its cookie."""
    session = SessionStore()
    session[SESSION_KEY] = str(user.pk)
    session[BACKEND_SESSION_KEY] = BACKEND
    session[HASH_SESSION_KEY] = user.get_session_auth_hash()
    session.create()
    return str(session.session_key)


def browser_of(user: Any, **options: Any) -> Client:
    """A test client in which `user` is signed in."""
    client = Client(**options)
    client.cookies[settings.SESSION_COOKIE_NAME] = session_of(user)
    return client
