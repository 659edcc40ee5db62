"""A project's own providers: sealed keys, roles, the test button, and who is asked for a model."""

from __future__ import annotations

import json
import logging

import pytest

from replay import jobs
from replay.models import ProjectProvider, Replay
from replay.project_providers import sealing
from replay.project_providers.catalog import catalog_of
from replay.providers import BadModel

pytestmark = pytest.mark.django_db
SECRET = "sk-acme-0123456789abcdef"
PAGE = "/p/acme/settings/providers"
API = "/api/v1/providers"


@pytest.fixture(autouse=True)
def _here(settings):
    settings.REPLAY_PRIVATE_ADDRESSES = True
    settings.SEAL_KEYS = ["the first seal key of this test, long"]


@pytest.fixture
def put(api):
    """put("acme", kind=…) -> the API's answer to it."""

    def send(name: str = "acme", **body):
        body = {"kind": "compatible", "base_url": "http://127.0.0.1:9/v1", "key": SECRET, **body}
        return api("PUT", f"{API}/{name}", json.dumps(body).encode())

    return send


def row_of(name: str = "acme") -> ProjectProvider:
    return ProjectProvider.objects.get(name=name)


# --- The key ------------------------------------------------------------------------------------


def test_a_sealed_key_is_nowhere_to_be_read(put, api, admin, caplog):
    caplog.set_level(logging.DEBUG)
    made = put()
    pages = [admin.get(PAGE), admin.get(f"{PAGE}/acme"), api("GET", API), api("GET", f"{API}/acme")]
    assert (made.status_code, made.json()["key"]) == (201, "sealed")
    assert not [page for page in (made, *pages) if SECRET in page.content.decode()]
    assert SECRET not in json.dumps(list(ProjectProvider.objects.values()), default=str)
    assert SECRET not in caplog.text and SECRET not in repr(catalog_of(row_of().project_id))


def test_a_refused_form_says_that_its_key_is_to_be_typed_again(admin):
    form = {"kind": "compatible", "name": "Bad Name!", "base_url": "http://127.0.0.1:9/v1"}
    told = "Type it again: a form that is refused keeps no key."
    page = admin.post(PAGE, {**form, "key": SECRET}).content.decode()
    assert told in page and SECRET not in page
    assert told not in admin.post(PAGE, form).content.decode()


def test_the_sealed_key_is_what_is_sent(put, api, fake):
    put(base_url=fake.openai_base_url)
    tried = api("POST", f"{API}/acme/test", b'{"model": "m"}').json()
    assert (tried["passed"], tried["status"]) == (True, 200)
    assert fake.asked[0].header("authorization") == f"Bearer {SECRET}"


def test_a_key_is_refused_without_saying_it(put, admin):
    refused = put(key="sk acme 0123456789")
    assert refused.status_code == 422 and refused.json()["error"]["field"] == "key"
    form = {"kind": "openai", "name": "x", "key": SECRET, "key_variable": "OPENAI_API_KEY"}
    page = admin.post(PAGE, form)
    assert page.status_code == 400
    assert b"0123456789" not in refused.content + page.content


def test_another_seal_key_opens_nothing_and_says_so(put, api, settings):
    put()
    settings.SEAL_KEYS, settings.SECRET_KEY = ["another seal key, also long enough!!"], "other"
    problem = api("GET", f"{API}/acme").json()["problem"]
    assert problem["code"] == "bad_seal" and "Enter it again" in problem["message"]


def test_keys_are_rotated_with_the_old_one_behind_the_new(put, settings, project):
    from django.core.management import call_command

    put()
    settings.SEAL_KEYS = ["the new seal key, long enough too!!!", *settings.SEAL_KEYS]
    call_command("reseal_provider_keys")
    settings.SEAL_KEYS = settings.SEAL_KEYS[:1]
    settings.SECRET_KEY = "and without the key of last resort"
    assert catalog_of(project.pk).ready["acme"].api_key == SECRET


