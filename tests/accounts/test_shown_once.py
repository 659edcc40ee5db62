"""A secret made by a POST is shown by the page it leads to: a reload sends nothing again."""

import pytest
from django.contrib.sessions.models import Session
from django.test import Client

from runs.accounts.models import ApiKey
from runs.accounts.views.shown_once import COOKIE

KEY = {"name": "ci", "scope": "ingest", "expires": ""}
MAKES = [
    ("/p/acme/keys", KEY, "/p/acme/keys"),
    ("/p/acme/connect", {}, "/p/acme/connect"),
    ("/p/acme/members/invites", {"role": "viewer", "email": ""}, "/p/acme/members"),
]


@pytest.mark.django_db
@pytest.mark.parametrize("post, given, page", MAKES)
def test_the_answer_leads_to_the_page_that_shows_it_once(client_as, post, given, page):
    owner = client_as("owner")
    answer = owner.post(post, given)
    assert (answer.status_code, answer["Location"]) == (302, page)
    assert answer.content == b""
    assert "not shown again" in owner.get(page).content.decode()
    assert "not shown again" not in owner.get(page).content.decode()


@pytest.mark.django_db
def test_only_whoever_made_it_is_shown_it(client_as):
    maker, other = client_as("owner"), client_as("admin")
    maker.post("/p/acme/keys", KEY)
    other.cookies[COOKIE] = maker.cookies[COOKIE].value
    assert "Copy this key now" not in other.get("/p/acme/keys").content.decode()
    assert "Copy this key now" in maker.get("/p/acme/keys").content.decode()


@pytest.mark.django_db
def test_the_secret_waits_in_no_row_and_out_of_reach_of_scripts(client_as):
    owner: Client = client_as("owner")
    answer = owner.post("/p/acme/keys", KEY)
    cookie = answer.cookies[COOKIE]
    token = cookie.value.split(":")[0]
    assert (cookie["httponly"], cookie["path"]) == (True, "/p/acme/keys")
    assert token.startswith("rw_")
    assert token not in str([session.get_decoded() for session in Session.objects.all()])
    assert token not in str(ApiKey.objects.values())
