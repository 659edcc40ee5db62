"""Projects are made, named and removed."""

import pytest
from django.apps import apps

from runs import curate, demo
from runs.accounts import keys, people
from runs.accounts.models import ApiKey, Membership, OneTimeLink, Project, Role, Scope, User
from runs.models import Run, RunStatus

pytestmark = pytest.mark.django_db


def add_run(project, external_id="r1"):
    from django.utils import timezone

    return Run.objects.create(
        project=project,
        external_id=external_id,
        source="rig",
        status=RunStatus.SUCCEEDED,
        sort_at=timezone.now(),
    )


def test_whoever_makes_a_project_owns_it(member_client):
    answer = member_client.post("/projects", {"name": "Support desk"})
    assert answer["Location"] == "/p/support-desk/connect"
    assert Membership.objects.get(project__slug="support-desk").role == "owner"


@pytest.mark.parametrize(
    ("name", "slug"), [("日本語", "project"), ("!!", "project"), ("Ünïx 2", "unix-2")]
)
def test_any_name_gets_an_address(member_client, name, slug):
    member_client.post("/projects", {"name": name})
    assert Project.objects.get(name=name).slug == slug


def test_second_project_of_a_name_gets_another_address(member_client):
    member_client.post("/projects", {"name": "Acme"})
    assert Project.objects.filter(name="Acme").count() == 2


def test_taken_address_is_said(member_client):
    page = member_client.post("/projects", {"name": "Mine", "slug": "ACME"})
    assert page.status_code == 400
    assert "This address is taken." in page.content.decode()


def test_address_taken_meanwhile_is_said(project, make_member):
    with pytest.raises(people.SlugTaken):
        people.create_project(name="Mine", slug="acme", owner=make_member("owner"))


def test_switcher_shows_only_ones_own(member_client):
    Project.objects.create(slug="secret", name="Secret plans")
    assert "Secret plans" not in member_client.get("/projects").content.decode()


def test_owner_renames(owner):
    owner.post("/p/acme/settings", {"name": "Acme Ltd"})
    assert Project.objects.get().name == "Acme Ltd"


def test_removal_needs_the_address_typed(owner):
    page = owner.post("/p/acme/settings/remove", {"confirm": "acm"})
    assert page.status_code == 400
    assert "Type acme to remove the project." in page.content.decode()
    assert Project.objects.count() == 1


def test_removal_takes_everything_with_it(owner, project, api_key):
    add_run(project)
    people.invite(by=Membership.objects.get(), role=Role.VIEWER)
    assert owner.post("/p/acme/settings/remove", {"confirm": "acme"})["Location"] == "/"
    left = [Project, Run, ApiKey, Membership, OneTimeLink]
    assert [model.objects.count() for model in left] == [0] * 5
    assert keys.check(api_key) is None
    assert User.objects.count() == 1


def test_demo_goes_at_one_press_and_alone(owner, project, api_key):
    demo.load(project)
    add_run(project)
    assert "Remove the demo" in owner.get("/p/acme/settings").content.decode()
    owner.post("/p/acme/settings/remove-demo")
    assert Run.objects.count() == 1
    assert keys.check(api_key) is not None
    assert "Remove the demo" not in owner.get("/p/acme/settings").content.decode()


def test_key_of_a_removed_project_is_dead_at_once(project, api_key):
    assert keys.check(api_key).scope == Scope.ADMIN
    people.remove_project(project)
    assert keys.check(api_key) is None


def test_removal_leaves_nothing_of_the_runs_sent(owner, project, api, shared, monkeypatch):
    monkeypatch.setattr(curate, "_RUNS_AT_ONCE", 2)
    log = (shared / "data/rig-examples/02-two-tools-memory.effects.json").read_bytes()
    sent = [api("POST", f"/api/v1/effect-logs?run_id=r{n}", log).status_code for n in range(3)]
    replay = api("POST", "/api/v1/replays", b'{"run": "r1", "mode": "reconstruct"}')
    assert [*sent, replay.status_code] == [201] * 4
    people.remove_project(project)
    of_project = [
        model for model in apps.get_models() if model._meta.app_label in ("runs", "replay")
    ]
    assert {
        model.__name__: model._default_manager.count() for model in of_project
    } == dict.fromkeys((model.__name__ for model in of_project), 0)


def test_key_still_trusted_finds_its_project_removed(project, api, shared, settings, monkeypatch):
    settings.API_KEY_CACHE_SECONDS = 600
    assert api("GET", "/api/v1/runs").status_code == 200
    monkeypatch.setattr(keys, "forget_cached", lambda: None)
    people.remove_project(project)
    log = (shared / "data/rig-examples/01-simple-completion.effects.json").read_bytes()
    answers = [api("GET", "/api/v1/runs"), api("POST", "/api/v1/effect-logs", log)]
    assert [answer.status_code for answer in answers] == [401, 401]
