"""What every page's frame shows: the project one is in, the others, and one's role."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest

from runs.access import LAST_PROJECT
from runs.accounts.models import Membership, Role
from runs.comments.threads import with_unread

Counting = Callable[[QuerySet[Membership], int | None], QuerySet[Membership]]
counted: list[Counting] = []
"""What the layers above count in the frame: each adds a number to the memberships, which are asked
for anyway. It is told the project one is in."""


def shell(request: HttpRequest) -> dict[str, Any]:
    """`membership`, `project`, `memberships` (for the switcher, each with the mentions that wait
    in it as `unread`) and `may`.

    `may.member`, `may.admin`, `may.owner` say whether one's role covers that role. Pages outside
    a project keep the frame of the one looked at last; without any, all of `may` is false.
    """
    user = getattr(request, "user", None)
    if user is None or not user.is_authenticated:
        return {}
    mine = Membership.objects.filter(user_id=user.pk).select_related("project")
    here: Membership | None = getattr(request, "membership", None) or _last(request, mine)
    return {
        "membership": here,
        "project": here.project if here else None,
        "may": {str(role): here is not None and Role(here.role).covers(role) for role in Role},
        "memberships": _counted(mine, here).order_by("project__name", "project_id"),
    }


def _counted(mine: QuerySet[Membership], here: Membership | None) -> QuerySet[Membership]:
    found = with_unread(mine)
    for add in counted:
        found = add(found, here.project_id if here else None)
    return found


def _last(request: HttpRequest, mine: QuerySet[Membership]) -> Membership | None:
    session = getattr(request, "session", None)
    slug = session.get(LAST_PROJECT) if session is not None else None
    return mine.filter(project__slug=slug).first() if slug else None
