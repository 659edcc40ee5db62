"""What every page's frame shows: the project one is in, the others, and one's role."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest

from runs.accounts.models import Membership, Role


def shell(request: HttpRequest) -> dict[str, Any]:
    """`membership`, `project`, `memberships` (for the switcher) and `may`.

    `may.member`, `may.admin`, `may.owner` say whether one's role covers that role; all of them
    are false outside a project.
    """
    user = getattr(request, "user", None)
    if user is None or not user.is_authenticated:
        return {}
    here: Membership | None = getattr(request, "membership", None)
    return {
        "membership": here,
        "project": here.project if here else None,
        "may": {str(role): here is not None and Role(here.role).covers(role) for role in Role},
        "memberships": Membership.objects.filter(user_id=user.pk)
        .select_related("project")
        .order_by("project__name", "project_id"),
    }
