"""When a part of a page that was asked for has come, and the page is at rest again."""

from __future__ import annotations

from playwright.sync_api import Page

AT_REST = """() => !document.querySelector(
    ".htmx-request, .htmx-swapping, .htmx-settling, .htmx-added")"""


AT_ONCE = "performance.now = () => 0"
"""For a page on which everything is to follow each other quickly, however busy the machine is."""


def at_rest(page: Page) -> None:
    """Wait until no part of the page is on its way. What came is there a moment before htmx has
    settled it: till then its links are not boosted, and nothing of it has the focus again."""
    page.wait_for_function(AT_REST)
