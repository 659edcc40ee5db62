"""Members: roles, invitations by link, leaving; a project keeps an owner."""

import re
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from runs.accounts import keys, links, people
from runs.accounts.models import LinkPurpose, Membership, OneTimeLink, Project, Role, Scope, User

pytestmark = pytest.mark.django_db

NEW = {
    "email": "New@example.com",
    "name": "New",
    "password": "a long new secret",
    "again": "a long new secret",
}


def role_of(email: str) -> str | None:
    return Membership.objects.filter(user__email=email).values_list("role", flat=True).first()


def invite(owner: Client, role: str = "member", email: str = "") -> str:
    """The path of the link shown to the owner."""
    page = owner.post("/p/acme/members/invites", {"role": role, "email": email}, follow=True)
    return re.search(r"http://testserver(/join/[\w-]+)", page.content.decode())[1]


def member_id(email: str) -> int:
    return Membership.objects.get(user__email=email).pk


def test_invite_link_is_shown_once_and_not_kept(owner):
    given = {"role": "viewer", "email": ""}
    page = owner.post("/p/acme/members/invites", given, follow=True)
    token = re.search(r"/join/([\w-]+)", page.content.decode())[1]
    assert "no-store" in page["Cache-Control"]
    assert token not in owner.get("/p/acme/members").content.decode()
    assert token not in str(OneTimeLink.objects.values().get())
    assert token not in str(dict(owner.session))


def test_invite_lasts_seven_days(owner):
    invite(owner)
    left = OneTimeLink.objects.get().expires_at - timezone.now()
    assert timedelta(days=6, hours=23) < left <= timedelta(days=7)


def test_new_person_joins_and_is_signed_in(owner):
    link, browser = invite(owner), Client()
    assert browser.post(link, NEW)["Location"] == "/p/acme/runs"
    assert role_of("new@example.com") == "member"
    assert browser.get("/p/acme/members").status_code == 200


def test_looking_at_an_invite_joins_nobody(owner, signed_in):
    link = invite(owner)
    stranger = signed_in(User.objects.create_user("s@example.com"))
    assert stranger.get(link).status_code == 200
    assert role_of("s@example.com") is None
    assert OneTimeLink.objects.get().used_at is None


def test_signed_in_person_joins_by_a_button(owner, signed_in):
    link = invite(owner, "admin")
    stranger = signed_in(User.objects.create_user("s@example.com"))
    assert stranger.post(link)["Location"] == "/p/acme/runs"
    assert role_of("s@example.com") == "admin"


def test_invite_works_once(owner):
    link = invite(owner)
    Client().post(link, NEW)
    page = Client().post(link, {**NEW, "email": "other@example.com"})
    assert page.status_code == 410
    assert not User.objects.filter(email="other@example.com").exists()


def test_member_who_opens_an_invite_keeps_their_role(owner):
    link = invite(owner, "viewer")
    assert owner.post(link)["Location"] == "/p/acme/runs"
    assert role_of("owner@example.com") == "owner"
    assert OneTimeLink.objects.get().used_at is None


def test_invite_for_an_address_admits_no_other(owner, signed_in):
    link = invite(owner, email="Wanted@example.com")
    stranger = signed_in(User.objects.create_user("s@example.com"))
    assert stranger.post(link).status_code == 400
    assert Client().post(link, NEW).status_code == 400
    assert Client().post(link, {**NEW, "email": "wanted@example.com"}).status_code == 302


def test_known_address_must_sign_in_first(owner):
    link = invite(owner)
    User.objects.create_user("new@example.com", "their own password")
    page = Client().post(link, NEW)
    assert page.status_code == 400
    assert "sign in first" in page.content.decode()
    assert role_of("new@example.com") is None


def test_expired_and_unknown_invites_say_so(owner):
    link = invite(owner)
    OneTimeLink.objects.update(expires_at=timezone.now())
    assert Client().get(link).status_code == 410
    assert Client().get("/join/nothing").status_code == 404


def test_revoked_invite_is_gone(owner):
    link = invite(owner)
    owner.post(f"/p/acme/members/invites/{OneTimeLink.objects.get().pk}/revoke")
    assert Client().post(link, NEW).status_code == 404


