"""What every page's frame shows: the project one is in, the others, and one's role."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest

from runs.accounts.models import Membership


def shell(request: HttpRequest) -> dict[str, Any]:
    user = getattr(request, "user", None)
    if user is None or not user.is_authenticated:
        return {}
    here: Membership | None = getattr(request, "membership", None)
    return {
        "membership": here,
        "project": here.project if here else None,
        "memberships": Membership.objects.filter(user_id=user.pk)
        .select_related("project")
        .order_by("project__name"),
    }
