"""What of stepping the history keeps."""

import pytest
from playwright.sync_api import expect

pytestmark = [pytest.mark.browser, pytest.mark.any_database]


def settled(page, seq: int) -> None:
    page.wait_for_selector(f"#effect[data-at='{seq}']")


@pytest.fixture
def refund(page, load_log):
    """The page of a run of nine effects, at its first."""
    page.goto(f"/p/acme/runs/{load_log('refund-memory')}")
    return page


def test_quick_steps_are_one_entry_and_each_jump_is_its_own(refund) -> None:
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
    refund.locator(".tape-box").focus()
    for _ in range(2):
        shown = refund.locator("#effect").get_attribute("data-at")
        refund.keyboard.press(key)
        refund.wait_for_selector(f"#effect:not([data-at='{shown}'])")
    refund.go_back()
    settled(refund, 1)
