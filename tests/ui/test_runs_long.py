"""A run too long to send at once."""

import json

import pytest

pytestmark = [pytest.mark.browser, pytest.mark.any_database]
EFFECTS = 1600


@pytest.fixture
def long_run(page, project):
    from runs import ingest

    ok = {"outcome": "custom", "payload": None}
    records = [
        {"tool_output": None, "id": n, "key": "host/note", "outcome": {"Ok": ok},
         "kind": {"effect": "custom", "kind": "note", "payload": f"number {n}"}}
        for n in range(1, EFFECTS + 1)
    ]  # fmt: skip
    header = {"handlers": [], "signature": {}, "hooks": [], "required": {}}
    body = json.dumps({"header": header, "records": records}).encode()
    ingest.accept_log(project, body, run_id="long")
    page.goto("/p/acme/runs/long?at=1200")
    return page


def test_only_the_window_around_the_effect_comes_with_the_page(long_run) -> None:
    assert long_run.locator("#s1200[aria-current]").is_visible()
    assert long_run.locator("#s1").count() == 0


def test_a_window_comes_when_it_is_scrolled_to_and_nothing_jumps(long_run) -> None:
    before = long_run.locator(".steps").evaluate("list => list.scrollHeight")
    long_run.locator(".window[data-first='251']").scroll_into_view_if_needed()
    long_run.wait_for_selector("#s300")
    assert (
        long_run.locator(".steps").evaluate("list => list.scrollHeight") == before == EFFECTS * 28
    )


def test_stepping_over_the_edge_of_a_window_loads_the_next(long_run) -> None:
    long_run.goto("/p/acme/runs/long?at=1250")
    long_run.keyboard.press("j")
    long_run.wait_for_selector("#effect[data-at='1251']")
    long_run.wait_for_selector("#s1251[aria-current]")
    long_run.keyboard.press("j")
    long_run.wait_for_selector("#s1252[aria-current]")
    # For a moment rows that came are there and not boosted: a click would load the whole page.
    long_run.evaluate("window.stays = true")
    long_run.evaluate("""() => {
      const row = document.querySelector("#s1253");
      row.classList.add("htmx-added");
      row.addEventListener("click", (event) => event.stopImmediatePropagation(), true);
    }""")
    long_run.keyboard.press("j")
    long_run.wait_for_selector("#effect[data-at='1253']")
    assert long_run.evaluate("window.stays") is True


def test_a_jump_far_away_loads_that_part_of_the_list(long_run) -> None:
    long_run.keyboard.press("[")
    long_run.wait_for_selector("#s1[aria-current]")
    assert long_run.locator("#s1").is_visible()
