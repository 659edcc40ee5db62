"""The one door to a project or a run: "not yours" and "not there" answer alike (404).

Somebody who is not signed in is asked to sign in, whatever the address names.
"""

from __future__ import annotations

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest

from runs import bulk
from runs.accounts.models import Membership, Project, Role, User
from runs.models import Effect, Run

LAST_PROJECT = "project"
"""Session key: the slug of the project the person looked at last."""


class SignInNeeded(Exception):
    """Nobody is signed in; `runs.accounts.middleware` answers with the way to sign in."""


def signed_in(request: HttpRequest) -> User:
    """The person who is signed in; raises SignInNeeded."""
    if not isinstance(request.user, User):
        raise SignInNeeded
    return request.user


def get_membership_or_404(request: HttpRequest, slug: str, needs: Role = Role.VIEWER) -> Membership:
    """The signed-in person's membership of project `slug`.

    Raises SignInNeeded for nobody, Http404 for a stranger and PermissionDenied for a member whose
    role does not cover `needs`. Keeps the membership on the request for templates.
    """
    user = signed_in(request)
    project = bulk.get(Project, slug=slug)
    membership = bulk.get(Membership, user_id=user.pk, project_id=project.pk) if project else None
    if project is None or membership is None:
        raise Http404
    membership.user = user
    membership.project = project
    request.membership = membership  # type: ignore[attr-defined]
    if not Role(membership.role).covers(needs):
        raise PermissionDenied(f"This needs the role {needs}; yours is {membership.role}.")
    _remember(request, slug)
    return membership


def get_project_or_404(request: HttpRequest, slug: str, needs: Role = Role.VIEWER) -> Project:
    return get_membership_or_404(request, slug, needs).project


def get_run_or_404(request: HttpRequest, slug: str, run_id: str, needs: Role = Role.VIEWER) -> Run:
    """The run with this external id in a project the person belongs to."""
    project = get_project_or_404(request, slug, needs)
    run = bulk.get(Run, project_id=project.pk, external_id=run_id)
    if run is None or run.deleted_at is not None:
        raise Http404
    run.project = project
    return run


def get_effect_or_404(run: Run, seq: int) -> Effect:
    effect = bulk.get(Effect, run_id=run.pk, seq=seq)
    if effect is None:
        raise Http404
    effect.run = run
    return effect


def _remember(request: HttpRequest, slug: str) -> None:
    session = getattr(request, "session", None)
    looks = request.method in ("GET", "HEAD")  # what was sent is not to fail by this note
    if looks and session is not None and session.get(LAST_PROJECT) != slug:
        session[LAST_PROJECT] = slug
