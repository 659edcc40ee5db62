"""The replay form and a replay's page in a real browser: live plan, live progress, keys, Back."""

from __future__ import annotations

import re
import threading
from pathlib import Path

import pytest
from playwright.sync_api import Page, Route, expect

from replay import jobs
from replay.fake_provider import FakeProvider
from replay.models import Replay
from runs import ingest

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def fake(monkeypatch):
    with FakeProvider([{"answer": {"text": "Take an umbrella at 15:30."}}]) as provider:
        monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
        monkeypatch.setenv("OPENAI_BASE_URL", provider.openai_base_url)
        yield provider


@pytest.fixture
def page(
    transactional_db, fake, open_page, make_member, project, shared: Path, monkeypatch
) -> Page:
    monkeypatch.setattr(jobs, "ring", lambda public_id: None)
    log = shared / "data/rig-examples/02-two-tools-memory.effects.json"
    ingest.accept_log(project, log.read_bytes(), run_id="trip", agent="trip")
    return open_page(make_member("member"))


def test_the_plan_follows_the_controls_and_so_does_the_address(page, fake):
    page.goto("/p/acme/runs/trip/replay")
    expect(page.locator("#go")).to_contain_text("Reconstruct")
    page.locator("#model-0").fill("openai:a")
    expect(page.locator("#go")).to_contain_text("Start 2 calls")
    page.locator("#system").fill("Be terse.")
    page.wait_for_url(re.compile(r"model=openai%3Aa&system=Be(%20|\+)terse\.$"))
    page.reload()
    expect(page.locator("#go")).to_contain_text("Start 2 calls")
    expect(page.locator("#system")).to_have_value("Be terse.")
    assert fake.asked == []


@pytest.mark.parametrize("where", ["runs/trip/replay?model=openai:a", "experiments/new?run=trip"])
def test_each_mistake_stands_beside_its_control_until_it_is_mended(page, where: str):
    page.goto(f"/p/acme/{where}")
    wrong = page.locator(".wrong:visible")
    expect(wrong).to_have_count(0)
    page.locator("#model-0").fill("gpt")
    page.locator("#temperature").fill("warm")
    page.locator("#samples").fill("99")
    expect(wrong).to_have_text(
        ["A model is written as provider:model, not “gpt”.",
         "The temperature is a number, not “warm”.",
         "The number of samples is a whole number from 1 to 20."]
    )  # fmt: skip
    expect(page.locator("#plan [role=alert] .note")).to_have_count(3)
    expect(page.locator("#go")).to_be_disabled()
    page.locator("#temperature").fill("0.5")
    expect(wrong).to_have_count(2)
    page.reload()
    expect(wrong).to_have_count(2)
    page.locator("#model-0").fill("openai:a")
    page.locator("#samples").fill("2")
    expect(wrong).to_have_count(0)
    expect(page.locator("#go")).to_be_enabled()


def test_what_is_changed_while_a_plan_is_made_is_planned_next(page):
    waiting = []
    page.goto("/p/acme/runs/trip/replay?model=openai:a")
    page.route("**/replay?*", lambda it: it.continue_() if waiting else waiting.append(it))
    with page.expect_request("**/replay?*"):
        page.locator("#temperature").fill("0.5")
        page.locator("#temperature").blur()
    page.locator("#system").fill("Be terse.")
    page.locator("#system").blur()
    waiting[0].continue_()
    page.wait_for_url(re.compile(r"temperature=0\.5&system=Be(%20|\+)terse\.$"))


SLOW = re.compile(r"temperature=0\.5$")


