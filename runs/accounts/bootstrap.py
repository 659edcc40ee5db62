"""What a first start needs: an owner, a project, a key kept in a file, a link to sign in with."""

from __future__ import annotations

import os
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

from django.conf import settings
from django.db import IntegrityError

from runs.accounts import keys, links
from runs.accounts.models import ApiKey, Membership, Project, Role, Scope, User

DEFAULT_OWNER = "owner@localhost"
ADDRESS = "address"


def ensure_owner(email: str | None = None) -> User:
    """The person with `email`, made without a password if new.

    Without `email`: the first active owner of any project, else the first active person, else
    a new `owner@localhost`; so a changed address does not bring a second owner at each start.
    """
    if not email:
        found = _first_owner()
        if found is not None:
            return found
    return _get_or_create_user((email or DEFAULT_OWNER).strip().lower())


def ensure_project(
    slug: str, name: str, owner: User | None = None, *, is_demo: bool = False
) -> Project:
    """The project `slug`, made if new; `owner` becomes its owner when it has none."""
    project, _ = Project.objects.get_or_create(
        slug=slug, defaults={"name": name, "is_demo": is_demo}
    )
    if owner is not None and not _has_owner(project):
        ensure_membership(owner, project, Role.OWNER)
    return project


def ensure_membership(user: User, project: Project, role: Role) -> Membership:
    """`user` in `project` with at least `role`; a stronger role is left as it is."""
    row, created = Membership.objects.get_or_create(
        user=user, project=project, defaults={"role": role}
    )
    if not created and not Role(row.role).covers(role):
        row.role = role
        row.save(update_fields=["role"])
    return row


def ensure_key(project: Project, path: Path) -> str:
    """The token in the file `path` (mode 0600), the same at each start; the database has a hash.

    A database that lost the key learns it again. A key that was revoked, or that belongs to
    another project, stays as it is and the file gets a new one: a start never undoes a revocation.
    """
    token = _read(path)
    if token:
        row = ApiKey.objects.filter(digest=keys.digest(token)).first()
        if row is None:
            return _mint(project, token)
        if row.project_id == project.pk and row.revoked_at is None:
            return token
    token = _write(path, keys.new_token())
    return _mint(project, token)


def make_sign_in_link(
    user: User,
    lifetime: timedelta = links.SIGN_IN_LIFETIME,
    *,
    project: Project | None = None,
) -> str:
    """The path of a new one-time link (`/sign-in/…`) that lands in `project`, if named."""
    return f"/sign-in/{links.make_sign_in(user, lifetime=lifetime, project=project)}"


def keep_address(base_url: str) -> None:
    """Keep where this installation answers, for commands that print links to it."""
    _write(settings.REWYN_HOME / ADDRESS, base_url)


def kept_address() -> str:
    """Where this installation last answered; empty when it was not started from this home."""
    try:
        return (settings.REWYN_HOME / ADDRESS).read_text().strip()
    except (OSError, UnicodeDecodeError):
        return ""


def _first_owner() -> User | None:
    active = User.objects.filter(is_active=True).order_by("pk")
    owners = active.filter(memberships__role=Role.OWNER)
    return owners.first() or active.first()


def _get_or_create_user(email: str) -> User:
    found = User.objects.filter(email=email).first()
    if found is not None:
        return found
    try:
        return User.objects.create_user(email)
    except IntegrityError:  # two starts at once
        return User.objects.get(email=email)


def _has_owner(project: Project) -> bool:
    return Membership.objects.filter(project=project, role=Role.OWNER).exists()


def _mint(project: Project, token: str) -> str:
    with suppress(IntegrityError):  # two starts at once: the other one stored it
        keys.mint(project=project, name="first key", scope=Scope.ADMIN, token=token)
    return token


def _read(path: Path) -> str:
    try:
        text = path.read_text().strip()
    except (OSError, UnicodeDecodeError):
        return ""
    return text if text.startswith(keys.PREFIX) and len(text) >= 24 and text.isascii() else ""


def _write(path: Path, text: str) -> str:
    """Put `text` in place of what the file held; it never has a wider mode, not for a moment."""
    draft = path.with_name(f"{path.name}.{os.getpid()}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(text + "\n")
    draft.replace(path)
    return text
