"""The connect page: snippets that work as they are, and a line that waits for a run."""

import html
import json
import re

import pytest
from accounts.test_projects import add_run

from rewyn_sdk import EffectLog
from runs.accounts import keys
from runs.accounts.models import Scope
from runs.accounts.snippets import SAMPLE_RUN

pytestmark = pytest.mark.django_db

HTMX = {"HX-Request": "true"}


def snippet(page, name: str) -> str:
    found = re.search(rf'<pre id="snippet-{name}"[^>]*>(.*?)</pre>', page.content.decode(), re.S)
    return html.unescape(found[1])


def test_sample_is_a_log_that_rig_takes():
    log = json.dumps(json.loads(SAMPLE_RUN)["log"])
    assert len(EffectLog.loads(log, strict=True).records) == 1


def test_snippets_name_this_server(owner):
    page = owner.get("/p/acme/connect", headers={"Host": "localhost:8123"})
    assert "export REWYN_URL=http://localhost:8123\n" in snippet(page, "env")


def test_admin_gets_a_key_filled_in_this_once(client_as):
    admin = client_as("admin")
    page = admin.post("/p/acme/connect", follow=True)
    token = re.search(r"export REWYN_KEY=(rw_\S+)", snippet(page, "env"))[1]
    assert "no-store" in page["Cache-Control"]
    assert keys.check(token).scope == Scope.INGEST
    assert token not in admin.get("/p/acme/connect").content.decode()


def test_member_is_told_to_ask_for_a_key(member_client):
    assert "ask an admin" in member_client.get("/p/acme/connect").content.decode()


def test_line_waits_until_a_run_comes_and_then_stops_asking(owner, project):
    path = "/p/acme/connect/first-run?after=0"
    waiting = owner.get(path, headers=HTMX)
    run = add_run(project, "hello-1")
    arrived = owner.get(path, headers=HTMX)
    assert (waiting.status_code, arrived.status_code) == (200, 286)
    assert f"/p/acme/runs/{run.external_id}" in arrived.content.decode()


def test_page_waits_for_news_only(owner, project):
    old = add_run(project, "old")
    assert f"after={old.pk}" in owner.get("/p/acme/connect").content.decode()
    assert "waiting" in owner.get(f"/p/acme/connect?after={old.pk}").content.decode()
    add_run(project, "fresh")
    assert "/p/acme/runs/fresh" in owner.get(f"/p/acme/connect?after={old.pk}").content.decode()
