"""API keys: minted once, stored as a digest, checked from a short cache."""

from __future__ import annotations

import hashlib
import secrets
import threading
import time
from dataclasses import dataclass
from datetime import datetime

from django.conf import settings
from django.utils import timezone

from runs.accounts.models import ApiKey, Project, Scope, User
from runs.unable import where_it_can

PREFIX = "rw_"


@dataclass(frozen=True, slots=True)
class KeyPrincipal:
    """Who a request with a key is: its project and what it may do."""

    key_id: int
    project_id: int
    scope: Scope
    expires_at: datetime | None
    is_authenticated: bool = True


class ScopeTooStrong(ValueError):
    """A key or person asked for a key stronger than themselves."""


def digest(token: str) -> str:
    """What the database keeps. Tokens hold 192 random bits, so a plain hash is enough."""
    return hashlib.sha256(token.encode()).hexdigest()


def new_token() -> str:
    return PREFIX + secrets.token_urlsafe(24)


def mint(
    *,
    project: Project,
    name: str,
    scope: Scope,
    expires_at: datetime | None = None,
    created_by: User | None = None,
    token: str | None = None,
    holder_scope: Scope | None = None,
) -> tuple[ApiKey, str]:
    """Store a new key and return it with its token, which is not kept anywhere.

    `holder_scope` is the scope of the key that asks, if a key asks; a stronger `scope` raises
    ScopeTooStrong.
    """
    if holder_scope is not None and not holder_scope.covers(scope):
        raise ScopeTooStrong(f"a key of scope {holder_scope} cannot make one of scope {scope}")
    token = token or new_token()
    row = ApiKey.objects.create(
        project=project,
        name=name,
        start=token[:9],
        digest=digest(token),
        scope=scope,
        expires_at=expires_at,
        created_by=created_by,
    )
    return row, token


def revoke(key: ApiKey) -> None:
    """End a key. Other processes notice within `API_KEY_CACHE_SECONDS`."""
    ApiKey.objects.filter(pk=key.pk, revoked_at=None).update(revoked_at=timezone.now())
    with _lock:
        _cache.pop(key.digest, None)


_cache: dict[str, tuple[float, KeyPrincipal | None]] = {}
_lock = threading.Lock()
_CACHE_MAX = 10_000


def check(token: str) -> KeyPrincipal | None:
    """The principal of a live key, or None. At most one query per key and cache period."""
    mark = digest(token)
    now = time.monotonic()
    with _lock:
        held = _cache.get(mark)
    if held is not None and held[0] > now:
        principal = held[1]
        if principal is None or principal.expires_at is None:
            return principal
        return principal if principal.expires_at > timezone.now() else None
    principal = _load(mark)
    with _lock:
        if len(_cache) >= _CACHE_MAX:
            _cache.clear()
        _cache[mark] = (now + settings.API_KEY_CACHE_SECONDS, principal)
    return principal


def forget_cached() -> None:
    """Empty this process's cache (tests, and after a restore)."""
    with _lock:
        _cache.clear()


def _load(mark: str) -> KeyPrincipal | None:
    row = ApiKey.objects.live().filter(digest=mark).first()
    if row is None:
        return None
    with where_it_can():
        ApiKey.objects.filter(pk=row.pk).update(last_used_at=timezone.now())
    return KeyPrincipal(row.pk, row.project_id, Scope(row.scope), row.expires_at)
