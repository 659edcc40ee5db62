"""What every page's frame shows: the project one is in, the others, and one's role."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from runs.access import LAST_PROJECT
from runs.accounts.models import Membership, Role
from runs.comments.threads import with_unread
from runs.prepared import prepared

Counting = Callable[[QuerySet[Membership], int], QuerySet[Membership]]
counted: list[Counting] = []
"""What the layers above count in the frame: each adds a number to the memberships, which are asked
for anyway. It is told the key of the project one is in, 0 for none."""


def shell(request: HttpRequest) -> dict[str, Any]:
    """`membership`, `project`, `memberships` (for the switcher, each with the mentions that wait
    in it as `unread`) and `may`.

    `may.member`, `may.admin`, `may.owner` say whether one's role covers that role. Pages outside
    a project keep the frame of the one looked at last; without any, all of `may` is false.
    """
    user = getattr(request, "user", None)
    if user is None or not user.is_authenticated:
        return {}
    here: Membership | None = getattr(request, "membership", None) or _last(request, user.pk)
    return {
        "membership": here,
        "project": here.project if here else None,
        "may": {str(role): here is not None and Role(here.role).covers(role) for role in Role},
        # A part of a page asks for none of them.
        "memberships": SimpleLazyObject(lambda: _mine(user.pk, here.project_id if here else 0)),
    }


@prepared
def _mine(user_id: int, here: int) -> QuerySet[Membership]:
    found = with_unread(Membership.objects.filter(user_id=user_id).select_related("project"))
    for add in counted:
        found = add(found, here)
    return found.order_by("project__name", "project_id")


def _last(request: HttpRequest, user_id: int) -> Membership | None:
    session = getattr(request, "session", None)
    slug = session.get(LAST_PROJECT) if session is not None else None
    mine = Membership.objects.filter(user_id=user_id, project__slug=slug or "")
    return mine.select_related("project").first() if slug else None
