"""Ways in for whoever has the machine."""

import re
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from runs import demo
from runs.accounts import bootstrap, keys
from runs.accounts.models import Membership, Project, Scope, User
from runs.models import Run

pytestmark = pytest.mark.django_db


def run(*args: str) -> str:
    out = StringIO()
    call_command(*args, stdout=out, stderr=StringIO())
    return out.getvalue().strip()


@pytest.fixture(autouse=True)
def _never_started(settings, tmp_path, monkeypatch) -> None:
    settings.REWYN_HOME = tmp_path
    for name in ("BASE_URL", "PORT"):
        monkeypatch.delenv(name, raising=False)


def test_owner_gets_back_in(project, make_member):
    make_member("owner")
    link = run("sign_in_link")
    assert re.fullmatch(r"http://127\.0\.0\.1:8010/sign-in/[\w-]{32}", link)
    assert Client().post(re.sub(r"http://[^/]+", "", link))["Location"] == "/p/acme/runs"


def test_the_link_leads_where_one_is_told(project, make_member, monkeypatch):
    make_member("owner")
    bootstrap.keep_address("http://127.0.0.1:8033")
    kept = run("sign_in_link")
    monkeypatch.setenv("PORT", "9000")
    assert kept.startswith("http://127.0.0.1:8033/sign-in/")
    assert run("sign_in_link").startswith("http://127.0.0.1:9000/sign-in/")
    assert run("sign_in_link", "--base-url", "https://a.example/").startswith("https://a.example/s")


def test_new_owner_of_a_new_project(db):
    link = run("sign_in_link", "--email", "Ada@Example.com", "--project", "main")
    assert Membership.objects.get(user__email="ada@example.com").role == "owner"
    assert Client().post(link[link.index("/sign-in") :])["Location"] == "/p/main/runs"


def test_role_is_given_and_never_lowered(project, make_member):
    make_member("owner")
    run("sign_in_link", "--email", "owner@example.com", "--project", "acme", "--role", "viewer")
    run("sign_in_link", "--email", "b@example.com", "--project", "acme", "--role", "admin")
    roles = Membership.objects.order_by("pk").values_list("role", flat=True)
    assert list(roles) == ["owner", "admin"]


def test_link_alone_gives_no_membership(project, make_member):
    make_member("owner")
    run("sign_in_link", "--email", "b@example.com", "--project", "acme")
    assert Membership.objects.count() == 1


@pytest.mark.parametrize(
    "args",
    [
        ["--email", "nonsense"],
        ["--role", "owner"],
        ["--project", "a b"],
        ["--email", "a\0@b.de"],
        ["--project", "x" * 61],
    ],
)
def test_nonsense_is_refused(db, args):
    with pytest.raises(CommandError):
        run("sign_in_link", *args)
    assert not User.objects.exists()


def test_key_is_printed(project):
    token = run("create_api_key", "acme", "--scope", "replay", "--days", "7")
    assert keys.check(token).scope == Scope.REPLAY


def test_key_of_no_project_is_refused(db):
    with pytest.raises(CommandError, match="no project 'acme'"):
        run("create_api_key", "acme")


def test_demo_is_removed_and_nothing_else(project, api):
    assert demo.load(project) == 13
    mine = b'{"header": {}, "records": []}'
    api("POST", "/api/v1/effect-logs?run_id=mine", mine)
    assert run("remove_demo") == "The demo is removed (13 runs)."
    assert run("remove_demo") == "There is no demo here."
    assert [r.external_id for r in Run.objects.all()] == ["mine"]
    assert Project.objects.get() == project
