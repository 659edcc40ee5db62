"""Sessions in the database, as Django keeps them, read fast: every page begins with one."""

from __future__ import annotations

from django.contrib.sessions.backends import db
from django.contrib.sessions.models import Session
from django.utils import timezone

from runs import bulk


class SessionStore(db.SessionStore):
    def _get_session_from_db(self) -> Session | None:
        key = str(self.session_key)
        # A cookie may hold anything, such as a NUL that no text column takes.
        found = bulk.get(Session, session_key=key) if key.isalnum() else None
        if found is not None and found.expire_date > timezone.now():
            return found
        self._session_key = None
        return None
