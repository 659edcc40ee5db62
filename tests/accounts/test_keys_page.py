"""API keys: shown once, kept hashed, expiring, revoked within 5 seconds everywhere."""

import os
import re
import subprocess
import sys
import time
from datetime import timedelta
from pathlib import Path

import pytest
from django.db import connection
from django.utils import timezone

from runs.accounts import keys
from runs.accounts.models import ApiKey, Project, Scope

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def admin(client_as):
    return client_as("admin")


def make(admin, **data):
    given = {"name": "ci", "scope": "ingest", "expires": "", **data}
    return admin.post("/p/acme/keys", given, follow=True)


def token_in(page) -> str:
    return re.search(r"rw_[\w-]{32}", page.content.decode())[0]


@pytest.mark.django_db
def test_token_is_shown_once_and_works(admin):
    page = make(admin, scope="replay")
    token = token_in(page)
    assert page.status_code == 200
    assert "no-store" in page["Cache-Control"]
    assert keys.check(token).scope == Scope.REPLAY
    assert token not in admin.get("/p/acme/keys").content.decode()


@pytest.mark.django_db
def test_token_is_kept_nowhere(admin):
    token = token_in(make(admin))
    assert token not in str(ApiKey.objects.values().get())
    assert token not in str(dict(admin.session))
    assert token not in str(admin.cookies)


@pytest.mark.django_db
def test_reload_of_the_answer_makes_no_second_key(admin):
    make(admin)
    assert make(admin).status_code == 400
    assert ApiKey.objects.count() == 1


@pytest.mark.django_db
def test_list_says_start_scope_use_and_maker(admin):
    keys.check(token := token_in(make(admin, scope="read")))
    page = admin.get("/p/acme/keys").content.decode()
    assert token[:9] in page
    assert f"{timezone.now():%Y-%m-%d}" in page
    assert "admin@example.com" in page


@pytest.mark.django_db
@pytest.mark.parametrize("days", ["7", "30", "90", "365"])
def test_key_ends_when_it_said(admin, days):
    token = token_in(make(admin, expires=days))
    left = ApiKey.objects.get().expires_at - timezone.now()
    assert abs(left - timedelta(days=int(days))) < timedelta(minutes=1)
    ApiKey.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    keys.forget_cached()
    assert keys.check(token) is None


@pytest.mark.django_db
def test_expiry_is_not_stretched_by_the_cache(project, monkeypatch):
    soon = timezone.now() + timedelta(minutes=1)
    token = keys.mint(project=project, name="k", scope=Scope.READ, expires_at=soon)[1]
    assert keys.check(token) is not None
    monkeypatch.setattr(timezone, "now", lambda: soon)
    assert keys.check(token) is None


@pytest.mark.django_db
@pytest.mark.parametrize("bad", [{"scope": "god"}, {"scope": ""}, {"name": ""}, {"expires": "-1"}])
def test_nonsense_makes_no_key(admin, bad):
    assert make(admin, **bad).status_code == 400
    assert not ApiKey.objects.exists()


@pytest.mark.django_db
def test_revoked_key_is_dead_here_at_once(admin):
    token = token_in(make(admin))
    assert keys.check(token) is not None
    admin.post(f"/p/acme/keys/{ApiKey.objects.get().pk}/revoke")
    assert keys.check(token) is None
    assert "revoked" in admin.get("/p/acme/keys").content.decode()


@pytest.mark.django_db
def test_key_of_another_project_is_not_ones_to_revoke(admin):
    other = Project.objects.create(slug="other", name="Other")
    row, token = keys.mint(project=other, name="k", scope=Scope.READ)
    assert admin.post(f"/p/acme/keys/{row.pk}/revoke").status_code == 404
    assert keys.check(token) is not None


@pytest.mark.django_db
def test_key_makes_none_stronger_than_itself(project):
    with pytest.raises(keys.ScopeTooStrong):
        keys.mint(project=project, name="k", scope=Scope.ADMIN, holder_scope=Scope.REPLAY)


WATCHER = """
import sys, time, django
django.setup()
from runs.accounts import keys
token = sys.stdin.readline().strip()
print("live" if keys.check(token) else "dead", flush=True)
while keys.check(token):
    time.sleep(0.05)
print("dead", flush=True)
"""


def database_url() -> str:
    """The test database, as another process names it."""
    of = connection.settings_dict
    if connection.vendor == "sqlite":
        return f"sqlite:///{of['NAME']}"
    host = f"{of['USER']}:{of['PASSWORD']}@{of['HOST']}:{of['PORT']}"
    return f"postgres://{host}/{of['NAME']}"


@pytest.mark.django_db(transaction=True)
def test_revoked_key_is_dead_in_another_process_within_5_seconds(project):
    row, token = keys.mint(project=project, name="k", scope=Scope.READ)
    env = {**os.environ, "DATABASE_URL": database_url(), "PYTHONPATH": str(ROOT)}
    env["DJANGO_SETTINGS_MODULE"] = "rewyn_web.settings"
    with subprocess.Popen(
        [sys.executable, "-c", WATCHER], env=env, stdin=-1, stdout=-1, text=True, cwd=ROOT
    ) as other:
        other.stdin.write(token + "\n")
        other.stdin.flush()
        assert other.stdout.readline() == "live\n"
        keys.revoke(row)
        revoked = time.monotonic()
        assert other.stdout.readline() == "dead\n"
        assert time.monotonic() - revoked < 5
