"""The next effect asked for ahead, and what of stepping the history keeps."""

import pytest
from playwright.sync_api import expect
from swapped import AT_ONCE

from runs import ingest

pytestmark = [pytest.mark.browser, pytest.mark.any_database]
A_WHILE = 500  # ms, much longer than a page takes to ask ahead


def settled(page, seq: int) -> None:
    page.wait_for_selector(f"#effect[data-at='{seq}']")


def steps_asked_for(page) -> list[str]:
    """The queries of the effects that the page asks for from here on."""
    asked: list[str] = []
    page.on("request", lambda r: asked.append(r.url.partition("?")[2]) if "?at=" in r.url else None)
    return asked


@pytest.fixture
def refund(page, load_log):
    """The page of a run of nine effects, at its first."""
    page.goto(f"/p/acme/runs/{load_log('refund-memory')}")
    return page


def step(page, key: str, to: int, ahead: int) -> None:
    """Press it, and wait until the one behind has come."""
    with page.expect_response(lambda r: f"?at={ahead}" in r.url):
        page.keyboard.press(key)
        settled(page, to)


def test_a_step_on_asks_the_server_nothing_more(refund) -> None:
    refund.evaluate(AT_ONCE)
    asked = steps_asked_for(refund)
    step(refund, "j", 2, ahead=3)
    step(refund, "j", 3, ahead=4)
    step(refund, "k", 2, ahead=1)
    refund.keyboard.press("k")
    settled(refund, 1)
    assert asked == ["at=2", "at=3", "at=4", "at=2", "at=1"]
    expect(refund.locator(".step[aria-current]")).to_have_id("s1")
    assert refund.url.endswith("?at=1")


def test_what_comes_ahead_is_what_the_address_shows(refund) -> None:
    refund.goto("/p/acme/runs/refund-memory?at=1&req=json")
    step(refund, "j", 2, ahead=3)
    refund.keyboard.press("j")
    settled(refund, 3)
    refund.wait_for_url("**at=3&req=json")
    shown = refund.locator("#effect").inner_text()
    refund.reload()
    assert refund.locator("#effect").inner_text() == shown
    assert refund.title().startswith("#3 ")


NEVER_IDLE = """window.requestIdleCallback = (then, options) => {
  const late = { didTimeout: true, timeRemaining: () => 0 };
  if (options?.timeout) setTimeout(() => then(late), options.timeout);
}"""


def test_a_browser_that_is_never_idle_asks_ahead_too(page, load_log) -> None:
    """Chromium may call nothing back for as long as nothing new is to be painted."""
    page.add_init_script(NEVER_IDLE)
    page.goto(f"/p/acme/runs/{load_log('refund-memory')}")
    step(page, "j", 2, ahead=3)


def test_a_reader_who_does_not_step_is_sent_nothing_ahead(refund) -> None:
    asked = steps_asked_for(refund)
    refund.locator("#s6").click()
    settled(refund, 6)
    refund.locator("#tab-req-json").click()
    refund.wait_for_url("**req=json")
    refund.wait_for_timeout(A_WHILE)
    assert asked == ["at=6", "at=6&req=json"]


def test_nothing_is_asked_ahead_where_data_is_to_be_saved(page, load_log) -> None:
    save = "Object.defineProperty(navigator, 'connection', { value: { saveData: true } })"
    page.add_init_script(save)
    page.goto(f"/p/acme/runs/{load_log('refund-memory')}")
    asked = steps_asked_for(page)
    page.keyboard.press("j")
    settled(page, 2)
    page.wait_for_timeout(A_WHILE)
    assert asked == ["at=2"]


def test_what_came_ahead_is_not_shown_once_somebody_has_written(refund) -> None:
    step(refund, "j", 2, ahead=3)
    asked = steps_asked_for(refund)
    refund.get_by_text("Write a comment").click()
    refund.locator("#say").fill("See the next one.")
    refund.get_by_role("button", name="Comment").click()
    expect(refund.locator(".comment")).to_have_count(1)
    refund.locator("#effect-tabs").evaluate("() => document.activeElement.blur()")
    refund.keyboard.press("j")
    settled(refund, 3)
    assert asked[0] == "at=3"


def test_a_filter_is_part_of_what_is_asked_ahead(refund) -> None:
    step(refund, "j", 2, ahead=3)
    refund.locator("#only-model").click()
    expect(refund.locator(".step")).to_have_count(3)
    refund.keyboard.press("j")
    settled(refund, 5)
    assert "family=model" in refund.url


def test_a_run_that_goes_on_is_not_asked_ahead(page, shared, project) -> None:
    log = (shared / "data/rig/refund-memory.effects.json").read_bytes()
    envelope = b'{"run":{"id":"live","status":"running"},"log":%s}' % log
    ingest.accept_run(project, envelope)
    page.goto("/p/acme/runs/live")
    asked = steps_asked_for(page)
    page.keyboard.press("j")
    settled(page, 2)
    page.wait_for_timeout(A_WHILE)
    assert "at=3" not in asked


def test_quick_steps_are_one_entry_and_each_jump_is_its_own(refund) -> None:
    refund.evaluate(AT_ONCE)
    for _ in range(3):
        refund.keyboard.press("j")
    settled(refund, 4)
    refund.locator("#s8").click()
    settled(refund, 8)
    refund.go_back()
    settled(refund, 4)
    refund.go_back()
    settled(refund, 1)
    expect(refund.locator(".step[aria-current]")).to_have_id("s1")


def test_a_step_after_a_while_is_an_entry_of_its_own(refund) -> None:
    for seq in (2, 3):
        refund.keyboard.press("j")
        settled(refund, seq)
        refund.wait_for_timeout(1100)
    refund.go_back()
    settled(refund, 2)


def test_back_then_a_step_begins_a_new_entry(refund) -> None:
    refund.keyboard.press("j")
    settled(refund, 2)
    refund.locator("#s8").click()
    settled(refund, 8)
    refund.go_back()
    settled(refund, 2)
    refund.keyboard.press("j")
    settled(refund, 3)
    refund.go_back()
    settled(refund, 2)


@pytest.mark.parametrize("key", ["m", "ArrowRight"])
def test_other_ways_through_a_run_are_one_entry_too(refund, key: str) -> None:
    refund.evaluate(AT_ONCE)
    refund.locator(".tape-box").focus()
    for _ in range(2):
        shown = refund.locator("#effect").get_attribute("data-at")
        refund.keyboard.press(key)
        refund.wait_for_selector(f"#effect:not([data-at='{shown}'])")
    refund.go_back()
    settled(refund, 1)


def test_a_click_into_the_list_is_an_entry_however_near_and_quick(refund) -> None:
    refund.evaluate(AT_ONCE)
    refund.keyboard.press("j")
    settled(refund, 2)
    refund.locator("#s3").click()
    settled(refund, 3)
    refund.go_back()
    settled(refund, 2)
