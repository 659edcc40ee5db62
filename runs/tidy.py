"""What has had its day: ended sessions, used links, tombstones past their time."""

from __future__ import annotations

from django.contrib.sessions.models import Session
from django.utils import timezone

from runs import curate
from runs.accounts import links
from runs.models import Tombstone
from runs.storage import attachments


def tidy() -> dict[str, int]:
    """Delete it, and say how many rows of each kind there were."""
    now = timezone.now()
    return {
        "runs": curate.purge_deleted(),
        "attachments": attachments.forget_unused(),
        "sessions": Session.objects.filter(expire_date__lt=now).delete()[0],
        "links": links.forget_old(),
        "tombstones": Tombstone.objects.filter(expires_at__lt=now).delete()[0],
    }
