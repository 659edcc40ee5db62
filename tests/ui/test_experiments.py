"""An experiment in a real browser: from selected runs to a cell and back."""

from __future__ import annotations

import re
import threading
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from replay import jobs
from replay.fake_provider import FakeProvider
from replay.models import Replay
from runs import ingest

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
LOGS = ("02-two-tools-memory", "refund-memory", "sql-tool-errors")


@pytest.fixture
def page(transactional_db, open_page, make_member, project, shared: Path, monkeypatch) -> Page:
    monkeypatch.setattr(jobs, "ring", lambda public_id: None)
    with FakeProvider([{"answer": {"text": "Take an umbrella at 15:30."}}]) as provider:
        monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
        monkeypatch.setenv("OPENAI_BASE_URL", provider.openai_base_url)
        for name in LOGS:
            folder = "rig-examples" if name[:2].isdigit() else "rig"
            log = shared / f"data/{folder}/{name}.effects.json"
            ingest.accept_log(project, log.read_bytes(), run_id=name, agent="demo")
        yield open_page(make_member("member"))


def test_three_selected_runs_two_models_a_cell_and_back(page):
    page.goto("/p/acme/runs")
    page.locator("[data-pick-all]").check()
    page.get_by_role("button", name="Replay…").click()
    page.wait_for_url("**/experiments/new?*")
    page.locator("#model-0").fill("openai:a")
    expect(page.locator("#plan")).to_contain_text("3 × 1")
    page.get_by_role("button", name="add a model").click()
    page.locator("#models input").last.fill("openai:b")
    expect(page.locator("#plan")).to_contain_text("3 × 2")
    page.locator("#go").click()
    page.wait_for_url("**/experiments/ex_*")
    expect(page.locator("#live")).to_contain_text("0 of 6 replayed")
    _work()
    expect(page.locator("#status")).to_have_text("succeeded")
    expect(page.locator("#live")).not_to_have_attribute("hx-trigger", "every 2s")
    expect(page.locator(".matrix td.cell")).to_have_count(6)
    page.locator("#m-of").select_option("changed")
    page.get_by_role("button", name="Apply").click()
    page.wait_for_url(re.compile("of=changed"))
    matrix = page.url
    page.locator(".matrix td.cell a").first.click()
    page.wait_for_url("**/replays/rp_*")
    page.go_back()
    expect(page).to_have_url(matrix)
    expect(page.locator("#m-of")).to_have_value("changed")
    second = page.locator(".matrix tbody tr").first.locator("td.cell a").nth(1)
    address = second.get_attribute("href")
    for key in "j2":
        page.keyboard.press(key)
    page.wait_for_url(f"**{address}")
    page.locator("#pair").get_by_role("link", name="Review").click()
    page.wait_for_url("**/review?*")


def _work() -> None:
    """Do the queued replays on a thread, as a worker would: the browser owns this one's loop."""
    worker = threading.Thread(target=_run)
    worker.start()
    worker.join(90)


def _run() -> None:
    from django.db import connections

    try:
        for name in list(Replay.objects.order_by("pk").values_list("public_id", flat=True)):
            jobs.run_job(name)
    finally:
        connections.close_all()


def test_a_form_keeps_what_is_in_it_while_its_runs_are_kept(page: Page) -> None:
    page.goto(f"/p/acme/experiments/new?run={LOGS[0]}&run={LOGS[1]}")
    page.locator("#model-0").fill("openai:a")
    page.get_by_label("Name", exact=True).fill("Night")
    page.get_by_label("Percent of calls that are the same").fill("90")
    for name in ("Refunds", "Again"):
        page.get_by_label("Keep these runs").fill("Refunds")
        # At once: the plan of what was typed last may not be there yet.
        page.get_by_label("Name", exact=True).fill(f"Night {name}")
        page.get_by_role("button", name="Keep as a dataset").click()
        expect(page.locator("#model-0")).to_have_value("openai:a")
        expect(page.get_by_label("Name", exact=True)).to_have_value(f"Night {name}")
        expect(page.get_by_label("Percent of calls that are the same")).to_have_value("90")
        if name == "Refunds":
            expect(page.get_by_text("dataset Refunds")).to_be_visible()
            page.go_back()
    expect(page.get_by_text("Added 0 runs to “Refunds”.")).to_be_visible()


def test_a_message_of_the_runs_is_reworded_in_the_form(page: Page) -> None:
    page.goto("/p/acme/runs")
    page.locator("[data-pick-all]").check()
    page.get_by_role("button", name="Replay…").click()
    page.wait_for_url("**/experiments/new?*")
    page.locator("#model-0").fill("openai:a")
    expect(page.locator("#plan")).to_contain_text("3 × 1", timeout=15_000)
    page.locator("#message").select_option(index=1)
    words, hint = page.locator("textarea[name=message_text]"), page.locator("#message-hint")
    expect(hint).to_contain_text("as recorded in")
    words.fill("Hail?")
    expect(hint).to_contain_text("of each run, the message at this place")
    expect(hint.locator("ins")).to_have_text("Hail?")
    expect(words).to_have_value("Hail?")
    page.locator("#go").click()
    page.wait_for_url("**/experiments/ex_*")
    said = {one.controls["message"]["text"] for one in Replay.objects.all()}
    assert said == {"Hail?"}