@pytest.mark.parametrize("where", ["runs/trip/replay?", "experiments/new?run=trip&"])
def test_nothing_starts_before_the_plan_says_what_the_controls_do(page, where: str):
    """A start in between would be that of the plan before."""
    held = []
    page.goto(f"/p/acme/{where}model=openai:a")
    go = page.locator("#go")
    expect(go).to_be_enabled()
    page.locator("#temperature").fill("0")
    expect(go).to_be_disabled()
    page.locator("#temperature").fill("")
    expect(go).to_be_enabled()
    page.route(SLOW, lambda it: held.append(it))
    with page.expect_request(SLOW):
        page.locator("#temperature").fill("0.5")
        expect(go).to_be_disabled()
        page.locator("#temperature").blur()
    page.locator("#system").fill("Be terse.")
    for it in held:
        it.continue_()
    page.unroute(SLOW)
    page.wait_for_url(re.compile(r"system=Be(%20|\+)terse\."))
    expect(go).to_be_enabled()
    go.click()  # which leaves the text, too
    page.wait_for_url(re.compile("/(replays|experiments)/(rp|ex)_"))
    assert Replay.objects.get().controls == {"temperature": 0.5, "system": "Be terse."}


def test_a_control_put_back_leaves_no_trace_in_the_address(page):
    page.goto("/p/acme/runs/trip/replay?temperature=0")
    page.locator("#temperature").fill("")
    expect(page.locator("#go")).to_contain_text("Reconstruct")
    page.wait_for_url(re.compile(r"/replay$"))


def test_progress_comes_by_itself_and_ends(page):
    page.goto("/p/acme/runs/trip/replay?model=openai:a")
    page.locator("#go").click()
    page.wait_for_url("**/replays/rp_*")
    expect(page.locator(".verdict")).to_contain_text("queued")
    expect(page.locator("#pair")).not_to_contain_text("umbrella")
    _work()
    expect(page.locator(".verdict")).to_contain_text("succeeded")
    expect(page.locator("#rows")).to_contain_text("drops weather, opening_hours")
    expect(page.locator("#live")).not_to_have_attribute("hx-trigger", "every 1s")


def test_keys_walk_the_rows_and_back_returns(page):
    page.goto(_finished(page))
    first = page.url
    page.keyboard.press("j")
    page.wait_for_url(re.compile(r"at=5"))
    expect(page.locator("#pair h2").first).to_have_text("#5")
    expect(page.locator("#pair ins").first).to_be_visible(timeout=15_000)
    page.get_by_role("link", name="JSON").click()
    page.wait_for_url(re.compile(r"show=json"))
    page.keyboard.press("p")
    page.wait_for_url(re.compile(r"at=2&show=json"))
    for _ in range(3):
        page.go_back()
    expect(page).to_have_url(first)
    expect(page.get_by_role("navigation", name="Main")).to_be_visible()


def test_the_page_reads_without_javascript(fake, page, open_page, django_user_model):
    address = _finished(page)
    user = django_user_model.objects.get(email="member@example.com")
    plain = open_page(user, java_script_enabled=False)
    plain.goto(address)
    plain.locator("#r5").click()
    expect(plain.locator("#pair h2").first).to_have_text("#5")
    plain.goto("/p/acme/runs/trip/replay")
    plain.locator("#model-0").fill("openai:b")
    plain.get_by_role("button", name="Show plan").click()
    expect(plain.locator("#go")).to_contain_text("Start 2 calls")
    plain.locator("#go").click()
    plain.wait_for_url("**/replays/rp_*")


def _finished(page: Page) -> str:
    page.goto("/p/acme/runs/trip/replay?model=openai:a")
    page.locator("#go").click()
    page.wait_for_url("**/replays/rp_*")
    _work()
    return page.url


def _work() -> None:
    """Do the queued replay on a thread, as a worker would: the browser owns this one's loop."""
    public_id = Replay.objects.get(status="queued").public_id
    worker = threading.Thread(target=_run, args=(public_id,))
    worker.start()
    worker.join(60)


def _run(public_id: str) -> None:
    from django.db import connections

    try:
        jobs.run_job(public_id)
    finally:
        connections.close_all()


