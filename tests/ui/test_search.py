"""From a question to the place in a run where the answer stands."""

import json

import pytest
from factories import body, completion, log, tool
from playwright.sync_api import expect

from runs import ingest
from runs.search import indexing

pytestmark = pytest.mark.browser
MARKED = "() => [...(CSS.highlights.get('search') ?? [])].map((range) => range.toString())"

IN_SIGHT = """() => [...CSS.highlights.get('search')].some((range) => {
    const box = range.getBoundingClientRect();
    return box.height > 0 && box.top >= 0 && box.bottom <= innerHeight; })"""


def test_a_hit_is_opened_where_it_stands_and_marked(page, load_log) -> None:
    load_log("refund-memory", agent="refund")
    indexing.index_pending()
    page.goto("/p/acme/runs")
    page.get_by_role("navigation", name="Main").get_by_role("link", name="Search").click()
    page.get_by_role("searchbox").fill("helm*")
    page.keyboard.press("Enter")
    expect(page.locator(".hits mark").first).to_have_text("helmet")
    page.locator(".hits a").last.click()
    page.wait_for_url("**/runs/*?at=*")
    marked = page.evaluate(MARKED)
    assert set(marked) == {"helmet"}


def test_keys_walk_the_hits_and_open_one(page, load_log) -> None:
    load_log("refund-memory", agent="refund")
    indexing.index_pending()
    page.goto("/p/acme/search?q=order")
    second = page.locator(".hits a").nth(1).get_attribute("href")
    for key in ("j", "j"):
        page.keyboard.press(key)
    expect(page.locator(".hits [aria-current]")).to_have_count(1)
    page.keyboard.press("Enter")
    page.wait_for_url(f"**{second}")


def test_the_last_word_of_a_long_text_is_seen_marked(page, project) -> None:
    rows = {"rows": [{"n": n} for n in range(300)], "last": {"deep": ["one\nZanzibar"]}}
    records = [tool(1, result="lorem ipsum " * 15_000 + "Zanzibar"), tool(2, args=json.dumps(rows))]
    ingest.accept_log(project, body(log(*records)), run_id="run")
    for address in ("?at=1", "?at=2", "?at=2&req=json"):
        page.goto(f"/p/acme/runs/run{address}&q=zanzibar")
        assert set(page.evaluate(MARKED)) == {"Zanzibar"}
        assert page.evaluate(IN_SIGHT)


def test_a_phrase_that_colours_cut_is_marked_as_one(page, project) -> None:
    said = "Run this:\n\n```python\nreturn refund(order, 12)  # twice\n```\n"
    ingest.accept_log(project, body(log(completion(1, "How?", said))), run_id="run")
    page.goto('/p/acme/runs/run?at=1&q="return refund order 12"')
    assert page.evaluate(MARKED) == ["return refund(order, 12"]
    page.get_by_role("link", name="as Markdown").last.click()
    expect(page.locator("#effect pre code span").first).to_be_visible()
    page.reload()
    assert page.evaluate(MARKED) == ["return refund(order, 12"]


def test_a_phrase_is_marked_across_prose_code_folds_and_rows_of_json(page, project) -> None:
    said = "Run **this**:\n\n```python\nreturn refund(order)\n```\n- Then wait\n- at once"
    long = "lorem ipsum\n" * 39 + "one two\n" + "three four\n" * 60
    args = json.dumps({"order": 8812, "why": [{"reason": "torn"}]})
    records = [completion(1, "How?", said), tool(2, args=args, result=long)]
    ingest.accept_log(project, body(log(*records)), run_id="run")
    marked_at = {
        '1&q="this python return refund"': "this**:\n\n```python\nreturn refund",
        '1&q="order then wait at"': "order)\n```\n- Then wait\n- at",
        '1&q="wait at once"&md=/outcome/Ok/choice/0/text': "wait\nat once",
        '2&q="8812 why reason torn"': '8812,\n  "why": [\n    {\n      "reason": "torn',
    }
    for asked, text in marked_at.items():
        page.goto(f"/p/acme/runs/run?at={asked}")
        assert page.evaluate(MARKED)[0] == text
        assert page.evaluate(IN_SIGHT)
    page.goto('/p/acme/runs/run?at=2&q="two three"')
    assert page.evaluate(MARKED) == ["two\n", "three"]
    expect(page.locator("details.more[open]")).to_have_count(1)
    page.goto('/p/acme/runs/run?at=2&req=json&tab=json&q="two three"')
    assert page.evaluate(MARKED) == ["two\\nthree"]
    page.goto('/p/acme/runs/run?at=2&req=json&q="tool call name"')
    assert page.evaluate(MARKED) == ['tool_call""name']