def test_invite_of_another_project_is_not_ones_to_revoke(owner, make_member):
    other = Project.objects.create(slug="other", name="Other")
    links.make_invite(project=other, role="viewer", created_by=make_member("viewer"))
    answer = owner.post(f"/p/acme/members/invites/{OneTimeLink.objects.get().pk}/revoke")
    assert answer.status_code == 404
    assert OneTimeLink.objects.count() == 1


def test_removing_an_owner_ends_the_invites_they_gave(owner, make_member, signed_in):
    second = signed_in(make_member("owner", "second@example.com"))
    link = invite(second, "owner")
    owner.post(f"/p/acme/members/{member_id('second@example.com')}/remove")
    assert Client().post(link, NEW).status_code == 404


def test_demoting_an_owner_ends_the_invites_they_gave(owner, make_member, signed_in):
    second = signed_in(make_member("owner", "second@example.com"))
    link = invite(second, "owner")
    owner.post(f"/p/acme/members/{member_id('second@example.com')}/role", {"role": "member"})
    assert Client().post(link, NEW).status_code == 404


def test_owner_changes_a_role(owner, make_member):
    make_member("viewer")
    owner.post(f"/p/acme/members/{member_id('viewer@example.com')}/role", {"role": "admin"})
    assert role_of("viewer@example.com") == "admin"


def test_unknown_role_changes_nothing(owner, make_member):
    make_member("viewer")
    path = f"/p/acme/members/{member_id('viewer@example.com')}/role"
    page = owner.post(path, {"role": "god"}, follow=True)
    assert "There is no such role." in page.content.decode()
    assert role_of("viewer@example.com") == "viewer"


@pytest.mark.parametrize("way", ["remove", "role", "leave"])
def test_last_owner_stays(owner, way):
    mine = f"/p/acme/members/{member_id('owner@example.com')}"
    path = "/p/acme/leave" if way == "leave" else f"{mine}/{way}"
    page = owner.post(path, {"role": "admin"}, follow=True)
    assert "keeps at least one owner" in page.content.decode()
    assert role_of("owner@example.com") == "owner"


def test_owner_who_is_shut_out_does_not_count(owner, make_member):
    make_member("owner", "gone@example.com")
    User.objects.filter(email="gone@example.com").update(is_active=False)
    owner.post("/p/acme/leave")
    assert role_of("owner@example.com") == "owner"


def test_owner_leaves_when_another_stays(owner, make_member):
    make_member("owner", "second@example.com")
    assert owner.post("/p/acme/leave")["Location"] == "/"
    assert owner.get("/p/acme/members").status_code == 404


def test_removed_member_is_out_at_once(owner, member_client):
    assert member_client.get("/p/acme/members").status_code == 200
    owner.post(f"/p/acme/members/{member_id('member@example.com')}/remove")
    assert member_client.get("/p/acme/members").status_code == 404


def test_whoever_removes_somebody_is_told_of_their_keys(owner, make_member, project):
    """A key is the project's and goes on working; who made it may have kept it."""
    gone = make_member("admin", "gone@example.com")
    for name, of in (("CI", gone), ("old", gone), ("mine", None)):
        key, _ = keys.mint(project=project, name=name, scope=Scope.ADMIN, created_by=of)
        if name == "old":
            keys.revoke(key)
    page = owner.post(f"/p/acme/members/{member_id('gone@example.com')}/remove", follow=True)
    told = page.content.decode()
    assert "Keys they made still work: “CI”." in told and "“old”" not in told


def test_member_of_another_project_is_not_ones_to_change(owner, make_member):
    other = Project.objects.create(slug="other", name="Other")
    make_member("member", of=other)
    path = f"/p/acme/members/{member_id('member@example.com')}"
    assert owner.post(f"{path}/role", {"role": "owner"}).status_code == 404
    assert owner.post(f"{path}/remove").status_code == 404


@pytest.mark.parametrize("role", ["viewer", "member", "admin"])
def test_nobody_grants_above_their_own_role(project, make_member, role):
    make_member(role)
    me = Membership.objects.get()
    with pytest.raises(people.RoleTooStrong):
        people.invite(by=me, role=Role.OWNER)
    make_member("owner")
    boss = Membership.objects.get(role="owner")
    with pytest.raises(people.RoleTooStrong):
        people.remove_member(by=me, member=boss)
    assert not OneTimeLink.objects.filter(purpose=LinkPurpose.INVITE).exists()
