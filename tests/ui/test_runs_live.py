"""A run that goes on while somebody reads it."""

import json
import urllib.request

import pytest
from factories import batch, body, completion, tool
from playwright.sync_api import expect

pytestmark = pytest.mark.browser


@pytest.fixture
def send(page, live_server, api_key):
    """send("/run/effects", body) -> an agent's request to the API of the running server."""

    def post(path: str, sent: bytes) -> None:
        headers = {"Authorization": f"Bearer {api_key}", "Content-Type": "application/json"}
        request = urllib.request.Request(f"{live_server.url}/api/v1/runs{path}", sent, headers)
        assert json.loads(urllib.request.urlopen(request).read())

    return post


def more(first: int, count: int) -> bytes:
    records = [completion(n) if n % 10 == 0 else tool(n) for n in range(first, first + count)]
    return batch(*records, positions=list(range(first, first + count)))


@pytest.fixture
def live(page, send):
    send("", body({"run": {"id": "run", "status": "running"}}))
    send("/run/effects", more(1, 60))
    page.goto("/p/acme/runs/run?at=20")
    return page


def test_a_run_grows_at_the_end_and_the_reader_stays(live, send) -> None:
    steps = live.locator(".steps")
    steps.evaluate("list => { list.scrollTop = 300; }")
    send("/run/effects", more(61, 5))
    expect(live.locator("#s65")).to_be_attached(timeout=8000)
    assert steps.evaluate("list => list.scrollTop") == 300
    assert steps.evaluate("list => list.scrollHeight") == 65 * 28
    assert live.locator(".step[aria-current]").get_attribute("id") == "s20"
    assert live.url.endswith("?at=20")
    expect(live.locator("#transport")).to_contain_text("/ 65")
    assert live.locator(".tape rect[data-seq='65']").count() == 1


def test_the_first_effect_of_a_run_comes_to_a_page_that_waits_for_it(page, send) -> None:
    send("", body({"run": {"id": "run", "status": "running"}}))
    page.goto("/p/acme/runs/run")
    expect(page.locator("#effect")).to_contain_text("This run has no effects")
    send("/run/effects", batch(completion(1, "First?", "One."), tool(2), positions=[1, 2]))
    expect(page.locator("#effect")).to_contain_text("One.")
    expect(page.locator("h1")).to_have_text("First?")
    page.keyboard.press("j")
    page.wait_for_selector("#effect[data-at='2']")


def test_a_reader_who_follows_goes_along_until_they_go_elsewhere(live, send) -> None:
    live.get_by_role("button", name="Follow").click()
    live.wait_for_selector("#effect[data-at='60']")
    send("/run/effects", more(61, 2))
    live.wait_for_selector("#effect[data-at='62']")
    live.keyboard.press("k")
    live.wait_for_selector("#effect[data-at='61']")
    expect(live.locator("#follow")).to_have_attribute("aria-pressed", "false")
    live.go_back()  # following is one entry of the history, however far it went
    live.wait_for_selector("#effect[data-at='62']")
    live.go_back()
    live.wait_for_selector("#effect[data-at='20']")


def test_the_end_of_the_run_is_told_and_no_more_is_asked(live, send) -> None:
    send("/run/finish", body({"status": "succeeded"}))
    expect(live.locator("#run-state")).to_have_text("succeeded")
    expect(live.locator("#grow")).not_to_have_attribute("hx-get", "")
    assert live.locator("#grow[hx-get]").count() == 0