@pytest.mark.parametrize(
    ("where", "outlined"),
    [
        ("runs/trip/replay?model=openai:a&calls=choose&from=3&effects=x", ["effects"]),
        ("runs/trip/replay?model=openai:a&calls=from&from=x&effects=3", ["from"]),
        ("runs/trip/replay?model=openai:a&max_tokens=-5&samples=2", ["max_tokens"]),
        ("experiments/new?run=trip&model=openai:a&min_same=200&max_cost=110", ["min_same"]),
        ("experiments/new?run=trip&model=openai:a&min_same=20&max_cost=x", ["max_cost"]),
    ],
)
def test_only_the_field_at_fault_is_outlined(page, where: str, outlined: list[str]):
    page.goto(f"/p/acme/{where}")
    found = page.evaluate(
        """() => {
          const bad = document.createElement("i");
          bad.style.color = "var(--bad)";
          document.body.append(bad);
          const red = getComputedStyle(bad).color;
          return [...document.querySelectorAll(".field")]
            .filter((one) => getComputedStyle(one).borderTopColor === red).map((one) => one.name);
        }"""
    )
    assert found == outlined


def test_the_hint_under_the_system_text_follows_it(page):
    page.goto("/p/acme/runs/trip/replay")
    hint = page.locator("#system-hint")
    expect(hint).to_have_text("as recorded")
    recorded = page.locator("#system").input_value()
    page.locator("#system").fill("Be terse.")
    expect(hint).to_have_text("replaces the system text of every call")
    page.locator("#system").fill(recorded)
    expect(hint).to_have_text("as recorded")


def test_nothing_starts_while_what_was_typed_is_in_no_plan(page):
    """Else a click right after typing would start the plan of before."""
    page.goto("/p/acme/runs/trip/replay?model=openai:a")
    go = page.locator("#go")
    expect(go).to_be_enabled()
    held: list[Route] = []
    page.route("**/replay?*temperature=0.5*", lambda route: held.append(route))
    with page.expect_request("**/replay?*temperature=0.5*"):
        page.locator("#temperature").fill("0.5")
        expect(go).to_be_disabled()
    expect(go).to_be_disabled()
    held[0].continue_()
    expect(go).to_be_enabled()
    expect(page.locator("#start [name=temperature]")).to_have_value("0.5")
    page.unroute_all()
    go.click()  # leaving the field changes nothing that is planned
    page.wait_for_url("**/replays/rp_*")
    assert Replay.objects.get().controls == {"temperature": 0.5}


def test_an_edited_text_stands_below_with_what_left_and_what_came(page):
    page.goto("/p/acme/runs/trip/replay")
    system, change = page.locator("#system"), page.locator("#system-change")
    expect(change).to_be_empty()
    system.fill(f"{system.input_value()} Be terse.")
    expect(change.locator("ins")).to_have_text("Be terse.")
    expect(change.locator("del")).to_have_count(0)
    page.locator("#message").select_option(index=1)
    words, hint = page.locator("textarea[name=message_text]"), page.locator("#message-hint")
    expect(hint).to_have_text("as recorded")
    words.fill("Hail?")
    expect(hint).to_contain_text("replaces it in every call that holds it")
    expect(page.locator("#message-hint ins")).to_have_text("Hail?")
    expect(words).to_have_value("Hail?")
    system.fill(page.locator("#system").get_attribute("data-unchanged"))
    expect(change).to_be_empty()


@pytest.mark.any_database
def test_replays_fit_the_window(page):
    address = _finished(page)
    for one in (address, f"{address}?at=3", "/p/acme/replays"):
        page.goto(one)
        assert wider_than(page, 420, 1024, 1440) == []


def wider_than(page, *widths: int) -> list[int]:
    """The widths at which the page asks to be scrolled sideways."""
    found = []
    for width in widths:
        page.set_viewport_size({"width": width, "height": 900})
        if page.evaluate("document.documentElement.scrollWidth") > width:
            found.append(width)
    return found


def test_a_position_that_was_not_asked_is_named(page):
    page.goto(f"{_finished(page)}?at=3")
    expect(page.locator("#pair")).to_have_text("#3 is no call of this replay.")


def test_a_reconstruction_fits_a_phone(page):
    page.set_viewport_size({"width": 420, "height": 900})
    page.goto("/p/acme/runs/trip/replay")
    page.locator("#go").click()
    page.wait_for_url("**/replays/rp_*")
    _work()
    page.reload()
    expect(page.locator(".proof")).to_contain_text("blake2b")
    assert page.evaluate("document.documentElement.scrollWidth") <= 420
