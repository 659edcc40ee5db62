"""The one door to a replay's pages."""

from __future__ import annotations

from django.http import Http404, HttpRequest

from replay.models import Replay
from runs.access import get_project_or_404
from runs.accounts.models import Role


def get_replay_or_404(
    request: HttpRequest, slug: str, replay_id: str, needs: Role = Role.VIEWER
) -> Replay:
    """The replay of this id in a project the person belongs to."""
    project = get_project_or_404(request, slug, needs)
    found = Replay.objects.of(project).filter(public_id=replay_id)
    replay = found.select_related("run", "experiment", "created_by").first()
    if replay is None:
        raise Http404
    replay.project = project
    replay.run.project = project
    return replay
