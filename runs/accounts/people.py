"""Projects and who belongs to them. The rules: a project keeps an owner; nobody grants upwards."""

from __future__ import annotations

import secrets

from django.db import IntegrityError, transaction
from django.db.models import F, QuerySet
from django.utils import timezone
from django.utils.text import slugify

from runs import curate
from runs.accounts import keys, links
from runs.accounts.models import ApiKey, LinkPurpose, Membership, OneTimeLink, Project, Role, User

SLUG_LENGTH = 60


class NotPossible(ValueError):
    """A change of people that a rule forbids; the message is a sentence for the page."""


class LastOwner(NotPossible):
    def __init__(self) -> None:
        super().__init__("A project keeps at least one owner. Make somebody else owner first.")


class RoleTooStrong(NotPossible):
    def __init__(self, role: Role) -> None:
        super().__init__(f"Your role cannot grant or change the role {role}.")


class SlugTaken(NotPossible):
    def __init__(self, slug: str) -> None:
        super().__init__(f"The address “{slug}” is taken.")


class LinkEnded(NotPossible):
    def __init__(self) -> None:
        super().__init__("This invitation was used, revoked, or has expired.")


class InviteForSomebodyElse(NotPossible):
    def __init__(self) -> None:
        super().__init__("This invitation is for another e-mail address.")


def runs_page(project: Project) -> str:
    """Where a project opens."""
    return f"/p/{project.slug}/runs"


# --- Projects --------------------------------------------------------------------------------


def create_project(*, name: str, owner: User, slug: str = "") -> Project:
    """A new project with its owner. Without `slug` a free one is made from the name.

    Raises SlugTaken when `slug` is given and somebody has it.
    """
    wanted = slug or free_slug(name)
    try:
        with transaction.atomic():
            project = Project.objects.create(slug=wanted, name=name)
            Membership.objects.create(user=owner, project=project, role=Role.OWNER)
    except IntegrityError as error:
        raise SlugTaken(wanted) from error
    return project


def free_slug(name: str) -> str:
    """An address from the name's Latin letters and digits that no project has yet."""
    stem = slugify(name)[: SLUG_LENGTH - 7].strip("-_") or "project"
    if not Project.objects.filter(slug=stem).exists():
        return stem
    return f"{stem}-{secrets.token_hex(3)}"


def rename_project(project: Project, name: str) -> None:
    Project.objects.filter(pk=project.pk).update(name=name)
    project.name = name


# --- Members ---------------------------------------------------------------------------------


def invite(*, by: Membership, role: Role, email: str = "") -> str:
    """The token of a link that lets one person join with `role`. Raises RoleTooStrong."""
    _may_grant(by, role)
    return links.make_invite(project=by.project, role=role, created_by=by.user, email=email)


def open_invites(project: Project) -> QuerySet[OneTimeLink]:
    return (
        OneTimeLink.objects.filter(
            project=project,
            purpose=LinkPurpose.INVITE,
            used_at=None,
            expires_at__gt=timezone.now(),
        )
        .select_related("created_by")
        .order_by("-created_at")
    )


def revoke_invite(project: Project, link_id: int) -> bool:
    """End an open invitation; False when there is none of this number."""
    return open_invites(project).order_by().filter(pk=link_id).delete()[0] > 0


def check_invite(link: OneTimeLink, email: str) -> None:
    """Raises LinkEnded or InviteForSomebodyElse when `email` cannot join by this link."""
    if not links.is_live(link):
        raise LinkEnded
    if link.email and link.email != email:
        raise InviteForSomebodyElse


def join(link: OneTimeLink, user: User) -> Membership:
    """Use an invitation. Raises LinkEnded, InviteForSomebodyElse.

    Somebody who is a member already stays as they are, and the link stays good.
    """
    check_invite(link, user.email)
    assert link.project is not None
    with transaction.atomic():
        held = Membership.objects.filter(user=user, project=link.project).first()
        if held is not None:
            return held
        if not links.use(link):
            raise LinkEnded
        return Membership.objects.create(user=user, project=link.project, role=link.role)


def join_as_new(link: OneTimeLink, *, email: str, name: str, password: str) -> User:
    """Make a person from an invitation. Raises as `join`, and IntegrityError for a known e-mail."""
    check_invite(link, email)
    with transaction.atomic():
        user = User.objects.create_user(email, password, name=name)
        join(link, user)
    return user


def change_role(*, by: Membership, member: Membership, role: Role) -> None:
    """Raises RoleTooStrong, or LastOwner when no owner would be left."""
    _may_grant(by, role)
    _may_grant(by, Role(member.role))
    with transaction.atomic():
        _hold(member.project)
        if role != Role.OWNER:
            _keep_an_owner(member)
        Membership.objects.filter(pk=member.pk).update(role=role)
        _drop_invites_beyond(member, role)


def remove_member(*, by: Membership, member: Membership) -> None:
    """Take somebody (or oneself) out, with the invitations they gave. Raises as change_role."""
    if by.pk != member.pk:
        _may_grant(by, Role(member.role))
    with transaction.atomic():
        _hold(member.project)
        _keep_an_owner(member)
        Membership.objects.filter(pk=member.pk).delete()
        _invites_by(member).delete()


def _may_grant(by: Membership, role: Role) -> None:
    if not Role(by.role).covers(role):
        raise RoleTooStrong(role)


def _hold(project: Project) -> None:
    """Take the project's row lock until commit, so that two owners cannot demote each other."""
    Project.objects.filter(pk=project.pk).update(name=F("name"))


def _keep_an_owner(member: Membership) -> None:
    others = Membership.objects.filter(
        project_id=member.project_id, role=Role.OWNER, user__is_active=True
    ).exclude(pk=member.pk)
    was_owner = Membership.objects.filter(pk=member.pk, role=Role.OWNER).exists()
    if was_owner and not others.exists():
        raise LastOwner


def _invites_by(member: Membership) -> QuerySet[OneTimeLink]:
    return OneTimeLink.objects.filter(
        project_id=member.project_id,
        purpose=LinkPurpose.INVITE,
        created_by_id=member.user_id,
        used_at=None,
    )


def _drop_invites_beyond(member: Membership, role: Role) -> None:
    """Only an owner invites; what a former owner had handed out no longer opens the door."""
    if role != Role.OWNER:
        _invites_by(member).delete()


# --- Removal ---------------------------------------------------------------------------------


def remove_project(project: Project) -> None:
    """Delete a project with everything in it.

    Keys go first, so that nothing new comes in; the project's row goes last, so that a removal
    that was cut short can be asked for again.
    """
    ApiKey.objects.filter(project=project).delete()
    keys.forget_cached()
    OneTimeLink.objects.filter(project=project).delete()
    curate.delete_project_runs(project)
    Project.objects.filter(pk=project.pk).delete()