def test_a_sealed_value_does_not_open_in_another_project(put, project):
    put()
    with pytest.raises(sealing.SealedOtherwise):
        sealing.unseal(row_of().sealed, project.pk + 1)


def test_a_sealed_key_does_not_follow_to_another_address(put):
    put()
    moved = put(key=None, base_url="http://127.0.0.1:10/v1")
    assert (moved.status_code, moved.json()["error"]["field"]) == (422, "key")
    assert put(key=None, parallel=2).json()["parallel"] == 2
    assert put(base_url="http://127.0.0.1:10/v1").status_code == 200


def test_a_variable_of_the_server_is_sent_only_where_it_belongs(put, monkeypatch, settings):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-server")
    stolen = put(key=None, key_variable="OPENAI_API_KEY")
    assert stolen.json()["error"]["field"] == "key_variable"
    assert put(key=None, key_variable="SECRET_KEY").status_code == 422
    own = put("own", kind="openai", base_url=None, key=None, key_variable="OPENAI_API_KEY")
    assert (own.status_code, own.json()["problem"]) == (201, None)
    settings.PROVIDER_KEY_VARIABLES = ["GATEWAY_KEY"]
    missing = put("gw", key=None, key_variable="GATEWAY_KEY").json()["problem"]
    assert missing["code"] == "no_key" and "GATEWAY_KEY is not set" in missing["message"]


# --- Addresses ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "url",
    ["http://169.254.169.254/v1", "http://2130706433/v1", "https://u:p@x.example", "file:///etc"],
)
def test_a_base_url_out_of_bounds_is_refused(put, url):
    refused = put(base_url=url)
    assert (refused.status_code, refused.json()["error"]["field"]) == (422, "base_url")


def test_loopback_needs_the_operators_word_at_each_call(put, api, fake, settings):
    put(base_url=fake.openai_base_url)
    settings.REPLAY_PRIVATE_ADDRESSES = False
    tried = api("POST", f"{API}/acme/test", b'{"model": "m"}').json()
    assert (tried["passed"], tried["code"], fake.asked) == (False, "not_allowed", [])
    assert put("other").json()["error"]["field"] == "base_url"


# --- The test button ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "code", "said"),
    [
        (401, "auth", "Incorrect API key provided"),
        (404, "not_found", "no model m"),
        (429, "rate_limited", "slow down"),
    ],
)
def test_the_button_shows_the_providers_own_words(put, provider, api, admin, status, code, said):
    fake = provider({"answer": {"error": {"status": status, "message": said}}})
    put(base_url=fake.openai_base_url)
    assert api("POST", f"{API}/acme/test", b'{"model": "m"}').json()["code"] == code
    admin.post(f"{PAGE}/acme/test", {"model": "m"})
    assert said in admin.get(f"{PAGE}/acme").content.decode()
    assert (row_of().test_passed, len(fake.asked)) == (False, 2)


def test_a_server_that_says_the_key_back_is_masked(put, provider, api):
    fake = provider({"answer": {"error": {"status": 400, "message": f"bad key {SECRET}"}}})
    put(base_url=fake.openai_base_url)
    tried = api("POST", f"{API}/acme/test", b'{"model": "m"}').json()
    assert tried["said"] == "bad key [key]" == row_of().test_said


# --- Who is asked -------------------------------------------------------------------------------


def test_a_replay_asks_the_projects_own_provider(put, store, read_log, provider):
    fake = provider()
    put("openai", kind="openai", base_url=fake.openai_base_url)
    run = store(read_log("order-status-chat"), "r")
    replay, _ = jobs.create_job(
        run=run, mode="prompt", provider="openai", model="gpt-4o",
        plan={"effects": [1], "calls": {"attempts_per_call": 1}},
    )  # fmt: skip
    jobs.run_job(replay.public_id)
    assert Replay.objects.get(pk=replay.pk).status == "succeeded"
    assert fake.asked[0].header("authorization") == f"Bearer {SECRET}"


