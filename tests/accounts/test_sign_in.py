"""Ways in: a one-time link, a password, and back to the page asked for."""

import re
from datetime import timedelta

import pytest
from axes.models import AccessAttempt
from django.conf import settings
from django.contrib.sessions.models import Session
from django.test import Client
from django.utils import timezone

from runs.accounts import bootstrap, links
from runs.accounts.models import OneTimeLink, User

pytestmark = pytest.mark.django_db

PASSWORD = "correct horse battery"


@pytest.fixture
def link(make_member) -> str:
    return bootstrap.make_sign_in_link(make_member("owner"))


def test_looking_at_a_link_signs_nobody_in(client, link):
    page = client.get(link)
    assert page.status_code == 200
    assert "no-store" in page["Cache-Control"]
    assert settings.SESSION_COOKIE_NAME not in client.cookies
    assert OneTimeLink.objects.get().used_at is None


def test_pressing_the_button_lands_on_the_runs(client, link):
    answer = client.post(link)
    assert (answer.status_code, answer["Location"]) == (302, "/p/acme/runs")
    assert client.get("/account").status_code == 200


def test_link_page_is_a_form_a_script_can_press(link):
    client = Client(enforce_csrf_checks=True)
    body = client.get(link).content.decode()
    action = re.search(r'<form[^>]*method="post"[^>]*action="([^"]*)"', body)[1]
    token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', body)[1]
    assert client.post(action, {"csrfmiddlewaretoken": token})["Location"] == "/p/acme/runs"


def test_button_without_its_token_is_refused(link):
    page = Client(enforce_csrf_checks=True).post(link)
    assert page.status_code == 403
    assert "reload the page" in page.content.decode()


def test_two_presses_are_one_sign_in(client, link):
    client.post(link)
    second = Client().post(link)
    assert second.status_code == 410
    assert "This link was used" in second.content.decode()


def test_expired_link_says_what_to_do(client, make_member):
    late = bootstrap.make_sign_in_link(make_member("owner"), timedelta(seconds=-1))
    page = client.post(late)
    assert page.status_code == 410
    assert "has expired" in page.content.decode()
    assert "sign_in_link" in page.content.decode()


@pytest.mark.parametrize("method", ["get", "post"])
def test_unknown_link_is_404_and_names_nobody(client, link, method):
    page = getattr(client, method)("/sign-in/x%00y")
    assert page.status_code == 404
    assert "owner@example.com" not in page.content.decode()


def test_link_of_somebody_shut_out_is_unknown(client, link):
    User.objects.update(is_active=False)
    assert client.post(link).status_code == 404


def test_a_session_ends_with_the_person_being_shut_out(client, link):
    client.post(link)
    assert client.get("/account").status_code == 200
    User.objects.update(is_active=False)
    assert client.get("/account").status_code == 302
    User.objects.all().delete()
    assert client.get("/account").status_code == 302


def test_a_session_that_is_over_signs_nobody_in(client, link):
    client.post(link)
    Session.objects.update(expire_date=timezone.now() - timedelta(seconds=1))
    assert client.get("/account").status_code == 302


def test_a_session_from_before_goes_on(client, make_member):
    client.force_login(make_member("owner"), backend="django.contrib.auth.backends.ModelBackend")
    assert client.get("/account").status_code == 200


def test_invite_token_is_no_sign_in_link(client, project, make_member):
    token = links.make_invite(project=project, role="viewer", created_by=make_member("owner"))
    assert client.post(f"/sign-in/{token}").status_code == 404


def test_link_lands_in_the_project_it_names(client, make_member, project):
    user = make_member("owner")
    bootstrap.ensure_project("aaa", "Aaa", user)
    assert client.post(bootstrap.make_sign_in_link(user))["Location"] == "/p/aaa/runs"
    named = bootstrap.make_sign_in_link(user, project=project)
    assert client.post(named)["Location"] == "/p/acme/runs"


def test_link_to_a_project_one_is_not_in_lands_elsewhere(client, make_member, project):
    other = bootstrap.ensure_project("zzz", "Zzz")
    link = bootstrap.make_sign_in_link(make_member("owner"), project=other)
    assert client.post(link)["Location"] == "/p/acme/runs"


def test_sign_in_starts_a_new_session(client, link):
    client.get("/sign-in")
    client.session.save()
    before = client.session.session_key
    client.post(link)
    assert client.session.session_key != before


def test_database_holds_no_token(link):
    assert link.rsplit("/", 1)[1] not in str(OneTimeLink.objects.values().get())


def test_old_links_are_forgotten(make_member):
    user = make_member("owner")
    links.make_sign_in(user)
    OneTimeLink.objects.update(expires_at=timezone.now() - timedelta(days=31))
    links.make_sign_in(user)
    assert OneTimeLink.objects.count() == 1


def sign_in(client, password=PASSWORD, email="member@example.com", **more):
    return client.post("/sign-in", {"email": email, "password": password, **more})


def test_password_signs_in_whatever_the_case_of_the_address(client, make_member):
    make_member("member")
    assert sign_in(client, email=" Member@EXAMPLE.com ")["Location"] == "/p/acme/runs"


