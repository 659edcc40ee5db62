"""The tape of a run under pointer and keys."""

import pytest
from playwright.sync_api import expect

pytestmark = [pytest.mark.browser, pytest.mark.any_database]


@pytest.fixture
def tape(page, load_log):
    page.goto(f"/p/acme/runs/{load_log('refund-memory', agent='refund')}")
    return page


def middle(page, seq: int) -> tuple[float, float]:
    box = page.locator(f".tape rect[data-seq='{seq}']").bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def test_the_tape_says_what_is_under_the_pointer(tape) -> None:
    tape.mouse.move(*middle(tape, 4))
    expect(tape.locator(".tape-tip")).to_contain_text("#4 issue_refund")
    tape.mouse.move(700, 600)
    expect(tape.locator(".tape-tip")).to_be_hidden()


def test_a_drag_goes_where_it_ends_and_shows_the_way(tape) -> None:
    tape.mouse.move(*middle(tape, 2))
    tape.mouse.down()
    tape.mouse.move(*middle(tape, 7), steps=5)
    expect(tape.locator(".tape-tip")).to_contain_text("#7")
    assert tape.locator("#effect").get_attribute("data-at") == "1"
    tape.mouse.up()
    tape.wait_for_selector("#effect[data-at='7']")
    expect(tape.locator(".step[aria-current]")).to_have_attribute("id", "s7")


def test_the_tape_is_moved_on_by_keys(tape) -> None:
    slider = tape.get_by_role("slider", name="Position in the run")
    slider.focus()
    for key, seq in (("ArrowRight", 2), ("End", 9), ("ArrowLeft", 8), ("Home", 1)):
        tape.keyboard.press(key)
        tape.wait_for_selector(f"#effect[data-at='{seq}']")
        expect(slider).to_have_attribute("aria-valuenow", str(seq))
    expect(slider).to_be_focused()
