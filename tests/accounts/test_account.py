"""One's own name and password."""

import pytest

from runs.accounts.models import User

pytestmark = pytest.mark.django_db

NEW = {"password": "another long secret", "again": "another long secret"}


def set_password(client, **data):
    return client.post("/account/password", data)


def test_name_is_saved(member_client):
    member_client.post("/account", {"name": "Ada"})
    assert User.objects.get().name == "Ada"


def test_first_password_needs_no_other(signed_in):
    client = signed_in(User.objects.create_user("owner@localhost"))
    assert set_password(client, **NEW).status_code == 302
    assert User.objects.get().check_password("another long secret")


def test_change_needs_the_password_in_use(member_client):
    assert set_password(member_client, **NEW).status_code == 400
    assert set_password(member_client, current="wrong", **NEW).status_code == 400
    assert set_password(member_client, current="correct horse battery", **NEW).status_code == 302


def test_change_keeps_this_session_and_ends_the_others(member_client, signed_in):
    other = signed_in(User.objects.get())
    set_password(member_client, current="correct horse battery", **NEW)
    assert member_client.get("/account").status_code == 200
    assert other.get("/account").status_code == 302


@pytest.mark.parametrize("bad", ["short", "password", "12345678901"])
def test_weak_password_is_refused_with_a_reason(member_client, bad):
    page = set_password(member_client, current="correct horse battery", password=bad, again=bad)
    assert page.status_code == 400
    assert "This password is" in page.content.decode()


def test_two_different_entries_are_refused(member_client):
    page = set_password(
        member_client, current="correct horse battery", password=NEW["password"], again="x"
    )
    assert "The two are not the same." in page.content.decode()
