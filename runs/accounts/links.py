"""One-time links: to sign in, and to join a project. The database holds only their digests."""

from __future__ import annotations

import secrets
from datetime import timedelta

from django.utils import timezone

from runs.accounts.keys import digest
from runs.accounts.models import LinkPurpose, OneTimeLink, Project, Role, User

SIGN_IN_LIFETIME = timedelta(hours=1)
INVITE_LIFETIME = timedelta(days=7)
FORGET_AFTER = timedelta(days=30)
"""Ended links are kept this long, so that an old one is answered "used" or "expired"."""


def make_sign_in(
    user: User, *, lifetime: timedelta = SIGN_IN_LIFETIME, project: Project | None = None
) -> str:
    """A new token that signs `user` in once and lands in `project`, if it is named."""
    forget_old()
    return _make(LinkPurpose.SIGN_IN, lifetime, user=user, project=project)


def make_invite(
    *,
    project: Project,
    role: Role,
    created_by: User,
    email: str = "",
    lifetime: timedelta = INVITE_LIFETIME,
) -> str:
    """A new token that lets one person (only `email`, if given) join `project` as `role`."""
    forget_old()
    return _make(
        LinkPurpose.INVITE,
        lifetime,
        project=project,
        role=role,
        email=email.strip().lower(),
        created_by=created_by,
    )


def find(token: str, purpose: LinkPurpose) -> OneTimeLink | None:
    """The link with this token, live or not. Found by digest, so timing tells nothing."""
    return (
        OneTimeLink.objects.select_related("user", "project", "created_by")
        .filter(digest=digest(token), purpose=purpose)
        .first()
    )


def is_live(link: OneTimeLink) -> bool:
    return link.used_at is None and link.expires_at > timezone.now()


def use(link: OneTimeLink) -> bool:
    """Mark the link used; False when somebody was faster or it has expired."""
    now = timezone.now()
    live = OneTimeLink.objects.filter(pk=link.pk, used_at=None, expires_at__gt=now)
    return live.update(used_at=now) == 1


def _make(purpose: LinkPurpose, lifetime: timedelta, **fields: object) -> str:
    token = secrets.token_urlsafe(24)
    OneTimeLink.objects.create(
        digest=digest(token),
        purpose=purpose,
        expires_at=timezone.now() + lifetime,
        **fields,
    )
    return token


def forget_old() -> int:
    """Delete links that ended long ago; how many."""
    return OneTimeLink.objects.filter(expires_at__lt=timezone.now() - FORGET_AFTER).delete()[0]
