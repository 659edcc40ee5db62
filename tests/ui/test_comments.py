"""Two people talk about an effect."""

import pytest
from playwright.sync_api import expect

from runs.accounts.models import User

pytestmark = pytest.mark.browser


@pytest.fixture
def two_people(open_page, make_member, load_log, transactional_db):
    """Pages of Ada and of Bob at the same run."""
    load_log("refund-memory", run_id="refund")
    pages = []
    for name in ("Ada", "Bob"):
        user = make_member("member", f"{name.lower()}@example.com")
        User.objects.filter(pk=user.pk).update(name=name)
        pages.append(open_page(user))
    return pages


def test_one_mentions_the_other_who_answers(two_people) -> None:
    ada, bob = two_people
    ada.goto("/p/acme/runs/refund?at=4")
    ada.get_by_text("Write a comment").click()
    expect(ada.get_by_label("Comment on #4")).to_be_focused()
    ada.get_by_role("button", name="@Bob").click()
    ada.keyboard.type("was this refund right?")
    ada.get_by_role("button", name="Comment", exact=True).click()
    expect(ada.locator(".comment .words")).to_have_text("@Bob was this refund right?")
    expect(ada.locator("#s4 .remarks")).to_have_text("✎1")
    assert ada.url.endswith("?at=4")

    bob.goto("/p/acme/runs")
    expect(bob.locator(".rail .unread b")).to_have_text("1")
    bob.get_by_role("link", name="Inbox").click()
    bob.get_by_role("link", name="#4 of").click()
    expect(bob.locator(".mention.me")).to_have_text("@Bob")
    expect(bob.locator(".rail .unread b")).to_have_count(0)
    bob.get_by_label("Comment on #4").fill("Yes, see #3.")
    bob.keyboard.press("Control+Enter")
    expect(bob.locator(".comment")).to_have_count(2)

    ada.keyboard.press("Escape")
    ada.keyboard.press("j")
    ada.wait_for_url("**at=5")
    expect(ada.locator(".comment")).to_have_count(0)
    ada.keyboard.press("k")
    expect(ada.locator(".comment")).to_have_count(2)
    ada.get_by_text("Delete", exact=True).click()
    ada.get_by_role("button", name="Delete this comment").click()
    expect(ada.locator(".comment")).to_have_count(1)
    expect(ada.locator(".comment .words")).to_have_text("Yes, see #3.")
