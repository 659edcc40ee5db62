"""The whole story, as one person lives it, against the product started as `make run` starts it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from started import Started, free_port, up
from swapped import at_rest

pytestmark = [pytest.mark.browser, pytest.mark.timeout(240)]

DROP = """async ([name, text]) => {
    const carried = new DataTransfer();
    carried.items.add(new File([text], name, { type: "application/json" }));
    const area = document.querySelector(".drop");
    for (const kind of ["dragenter", "dragover", "drop"])
        area.dispatchEvent(new DragEvent(kind, { dataTransfer: carried, bubbles: true }));
}"""


@pytest.fixture
def product(tmp_path: Path) -> Iterator[Started]:
    with up(tmp_path / "home", free_port()) as started:
        yield started


@pytest.fixture
def person(chromium, product: Started) -> Iterator[Page]:
    context = chromium.new_context(base_url=product.base, viewport={"width": 1440, "height": 900})
    context.set_default_timeout(30_000)
    page = context.new_page()
    wrong: list[str] = []
    page.on("console", lambda m: wrong.append(m.text) if m.type == "error" else None)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.goto(product.link)
    page.get_by_role("button").first.click()
    page.wait_for_url("**/p/demo/runs")
    yield page
    context.close()
    assert wrong == []


def test_from_a_dropped_log_to_a_difference_and_back(person: Page, shared: Path) -> None:
    drop_a_log(person, shared / "data/rig/sql-tool-errors.effects.json")
    filter_the_list(person)
    step_to_the_error(person)
    run = person.url
    reconstruct(person)
    person.goto(run)
    replay_against_two_models(person)
    read_the_difference(person)


def drop_a_log(page: Page, log: Path) -> None:
    page.get_by_role("link", name="Import a log").first.click()
    page.get_by_role("textbox", name="Agent", exact=True).fill("walk-through")
    page.evaluate(DROP, [log.name, log.read_text()])
    outcome = page.locator("#outcomes tr")
    expect(outcome).to_contain_text(log.name)
    expect(outcome.locator("a")).to_have_count(1)


def filter_the_list(page: Page) -> None:
    page.goto("/p/demo/runs")
    everything = page.locator("tbody tr").count()
    page.locator("details.filter > summary").filter(has_text="agent").click()
    page.get_by_role("combobox", name="Agent", exact=True).fill("walk-through")
    page.keyboard.press("Enter")
    page.wait_for_url("**/runs?agent=walk-through")
    assert page.locator("tbody tr").count() == 1 < everything


def step_to_the_error(page: Page) -> None:
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(r"/runs/log-"))
    first = page.locator(".step[aria-current]").inner_text()
    page.keyboard.press("j")
    expect(page.locator(".step[aria-current]")).not_to_have_text(first)
    page.keyboard.press("k")
    page.keyboard.press("e")
    expect(page.locator(".step[aria-current]")).to_have_class(re.compile(r"\berr\b"))
    page.wait_for_url(re.compile(r"[?&]at=\d+"))


def reconstruct(page: Page) -> None:
    page.keyboard.press("r")
    page.wait_for_url("**/replay")
    page.get_by_role("button", name="Reconstruct").click()
    page.wait_for_url("**/replays/rp_*")
    expect(page.locator(".verdict")).to_contain_text(re.compile(r"Identical\s*yes"))
    expect(page.locator(".verdict")).to_contain_text(re.compile(r"Faithful\s*yes"))


def replay_against_two_models(page: Page) -> None:
    page.keyboard.press("r")
    page.wait_for_url("**/replay")
    page.locator("#model-0").fill("fake:steady")
    expect(page.locator("#go")).to_contain_text("Start 2 calls")
    page.get_by_role("button", name="add a model").click()
    page.locator("#models input").last.fill("fake:terse")
    expect(page.locator("#go")).to_contain_text("Start 4 calls")
    page.keyboard.press("Tab")
    page.locator("#go").click()
    page.wait_for_url("**/experiments/ex_*")
    expect(page.locator(".candidates tr", has_text="fake:steady")).to_have_count(1)
    expect(page.locator(".candidates tr", has_text="fake:terse")).to_have_count(1)
    expect(page.locator("#status")).not_to_have_text("running")


def read_the_difference(page: Page) -> None:
    page.locator(".matrix td.cell").nth(1).get_by_role("link").click()
    page.wait_for_url("**/replays/rp_*")
    expect(page.locator(".verdict")).to_contain_text(re.compile(r"Changed\s*2 of 2"))
    page.keyboard.press("n")
    at_rest(page)
    expect(page.locator(".pair")).to_contain_text("Recorded")
    page.get_by_role("link", name="Lines", exact=True).click()
    page.wait_for_url(re.compile(r"[?&](diff|as|view|show)="))
    at_rest(page)
    seen = page.locator(".pair").inner_text()
    page.reload()
    assert page.locator(".pair").inner_text() == seen
    page.go_back()
    expect(page.locator(".pair")).to_contain_text("Recorded")
    expect(page.get_by_role("navigation", name="Main")).to_be_visible()
