"""Who is signed in, as every page asks."""

from __future__ import annotations

from django.contrib.auth.backends import BaseBackend

from runs import bulk
from runs.accounts.models import User


class SignedIn(BaseBackend):
    """Reads the person of a session fast. Passwords are for Django's own backend beside it, which
    sessions from before this one name too."""

    def get_user(self, user_id: int) -> User | None:
        found = bulk.get(User, id=user_id)
        return found if found is not None and found.is_active else None
