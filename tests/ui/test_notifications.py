"""An admin makes a webhook and tries it, in a real browser."""

from __future__ import annotations

import json
import re

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import expect
from receiver import running

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
FOUND = """async () => (await axe.run(document, {resultTypes: ["violations"]})).violations.map(
    (broken) => `${broken.id}: ${broken.nodes[0].html.slice(0, 160)}`)"""


@pytest.fixture
def receiver():
    yield from running()


def test_a_webhook_is_made_tried_and_its_log_read(open_page, make_member, receiver, settings):
    settings.REPLAY_PRIVATE_ADDRESSES = True
    page = open_page(make_member("admin"))
    page.goto("/p/acme/settings")
    page.get_by_role("link", name="Notifications").click()
    page.get_by_label("URL").fill(receiver.url)
    page.get_by_label("cost.over_bound").uncheck()
    page.get_by_role("button", name="Add the webhook").click()
    secret = page.locator("#new-secret")
    expect(secret).to_have_text(re.compile(r"^whsec_[\w+/]+=*$"))
    page.reload()
    expect(secret).to_have_count(0)
    page.get_by_role("button", name="Send a ping").click()
    expect(page.get_by_text("The ping was taken: 200.")).to_be_visible()
    assert json.loads(receiver.got[0].body)["type"] == "ping"
    expect(page.get_by_role("row").nth(1)).to_contain_text("delivered")
    expect(page.get_by_label("cost.over_bound")).not_to_be_checked()
    page.evaluate(AXE_SCRIPT)
    assert page.evaluate(FOUND) == []
