"""What each start relies on: the same owner, project and key, and a fresh link."""

import stat
from pathlib import Path

import pytest

from runs.accounts import bootstrap, keys
from runs.accounts.models import ApiKey, Membership, Project, Scope, User

pytestmark = pytest.mark.django_db


def test_second_start_finds_the_same_owner():
    first = bootstrap.ensure_owner()
    bootstrap.ensure_project("main", "Main", first)
    User.objects.filter(pk=first.pk).update(email="me@example.com")
    assert bootstrap.ensure_owner() == first
    assert User.objects.count() == 1


def test_owner_is_found_by_address_in_any_case():
    assert bootstrap.ensure_owner("Ada@Example.com") == bootstrap.ensure_owner("ada@example.COM")


def test_project_is_made_once_and_gets_an_owner():
    owner = bootstrap.ensure_owner()
    bootstrap.ensure_project("main", "Main", owner)
    bootstrap.ensure_project("main", "Another name", bootstrap.ensure_owner("b@example.com"))
    assert Project.objects.get().name == "Main"
    assert Membership.objects.get().user == owner


def test_key_is_the_same_at_each_start_and_private(project, tmp_path: Path):
    path = tmp_path / "key"
    token = bootstrap.ensure_key(project, path)
    assert bootstrap.ensure_key(project, path) == token == path.read_text().strip()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert ApiKey.objects.count() == 1
    assert token not in str(ApiKey.objects.values().get())


def test_database_that_lost_the_key_learns_it_again(project, tmp_path: Path):
    token = bootstrap.ensure_key(project, tmp_path / "key")
    ApiKey.objects.all().delete()
    assert bootstrap.ensure_key(project, tmp_path / "key") == token
    principal = keys.check(token)
    assert principal is not None
    assert principal.scope == Scope.ADMIN


def test_start_does_not_undo_a_revocation(project, tmp_path: Path):
    token = bootstrap.ensure_key(project, tmp_path / "key")
    keys.revoke(ApiKey.objects.get())
    fresh = bootstrap.ensure_key(project, tmp_path / "key")
    assert fresh != token
    assert keys.check(token) is None
    assert keys.check(fresh) is not None


@pytest.mark.parametrize("junk", [b"", b"\xff\xfe", b"not a key", b"rw_short\n"])
def test_spoiled_key_file_is_replaced(project, tmp_path: Path, junk: bytes):
    (tmp_path / "key").write_bytes(junk)
    token = bootstrap.ensure_key(project, tmp_path / "key")
    assert keys.check(token) is not None


def test_link_is_a_path_of_its_own_each_time():
    owner = bootstrap.ensure_owner()
    first, second = bootstrap.make_sign_in_link(owner), bootstrap.make_sign_in_link(owner)
    assert first.startswith("/sign-in/")
    assert first != second
