"""From a question to the place in a run where the answer stands."""

import pytest
from playwright.sync_api import expect

from runs.search import indexing

pytestmark = pytest.mark.browser
MARKED = "() => [...(CSS.highlights.get('search') ?? [])].map((range) => range.toString())"


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
