"""Sessions in the database, as Django keeps them, read fast: every page begins with one."""

from __future__ import annotations

from django.contrib.sessions import middleware
from django.contrib.sessions.backends import db
from django.contrib.sessions.backends.base import UpdateError
from django.contrib.sessions.models import Session
from django.db import DatabaseError
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from runs import bulk
from runs.unable import where_it_can, why_not_taken


class SessionStore(db.SessionStore):
    def _get_session_from_db(self) -> Session | None:
        key = str(self.session_key)
        # A cookie may hold anything, such as a NUL that no text column takes.
        found = bulk.get(Session, session_key=key) if key.isalnum() else None
        if found is not None and found.expire_date > timezone.now():
            return found
        self._session_key = None
        return None

    def save(self, must_create: bool = False) -> None:
        """Django takes any error of an update for a session that was ended elsewhere."""
        try:
            super().save(must_create)
        except UpdateError as error:
            said = error.__context__
            if isinstance(said, DatabaseError) and why_not_taken(said):
                raise said from said.__cause__
            raise


class SessionMiddleware(middleware.SessionMiddleware):
    def process_response(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        """Reading a page only notes in the session which project it is of: it does not fail where
        that cannot be written."""
        if request.method not in ("GET", "HEAD"):
            return super().process_response(request, response)
        with where_it_can():
            return super().process_response(request, response)
        return response
