"""Stepping through one run, by keys and by clicks."""

import re

import pytest
from factories import body, completion, log
from playwright.sync_api import expect

from runs import ingest

pytestmark = [pytest.mark.browser, pytest.mark.any_database]


@pytest.fixture
def refund(page, load_log):
    """The page of a run of nine effects, at its first."""
    page.goto(f"/p/acme/runs/{load_log('refund-memory', agent='refund')}")
    return page


def at(page) -> str:
    return page.locator(".step[aria-current]").get_attribute("id")


def settled(page, seq: int) -> None:
    page.wait_for_selector(f"#effect[data-at='{seq}']")


def test_j_and_k_step_and_the_address_follows(refund) -> None:
    for seq in (2, 3, 4):
        refund.keyboard.press("j")
        settled(refund, seq)
    refund.keyboard.press("k")
    settled(refund, 3)
    assert at(refund) == "s3"
    assert refund.url.endswith("?at=3")
    assert "get_order" in refund.title()


def test_keys_pressed_faster_than_answers_come_are_not_lost(refund) -> None:
    for _ in range(6):
        refund.keyboard.press("j")
    settled(refund, 7)
    assert at(refund) == "s7"


def test_first_last_and_next_model_call_have_keys(refund) -> None:
    refund.keyboard.press("]")
    settled(refund, 9)
    refund.keyboard.press("[")
    settled(refund, 1)
    refund.keyboard.press("m")
    settled(refund, 2)
    refund.keyboard.press("m")
    settled(refund, 5)


def test_a_call_leads_to_its_answer_and_back(refund) -> None:
    refund.goto("/p/acme/runs/refund-memory?at=2")
    refund.get_by_role("link", name="answered in #4").click()
    settled(refund, 4)
    assert "issue_refund" in refund.locator("#effect").inner_text()
    refund.keyboard.press("Enter")
    settled(refund, 2)


def test_back_goes_through_the_effects_and_out_and_in_again(refund) -> None:
    refund.keyboard.press("j")
    settled(refund, 2)
    refund.goto("about:blank")
    refund.go_back()
    settled(refund, 2)
    assert refund.locator(".rail").count() == 1
    refund.go_back()
    settled(refund, 1)
    assert refund.locator(".rail").count() == 1
    assert at(refund) == "s1"


def test_a_pasted_address_shows_the_same_effect_and_tabs(refund) -> None:
    refund.goto("/p/acme/runs/refund-memory?at=5&req=json&tab=json")
    json = refund.locator(".json").first.inner_text()
    assert '"unit": 129.0' in json
    refund.keyboard.press("j")
    settled(refund, 6)
    assert re.search(r"at=6.*req=json.*tab=json", refund.url)
    assert refund.locator(".json").count() >= 2


def test_messages_seen_before_are_folded_into_one_line(refund) -> None:
    refund.goto("/p/acme/runs/refund-memory?at=5")
    fold = refund.get_by_text("3 earlier messages, the same as in #2")
    assert not refund.get_by_text("I sent back the helmet").nth(1).is_visible()
    fold.click()
    assert refund.locator(".fold .msg").count() == 3


def test_next_error_shows_the_error_first(page, load_log) -> None:
    page.goto(f"/p/acme/runs/{load_log('sql-tool-errors')}")
    page.keyboard.press("e")
    settled(page, 2)
    assert page.locator(".failure").inner_text().startswith("tool error")
    assert "42601" in page.locator(".failure").inner_text()


def test_a_click_on_the_tape_goes_there(refund) -> None:
    refund.locator(".tape rect[data-seq='4']").click()
    settled(refund, 4)
    assert at(refund) == "s4"


def test_a_number_can_be_jumped_to(refund) -> None:
    refund.keyboard.press("g")
    refund.keyboard.type("8")
    refund.keyboard.press("Enter")
    settled(refund, 8)
    assert refund.url.endswith("?at=8")


def test_question_mark_lists_the_keys(refund) -> None:
    refund.keyboard.press("?")
    assert refund.get_by_role("dialog").is_visible()
    assert "next error" in refund.get_by_role("dialog").inner_text()
    refund.keyboard.press("Escape")
    assert not refund.get_by_role("dialog").is_visible()


def test_an_image_is_drawn_from_the_recording(page, load_log) -> None:
    page.goto(f"/p/acme/runs/{load_log('media-inspector')}?at=2")
    expect(page.locator(".media img")).to_have_js_property("naturalWidth", 1)


