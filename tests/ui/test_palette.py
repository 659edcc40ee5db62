"""Ctrl K from the list to a run and from there to an action, by keys alone."""

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.browser


def test_typed_chosen_and_gone_to_with_the_focus_back_after_escape(page, load_log) -> None:
    for name in ("refund-memory", "support-triage"):
        load_log(name, agent=name.partition("-")[0])
    page.goto("/p/acme/runs")
    page.locator("[data-pick]").first.focus()
    page.keyboard.press("Control+k")
    expect(page.locator("#palette-q")).to_be_focused()
    expect(page.locator("#palette-list").get_by_role("option", selected=True)).to_have_count(1)
    page.keyboard.press("Escape")
    expect(page.locator("[data-pick]").first).to_be_focused()
    page.keyboard.press("Control+k")
    page.keyboard.type("helmet")
    page.keyboard.press("Enter")
    page.wait_for_url("**/runs/refund-memory")
    page.keyboard.press("Control+k")
    expect(
        page.locator("#palette-list").get_by_role("option", name="Replay this run")
    ).to_have_attribute("aria-selected", "true")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    page.wait_for_url("**/refund-memory/replay")
