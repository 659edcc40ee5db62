"""NUL, half characters and floods of text in any field: an error on the form, never a 500."""

import pytest
from django.conf import settings
from django.test import Client

from runs.accounts import links
from runs.accounts.models import Role

pytestmark = pytest.mark.django_db

FORMS = {
    "/sign-in": ["email", "password"],
    "/account": ["name"],
    "/account/password": ["current", "password", "again"],
    "/projects": ["name", "slug"],
    "/p/acme/settings": ["name"],
    "/p/acme/settings/remove": ["confirm"],
    "/p/acme/members/invites": ["role", "email"],
    "/p/acme/keys": ["name", "scope", "expires"],
}
FIELDS = [(path, field) for path, fields in FORMS.items() for field in fields]
NAMED = ["/account", "/projects", "/p/acme/settings", "/p/acme/keys"]
JOIN_FIELDS = ["email", "name", "password", "again"]
GOOD = {
    "email": "a@example.com",
    "name": "Name",
    "role": "viewer",
    "scope": "read",
    "password": "a long new secret",
    "again": "a long new secret",
}
BAD = ["a\0b", "\0", "x" * 100_000]


@pytest.mark.parametrize("bad", BAD, ids=["nul", "only nul", "flood"])
@pytest.mark.parametrize(("path", "field"), FIELDS)
def test_bad_text_is_an_error_on_the_form(owner, client, path, field, bad):
    browser = client if path == "/sign-in" else owner
    page = browser.post(path, {**GOOD, field: bad})
    assert page.status_code == 400
    assert "note bad" in page.content.decode()


@pytest.mark.parametrize("blank", ["\u202e", "\u200b\u2060", "\u3164", "\ufe0f"])
@pytest.mark.parametrize("path", NAMED)
def test_a_name_nobody_sees_is_an_error_on_the_form(owner, path, blank):
    page = owner.post(path, {**GOOD, "name": blank})
    assert (page.status_code, "Nothing of this can be seen." in page.text) == (400, True)


@pytest.mark.parametrize("bad", BAD, ids=["nul", "only nul", "flood"])
@pytest.mark.parametrize("field", JOIN_FIELDS)
def test_bad_text_is_an_error_for_who_joins(project, make_member, field, bad):
    token = links.make_invite(project=project, role=Role.VIEWER, created_by=make_member("owner"))
    page = Client().post(f"/join/{token}", {**GOOD, field: bad})
    assert page.status_code == 400


@pytest.mark.parametrize(("path", "field"), FIELDS)
def test_half_characters_in_a_charset_of_ones_choice_are_no_way_in(owner, client, path, field):
    body = (
        f'--b\r\nContent-Disposition: form-data; name="{field}"\r\n\r\n\\ud800 a@b.de\r\n--b--\r\n'
    )
    browser = client if path == "/sign-in" else owner
    kind = "multipart/form-data; boundary=b; charset=raw_unicode_escape"
    assert browser.post(path, body.encode(), content_type=kind).status_code in (400, 302)


@pytest.mark.parametrize(
    "query", ["next=%00", "next=%5Cud800", "next=%ED%A0%80", "next=" + "x" * 9000]
)
def test_bad_text_in_next_is_left_out(client, query):
    page = client.get(f"/sign-in?{query}", CONTENT_TYPE="text/plain; charset=raw_unicode_escape")
    assert page.status_code == 200


@pytest.mark.parametrize("after", ["\0", "x", "-1", "9" * 30, "1e3", ""])
def test_bad_number_in_the_connect_page_is_left_out(owner, after):
    assert owner.get("/p/acme/connect", {"after": after}).status_code == 200
    assert owner.get("/p/acme/connect/first-run", {"after": after}).status_code == 200


@pytest.mark.parametrize("number", ["0", "9" * 19, "9" * 40])
def test_numbers_no_row_can_have_are_404(owner, number):
    assert owner.post(f"/p/acme/keys/{number}/revoke").status_code == 404
    assert owner.post(f"/p/acme/members/{number}/remove").status_code == 404


@pytest.mark.parametrize("cookie", ['"aaaaaaaaaaaa\\000"', "a" * 5000, "aaaa%s'?aaaa"])
def test_a_session_that_none_can_be_is_nobodys(client, project, cookie):
    answer = client.get("/p/acme/runs", HTTP_COOKIE=f"{settings.SESSION_COOKIE_NAME}={cookie}")
    assert (answer.status_code, answer["Location"].partition("?")[0]) == (302, "/sign-in")