def test_wrong_password_and_unknown_person_are_told_the_same(client, make_member):
    make_member("member")
    wrong = sign_in(client, "nonsense nonsense")
    unknown = sign_in(client, "nonsense nonsense", "nobody@example.com")
    assert wrong.status_code == unknown.status_code == 400
    assert "E-mail and password do not fit." in wrong.content.decode()
    assert "E-mail and password do not fit." in unknown.content.decode()
    assert "nonsense" not in wrong.content.decode()


def test_too_many_tries_are_told_how_long_to_wait(client, make_member):
    make_member("member")
    for _ in range(settings.AXES_FAILURE_LIMIT):
        page = sign_in(client, "nonsense nonsense")
    assert page.status_code == sign_in(client).status_code == 429
    assert "Wait 15 minutes" in page.content.decode()
    assert page["Retry-After"] == "900"


def test_throttle_is_not_dodged_by_the_case_of_the_address(client, make_member):
    make_member("member")
    for n in range(settings.AXES_FAILURE_LIMIT):
        page = sign_in(client, "nonsense nonsense", f"{'MEMBER'[:n]}{'member'[n:]}@example.com")
    assert page.status_code == 429


def test_failed_try_leaves_no_copy_of_what_was_typed(client, make_member):
    make_member("member")
    sign_in(client, "nonsense nonsense", next="/join/some-token", extra="x" * 100)
    kept = AccessAttempt.objects.get()
    assert kept.username == "member@example.com"
    assert (kept.get_data, kept.post_data) == ("", "")


def test_pasted_address_comes_back_after_sign_in(client, make_member):
    make_member("member")
    asked = client.get("/p/acme/members?a=1")
    assert asked["Location"] == "/sign-in?next=%2Fp%2Facme%2Fmembers%3Fa%3D1"
    body = client.get(asked["Location"]).content.decode()
    following = re.search(r'name="next" value="([^"]+)"', body)[1]
    assert sign_in(client, next=following)["Location"] == "/p/acme/members?a=1"


@pytest.mark.parametrize(
    "elsewhere",
    [
        "https://evil.example/",
        "//evil.example",
        "/\\evil.example",
        "javascript:alert(1)",
        "/\0",
        "http:///x",
        "true",
        "accounts:sign-in",
        "?next=x",
    ],
)
def test_sign_in_leads_to_no_other_host(client, make_member, elsewhere):
    make_member("member")
    page = client.get("/sign-in", {"next": elsewhere})
    assert 'name="next" value=' not in page.content.decode()
    assert sign_in(client, next=elsewhere)["Location"] == "/p/acme/runs"
    assert client.get("/sign-in", {"next": elsewhere})["Location"] == "/p/acme/runs"


def test_a_fragment_says_where_to_sign_in_and_the_page_stays(client, project):
    answer = client.get(
        "/p/acme/connect/first-run",
        headers={
            "HX-Request": "true",
            "HX-Current-URL": "http://testserver/p/acme/connect?after=3",
        },
    )
    assert answer.status_code == 401
    assert answer["Location"] == "/sign-in?next=%2Fp%2Facme%2Fconnect%3Fafter%3D3"
    assert "HX-Redirect" not in answer  # it would take what is typed on the page


def test_home_is_the_project_looked_at_last(member_client, project):
    user = User.objects.get()
    bootstrap.ensure_membership(user, bootstrap.ensure_project("aaa", "Aaa"), "viewer")
    assert member_client.get("/")["Location"] == "/p/aaa/runs"
    member_client.get("/p/acme/members")
    assert member_client.get("/")["Location"] == "/p/acme/runs"


def test_somebody_without_a_project_is_shown_how_to_get_one(signed_in, db):
    client = signed_in(User.objects.create_user("new@example.com"))
    assert client.get("/")["Location"] == "/projects"


def test_somebody_signed_in_is_not_asked_again(member_client):
    assert member_client.get("/sign-in?next=/account")["Location"] == "/account"


def test_sign_out_ends_the_session_and_needs_a_post(member_client):
    assert member_client.get("/sign-out").status_code == 405
    member_client.post("/sign-out")
    assert member_client.get("/account")["Location"].startswith("/sign-in")


def test_session_cookie_is_out_of_reach_of_scripts_and_other_sites(client, link):
    client.post(link)
    cookie = client.cookies[settings.SESSION_COOKIE_NAME]
    assert cookie["httponly"]
    assert cookie["samesite"] == "Lax"


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE"])
@pytest.mark.parametrize("path", ["/p/acme/runs", "/sign-in", "/p/acme/settings"])
def test_a_method_no_page_takes_is_405_and_not_a_forgery(project, method, path):
    answer = Client(enforce_csrf_checks=True).generic(method, path)
    assert (answer.status_code, answer["Allow"]) == (405, "GET, HEAD, POST")


@pytest.mark.parametrize(
    ("path", "near"),
    [
        ("/p/acme/ignore-rules/application", "/p/acme/ignore-rules"),
        ("/p/acme/review/clusters/7/verdict", "/p/acme/review"),
        ("/p/acme/settings/notifications/bounds", "/p/acme/settings/notifications"),
        ("/sign-out", "/"),
    ],
)
def test_the_address_of_a_form_leads_to_its_page(member_client, path, near):
    answer = member_client.get(path, headers={"Accept": "text/html,*/*"})
    assert (answer.status_code, answer["Allow"]) == (405, "POST")
    assert f'<a class="btn" href="{near}">To the page it belongs to</a>' in answer.text
    assert member_client.get(path, headers={"Accept": "application/json"}).content == b""
