"""Keys: those that lead nowhere say so, and a page with one thing to do is ready for Enter."""

import pytest
from factories import body, log, tool
from playwright.sync_api import expect

from runs import ingest
from runs.accounts import links

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.mark.parametrize(("key", "told"), [("e", "next error"), ("$", "cost most"), ("t", "tool")])
def test_a_key_that_leads_nowhere_says_so(page, project, key, told) -> None:
    ingest.accept_log(project, body(log(tool(1))), run_id="run")
    page.goto("/p/acme/runs/run")
    page.keyboard.press(key)
    expect(page.locator("#toast")).to_contain_text(told)


def test_a_key_that_no_list_has_is_silent(page, project) -> None:
    page.goto("/p/acme/search")
    page.keyboard.press("Escape")
    for key in ("j", "q"):
        page.keyboard.press(key)
    expect(page.locator("#toast")).to_have_count(0)


def test_a_sign_in_link_takes_one_key(open_page, make_member) -> None:
    page = open_page()
    page.goto(f"/sign-in/{links.make_sign_in(make_member('member'))}")
    expect(page.locator("button:focus")).to_have_count(1)  # with the first picture of the page
    page.keyboard.press("Enter")
    page.wait_for_url("**/p/acme/**")


def test_files_go_as_soon_as_they_are_chosen_so_no_button_says_import(page) -> None:
    page.goto("/p/acme/import")
    expect(page.get_by_role("button", name="Import")).to_have_count(0)
