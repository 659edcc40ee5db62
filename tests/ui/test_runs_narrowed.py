"""Narrowing the step list and finding in a run, by keys and by clicks."""

import pytest
from factories import body, completion, log, tool
from playwright.sync_api import expect

from runs import ingest
from runs.search import indexing

pytestmark = pytest.mark.browser


@pytest.fixture
def nested(page, project):
    """1 model, 2 tool ⊃ (3 model, 4 tool ⊃ 5 model), 6 model; at its second."""
    records = [
        completion(1, "First?", "One."),
        tool(2, "delegate"),
        completion(3, "inner", "a quokka", parent=2),
        tool(4, "search", parent=2),
        completion(5, "innermost", "two", parent=4),
        completion(6, "Last?", "It is a quokka."),
    ]
    ingest.accept_log(project, body(log(*records)), run_id="run")
    indexing.index_pending()
    page.goto("/p/acme/runs/run?at=2")
    return page


def listed(page) -> list[str]:
    return page.locator(".step .n").all_inner_texts()


@pytest.mark.any_database
def test_arrows_fold_and_unfold_and_j_passes_over(nested) -> None:
    nested.keyboard.press("ArrowLeft")
    nested.wait_for_selector("#f2[aria-expanded=false]")
    assert listed(nested) == ["1", "2", "6"]
    assert nested.url.endswith("?at=2&fold=2")
    nested.keyboard.press("j")
    nested.wait_for_selector("#effect[data-at='6']")
    assert nested.url.endswith("fold=2")
    nested.locator("#f2").click()
    expect(nested.locator(".step")).to_have_count(6)
    assert nested.url.endswith("?at=6")


@pytest.mark.any_database
def test_a_family_is_chosen_by_its_chip_and_stays_through_steps(nested) -> None:
    nested.locator("#only-model").click()
    expect(nested.locator(".step")).to_have_count(4)
    nested.keyboard.press("j")
    nested.wait_for_selector("#effect[data-at='3']")
    nested.keyboard.press("]")
    nested.wait_for_selector("#effect[data-at='6']")
    assert "family=model" in nested.url
    nested.reload()
    assert listed(nested) == ["1", "3", "5", "6"]


def test_what_is_found_is_stepped_through_and_marked(nested) -> None:
    nested.keyboard.press("/")
    nested.keyboard.type("quokka")
    nested.keyboard.press("Enter")
    expect(nested.locator("[data-hit]")).to_have_count(2)
    assert "at=2" in nested.url
    nested.keyboard.press("Escape")
    nested.keyboard.press("n")
    nested.wait_for_selector("#effect[data-at='3']")
    expect(nested.locator("[data-hit][aria-current]")).to_have_attribute("data-hit", "3")
    nested.wait_for_function("CSS.highlights.get('search')?.size === 1")
    nested.keyboard.press("n")
    nested.wait_for_selector("#effect[data-at='6']")
    assert "q=quokka" in nested.url


@pytest.mark.any_database
def test_the_box_says_how_to_find_and_takes_a_click(nested) -> None:
    box = nested.get_by_label("Find in all effects of this run")
    box.fill("quokka")
    nested.get_by_role("button", name="Find ↵").click()
    expect(nested.locator("[data-hit]")).to_have_count(2)
    expect(box).to_have_value("quokka")


def test_without_scripts_finding_is_a_form_and_links(nested, open_page, make_member) -> None:
    plain = open_page(make_member("viewer"), java_script_enabled=False)
    plain.goto("/p/acme/runs/run?at=2&family=model")
    plain.get_by_label("Find in all effects of this run").fill("quokka")
    plain.get_by_role("button", name="Find ↵").click()
    plain.get_by_title("Next hit (n)").click()
    expect(plain.locator("#effect")).to_have_attribute("data-at", "3")
    expect(plain.locator(".step .n")).to_have_text(["1", "3", "5", "6"])


@pytest.mark.any_database
def test_a_key_that_leads_nowhere_says_so(nested) -> None:
    nested.keyboard.press("]")
    nested.wait_for_selector("#effect[data-at='6']")
    nested.keyboard.press("m")
    expect(nested.locator("#toast")).to_have_text("No later model call")


@pytest.mark.any_database
@pytest.mark.parametrize("width", [1024, 1300])
def test_long_names_leave_the_buttons_on_the_screen(page, load_log, width) -> None:
    name = "an agent with a name that is really rather long " * 4
    page.set_viewport_size({"width": width, "height": 900})
    load_log("refund-memory", agent=name[:190], agent_version="2026.11.30-rc.1+build.77812")
    page.goto("/p/acme/runs/refund-memory")
    box = page.get_by_role("link", name="Replay…").bounding_box()
    assert box["x"] + box["width"] <= width


@pytest.mark.any_database
def test_the_form_of_a_replay_fits_a_phone(page, load_log) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"/p/acme/runs/{load_log('refund-memory', agent='refund')}/replay")
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    wide = page.evaluate("""() => [...document.querySelectorAll("main *")]
        .filter((el) => el.getBoundingClientRect().right > innerWidth + 1 && el.offsetWidth)
        .map((el) => el.className || el.tagName)""")
    assert wide == []
