"""Two runs selected in the list and stepped through side by side."""

import json
import re

import pytest
from playwright.sync_api import expect
from swapped import AT_ONCE

from runs import ingest

pytestmark = pytest.mark.browser


@pytest.fixture
def two(page, load_log, shared, project):
    """The list with a run and another one of the same agent that did some things otherwise."""
    load_log("refund-memory", run_id="one", agent="refund")
    log = json.loads((shared / "data/rig/refund-memory.effects.json").read_text())
    for at, words in ((3, "refund RF-1 booked"), (6, "refund RF-2 booked")):
        log["records"][at]["outcome"] = {
            "Ok": {
                "outcome": "tool_result",
                "result": {"status": "success", "value": [{"type": "text", "text": words}]},
            }
        }
    ingest.accept_log(project, json.dumps(log).encode(), run_id="two", agent="refund")
    page.goto("/p/acme/runs?sort=started")
    return page


def test_two_are_selected_compared_and_stepped_through(two) -> None:
    for box in two.locator("[data-pick]").all():
        box.click()
    two.get_by_role("button", name="Compare two").click()
    two.wait_for_url("**/compare?a=one&b=two")
    expect(two.locator("#rows [aria-current]")).to_have_attribute("id", "ra4")
    expect(two.locator("#pair")).to_contain_text("RF-20931")
    two.keyboard.press("n")
    two.wait_for_url("**at=a7")
    expect(two.locator("#pair ins").first).to_be_visible()
    two.keyboard.press("j")
    two.wait_for_url(re.compile("at=a8"))
    expect(two.locator("#pair h2").first).to_have_text("#8")
    two.go_back()
    two.wait_for_url("**at=a7")
    expect(two.locator("#pair h2").first).to_have_text("#7")


def test_back_twice_shows_the_page_asked_for_last(two) -> None:
    """The first of two pages that Back asks for may come after the second."""
    two.goto("/p/acme/compare?a=one&b=two&at=a1")
    for row in ("a4", "a8"):
        two.locator(f"#r{row}").click()
        two.wait_for_url(f"**at={row}*")
    expect(two.locator("#pair h2").first).to_have_text("#8")
    late = []
    two.route("**at=a4*", lambda route: late.append(route))
    two.go_back()
    two.wait_for_url("**at=a4*")
    two.go_back()
    two.wait_for_url("**at=a1")
    expect(two.locator("#pair h2").first).to_have_text("#1")
    two.wait_for_timeout(100)
    for route in late:
        route.continue_()
    two.wait_for_timeout(500)
    expect(two.locator("#pair h2").first).to_have_text("#1")


def test_quick_steps_through_rows_are_one_entry_of_the_history(two) -> None:
    two.goto("/p/acme/compare?a=one&b=two&at=a1")
    two.evaluate(AT_ONCE)
    for _ in range(3):
        two.keyboard.press("j")
    two.wait_for_url("**at=a4*")
    two.locator("#ra8").click()
    two.wait_for_url("**at=a8*")
    two.go_back()
    two.wait_for_url("**at=a4*")
    two.go_back()
    two.wait_for_url("**at=a1")
    expect(two.locator("#pair h2").first).to_have_text("#1")