def test_copy_takes_the_bytes_as_they_were_recorded(page, load_log, shared) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(f"/p/acme/runs/{load_log('options-schema')}?at=1&req=json")
    page.locator("[data-copy-url]").first.click()
    page.wait_for_selector("#toast")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied in (shared / "data/rig/options-schema.effects.json").read_text()
    assert "18446744073709551615" in copied


def test_focus_stays_on_the_button_that_was_pressed(refund) -> None:
    refund.locator("#way-forward").focus()
    for seq in (2, 3):
        refund.keyboard.press("Enter")
        settled(refund, seq)
    assert refund.evaluate("document.activeElement.id") == "way-forward"


def test_keys_pressed_faster_than_pages_come_are_all_taken(page, load_log) -> None:
    load_log("sql-tool-errors")
    page.goto("/p/acme/runs/sql-tool-errors")
    page.route("**/*at=*", lambda route: (page.wait_for_timeout(150), route.continue_()))
    for key in "jjjkjj":
        page.keyboard.press(key)
    page.wait_for_url("**at=5*")
    assert page.locator(".step[aria-current] .n").inner_text() == "5"


def test_next_model_call_pressed_fast_goes_as_far_as_pressed(page, load_log) -> None:
    load_log("night-shift-300")
    page.goto("/p/acme/runs/night-shift-300?at=101")
    for _ in range(6):
        page.keyboard.press("m")
    page.wait_for_url("**at=131*")


def slowly(page, address: str, seconds: float = 0.25) -> None:
    """Let steps that match take so long."""

    def wait(route) -> None:
        page.wait_for_timeout(seconds * 1000)
        route.continue_()

    page.route(address, wait)


def test_a_tab_pressed_while_steps_load_is_that_of_the_effect_that_comes(refund) -> None:
    refund.goto("/p/acme/runs/refund-memory?at=1")
    slowly(refund, "**/*at=*")
    refund.keyboard.press("j")
    refund.keyboard.press("j")
    refund.locator("#tab-req-json").dispatch_event("click")
    refund.wait_for_url("**at=3*req=json*")
    settled(refund, 3)
    assert at(refund) == "s3"


def test_tabs_stand_once_in_the_address(refund) -> None:
    refund.goto("/p/acme/runs/refund-memory?at=2&req=changes")
    refund.keyboard.press("m")
    settled(refund, 5)
    refund.locator("#tab-req-json").click()
    refund.wait_for_url("**req=json*")
    refund.keyboard.press("k")
    settled(refund, 4)
    assert refund.url.endswith("?at=4&req=json")


def test_a_held_key_stops_where_it_is_let_go(page, load_log) -> None:
    page.goto(f"/p/acme/runs/{load_log('night-shift-300')}")
    asked: list = []  # no step is answered while the key is held
    page.route("**/*at=*", lambda route: asked.append(route))
    page.keyboard.down("j")
    for _ in range(8):
        page.keyboard.down("j")  # what a keyboard sends while it is held
    page.keyboard.up("j")
    while not asked:
        page.wait_for_timeout(10)
    for step in asked:
        step.continue_()
    page.unroute("**/*at=*")
    settled(page, 2)
    page.wait_for_timeout(400)
    assert at(page) == "s2"


@pytest.fixture
def two(page, project):
    """two(**request) -> the page of a run of two model calls, the second of which asks so."""

    def show(**request: object):
        calls = [completion(n, usage={"input_tokens": n, "output_tokens": 1}) for n in (1, 2)]
        calls[1]["kind"]["request"] |= request
        ingest.accept_log(project, body(log(*calls)), run_id="two")
        page.goto("/p/acme/runs/two?at=1")
        return page

    return show


@pytest.mark.parametrize(
    ("key", "said"),
    [("c", "No model call here asks otherwise"), ("$", "This is the call that cost most.")],
)
def test_a_way_that_leads_nowhere_is_said_and_is_no_step_to_go_back_over(two, key, said) -> None:
    page = two()
    page.keyboard.press("$")
    page.wait_for_url("**at=2")
    steps = page.evaluate("history.length")
    page.keyboard.press(key)
    expect(page.locator("#toast")).to_contain_text(said)
    assert page.url.endswith("?at=2")
    assert page.evaluate("history.length") == steps


def test_the_next_changed_prompt_is_a_key_away(two) -> None:
    page = two(temperature=0.5)
    steps = page.evaluate("history.length")
    page.keyboard.press("c")
    page.wait_for_url("**at=2&req=changes")
    assert page.evaluate("history.length") == steps + 1
    page.keyboard.press("c")
    expect(page.locator("#toast")).to_contain_text("No other model call here asks otherwise")
    assert page.evaluate("history.length") == steps + 1
