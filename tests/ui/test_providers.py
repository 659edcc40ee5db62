"""An admin gives the project a provider and tries it, in a real browser."""

from __future__ import annotations

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Page, expect

from replay.fake_provider import FakeProvider

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
SECRET = "sk-acme-0123456789"
FOUND = """async () => (await axe.run(document, {resultTypes: ["violations"]})).violations.map(
    (broken) => `${broken.id}: ${broken.nodes[0].html.slice(0, 160)}`)"""


@pytest.fixture
def page(transactional_db, open_page, make_member, project, settings) -> Page:
    settings.REPLAY_PRIVATE_ADDRESSES = True
    return open_page(make_member("admin"))


def test_a_provider_is_made_tried_and_removed(page: Page):
    with FakeProvider([{"answer": {"text": "OK."}}]) as fake:
        page.goto("/p/acme/settings")
        page.get_by_role("link", name="Providers").click()
        page.get_by_label("Kind").select_option("compatible")
        page.get_by_label("Name").fill("acme")
        page.get_by_label("Base URL").fill(fake.openai_base_url)
        page.get_by_label("Key", exact=True).fill(SECRET)
        page.get_by_label("Budget of a day").fill("2.50")
        page.get_by_role("button", name="Add the provider").click()
        page.get_by_label("Model").fill("small-1")
        page.get_by_role("button", name="Ask it something small").click()
        expect(page.get_by_text("small-1 answered")).to_be_visible()
        assert SECRET not in page.content()
        page.evaluate(AXE_SCRIPT)
        assert page.evaluate(FOUND) == []
        page.get_by_label("Remove…: acme").click()
        page.get_by_role("button", name="Remove the provider").click()
        expect(page.get_by_text("None yet.")).to_be_visible()
