"""What has had its day goes; what has not stays."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.sessions.models import Session
from django.utils import timezone

from runs.accounts import links
from runs.models import Tombstone
from runs.tidy import tidy


@pytest.mark.django_db
def test_only_what_has_ended_is_deleted(project, make_member) -> None:
    now = timezone.now()
    for days in (90, -90):
        when = now + timedelta(days=days)
        Session.objects.create(session_key=f"s{days}", session_data="", expire_date=when)
        Tombstone.objects.create(project=project, external_id=f"r{days}", expires_at=when)
        links.make_sign_in(make_member(email=f"m{days}@example.com"), lifetime=timedelta(days=days))
    assert tidy() == {"runs": 0, "attachments": 0, "sessions": 1, "links": 1, "tombstones": 1}
    assert Session.objects.get().session_key == "s90"
    assert tidy() == {"runs": 0, "attachments": 0, "sessions": 0, "links": 0, "tombstones": 0}