def test_another_projects_provider_is_unknown_here(put):
    from runs.accounts.models import Project

    put()
    other = Project.objects.create(slug="other", name="Other")
    with pytest.raises(BadModel) as caught:
        catalog_of(other.pk).choose("acme:m")
    assert caught.value.code == "unknown_provider"


@pytest.mark.parametrize(
    ("kind", "url"),
    [
        ("openai", "https://api.openai.com/v1"),
        ("anthropic", "https://api.anthropic.com"),
        ("google", "https://generativelanguage.googleapis.com/v1beta/openai"),
        ("mistral", "https://api.mistral.ai/v1"),
        ("groq", "https://api.groq.com/openai/v1"),
        ("openrouter", "https://openrouter.ai/api/v1"),
    ],
)
def test_each_kind_knows_its_address(put, kind, url):
    assert put(kind, kind=kind, base_url=None).json()["asked_at"] == url


def test_an_anthropic_gateway_of_any_name_is_asked_on_messages(put, api, fake):
    put("gateway", kind="anthropic", base_url=fake.base_url)
    assert api("POST", f"{API}/gateway/test", b'{"model": "m"}').json()["passed"] is True
    assert (fake.asked[0].path, fake.asked[0].header("x-api-key")) == ("/v1/messages", SECRET)


# --- The page -----------------------------------------------------------------------------------


def test_an_admin_makes_changes_and_removes_one(admin):
    form = {"name": "mine", "kind": "groq", "key": SECRET, "day_budget": "2.50"}
    made = admin.post(PAGE, form, follow=True)
    assert "mine can be asked from now on" in made.content.decode()
    admin.post(f"{PAGE}/mine", {"kind": "groq", "parallel": "2"})
    assert (row_of("mine").parallel, row_of("mine").day_budget) == (2, None)
    assert catalog_of(row_of("mine").project_id).ready["mine"].api_key == SECRET
    admin.post(f"{PAGE}/mine/removal")
    assert not ProjectProvider.objects.exists()


@pytest.mark.parametrize(
    ("member", "value"),
    [
        ("name", "Not a name"),
        ("name", "openai-chat"),
        ("parallel", "0"),
        ("per_minute", "many"),
        ("day_budget", "-1"),
        ("day_budget", "NaN"),
        ("base_url", "http://127.0.0.1:x/v1"),
    ],
)
def test_what_cannot_be_is_said_at_its_field(admin, member, value):
    form = {"name": "mine", "kind": "groq", "key": SECRET, member: value}
    page = admin.post(PAGE, form)
    assert page.status_code == 400 and f'id="id_{member}_error"' in page.content.decode()


def test_all_that_is_wrong_is_said_at_once(api, admin):
    wrong = {
        "kind": "groq", "parallel": "0", "per_minute": "many", "day_budget": "-1",
        "base_url": "ftp://a.example", "key": SECRET, "key_variable": "GROQ_API_KEY",
    }  # fmt: skip
    page = admin.post(PAGE, {**wrong, "name": "Not a name"}).content.decode()
    told = {name for name in ("name", *wrong) if f'id="id_{name}_error"' in page}
    assert told == {"name", *wrong} - {"kind", "key"}
    refused = api("PUT", f"{API}/no_name", json.dumps(wrong).encode())
    fields = {one["field"] for one in refused.json()["error"]["errors"]}
    assert (refused.status_code, fields) == (422, told)
    assert SECRET not in page + refused.content.decode()


def test_the_list_says_what_is_set_and_what_is_wrong(put, admin):
    put("acme", day_budget="2.50", per_minute=600)
    put("groq", kind="groq", base_url=None, key=None, key_variable="GROQ_API_KEY")
    page = admin.get(PAGE).content.decode()
    assert "$2.5 a day" in page and "600 a minute" in page
    assert "GROQ_API_KEY is not set where the server runs" in page
