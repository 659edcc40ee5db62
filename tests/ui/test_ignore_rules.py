"""A difference that means nothing: seen in a replay, made a rule, tried, added, applied."""

from __future__ import annotations

import factories
import pytest
from playwright.sync_api import expect

from replay import jobs
from replay.fake_provider import FakeProvider
from replay.ignore_rules import applying
from replay.models import Replay
from replay.questions import read_question
from replay.start import start
from runs import ingest
from runs.models import Run

pytestmark = [
    pytest.mark.browser,
    pytest.mark.any_database,
    pytest.mark.django_db(transaction=True),
]


@pytest.fixture
def replays(project, monkeypatch) -> list[Replay]:
    """Three replays of one call that differ in an order number."""
    monkeypatch.setattr(jobs, "ring", lambda public_id: None)
    log = factories.body(factories.log(factories.completion(1, "Hi", "It is ord_A1.")))
    ingest.accept_log(project, log, run_id="r1")
    with FakeProvider([{"answer": {"text": "It is ord_B2."}}]) as fake:
        monkeypatch.setenv("OPENAI_API_KEY", "sk-test-openai")
        monkeypatch.setenv("OPENAI_BASE_URL", fake.openai_base_url)
        question = read_question({"run": "r1", "models": ["openai:gpt-b"]})
        for _ in range(3):
            run = Run.objects.select_related("project").get()
            jobs.run_job(start(run, question, jobs.Asker()).replays[0].public_id)
    return list(Replay.objects.order_by("pk"))


def test_a_difference_is_made_a_rule_and_the_past_follows(
    open_page, make_member, replays, monkeypatch
):
    monkeypatch.setattr(applying, "AT_ONCE", 1)
    monkeypatch.setattr(applying, "SECONDS", 0.0)
    page = open_page(make_member("admin"))
    page.goto(f"/p/acme/replays/{replays[0].public_id}?show=json")
    page.get_by_text("ignore…").click()
    page.get_by_label("Name").fill("order ids")
    page.get_by_label("Pattern").fill("ord_[A-Z0-9]+")
    page.get_by_text("Try it on what was compared last").click()
    expect(page.locator("#tried-heading")).to_have_text("It would silence 3 of 3 differences")
    page.get_by_text("Add the rule").click()
    page.get_by_text("Apply the rules to replays already there").click()
    expect(page.locator("#applied")).to_contain_text("3 ignored now")
    expect(page.locator("#applied")).to_contain_text("That was all.")
    assert page.url.partition("#")[0].endswith("/p/acme/ignore-rules")
    page.reload()
    expect(page.locator("h1")).to_have_text("Ignore rules")
    expect(page.locator("#applied")).to_be_empty()
    page.goto(f"/p/acme/replays/{replays[0].public_id}")
    page.get_by_text("1 ignored by rules").click()
    expect(page.locator("[data-row]")).to_contain_text("ignored: order ids (else facts")
