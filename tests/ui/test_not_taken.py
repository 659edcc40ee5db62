"""What the server does not take is said on the page it was sent from, and what was typed stays."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.contrib.sessions.models import Session
from playwright.sync_api import Page, expect

from runs.accounts.models import Membership, Role
from runs.comments.models import Comment

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

RUN = "/p/acme/runs/refund?at=4"


@pytest.fixture
def person(make_member, load_log):
    load_log("refund-memory", run_id="refund")
    return make_member("member")


@pytest.fixture
def sign_in_again(tab, session_cookie, live_server) -> Callable:
    """sign_in_again(user) -> they signed in in another tab: what this one sends is of before."""

    def do(user) -> None:
        tab.context.clear_cookies(name="csrftoken")
        tab.context.add_cookies([session_cookie(user, live_server.url)])
        other = tab.context.new_page()
        other.goto("/p/acme/runs")
        other.close()

    return do


def comment(tab: Page, text: str) -> None:
    box = tab.get_by_label("Comment on #4")
    if not box.is_visible():
        tab.get_by_text("Write a comment").click()
    box.fill(text)
    tab.get_by_role("button", name="Comment", exact=True).click()


def send_again(tab: Page) -> None:
    tab.get_by_role("button", name="Comment", exact=True).click()
    expect(tab.locator(".comment .words")).to_have_text("was this right?")
    expect(tab.locator("#refused")).to_have_count(0)


def test_who_signed_in_anew_elsewhere_sends_what_they_typed_again(tab, person, sign_in_again):
    tab.goto(RUN)
    sign_in_again(person)
    comment(tab, "was this right?")
    expect(tab.locator("#refused")).to_contain_text(
        "You signed in anew since this page was opened. Nothing was sent"
    )
    assert tab.get_by_label("Comment on #4").input_value() == "was this right?"
    send_again(tab)


def test_nothing_typed_by_one_is_sent_as_another(tab, person, sign_in_again, make_member):
    tab.goto(RUN)
    other = make_member("member", "bob@example.com")
    sign_in_again(other)
    comment(tab, "was this right?")
    expect(tab.locator("#refused")).to_contain_text("bob@example.com is signed in now")
    assert tab.get_by_label("Comment on #4").input_value() == "was this right?"
    tab.get_by_role("button", name="Comment", exact=True).click()
    expect(tab.locator("#refused")).to_contain_text("bob@example.com is signed in now")
    assert Comment.objects.count() == 0


def test_whose_session_ended_signs_in_in_a_new_tab_and_keeps_the_text(
    tab, person, sign_in_again
) -> None:
    tab.goto(RUN)
    Session.objects.all().delete()
    comment(tab, "was this right?")
    notice = tab.locator("#refused")
    expect(notice).to_contain_text("You are not signed in any more. What you typed is still here.")
    with tab.context.expect_page() as opened:
        notice.get_by_role("link", name="Sign in in a new tab").click()
    assert "/sign-in?next=%2Fp%2Facme%2Fruns%2Frefund%3Fat%3D4" in opened.value.url
    opened.value.close()
    sign_in_again(person)
    tab.evaluate("window.dispatchEvent(new Event('focus'))")
    expect(notice).to_contain_text("You are signed in again.")
    assert tab.get_by_label("Comment on #4").input_value() == "was this right?"
    send_again(tab)


def test_a_live_plan_of_somebody_signed_out_keeps_the_system_text(tab, person, sign_in_again):
    tab.goto("/p/acme/runs/refund/replay?model=openai:gpt-b")
    Session.objects.all().delete()
    tab.locator("#system").fill("Be brief.")
    expect(tab.locator("#refused")).to_contain_text("You are not signed in any more.")
    assert tab.locator("#system").input_value() == "Be brief."
    sign_in_again(person)
    tab.evaluate("window.dispatchEvent(new Event('focus'))")
    expect(tab.locator("#refused")).to_contain_text("You are signed in again.")
    tab.locator("#system").press_sequentially(" Very.")
    tab.wait_for_url("**system=Be*Very*")


def test_a_role_that_was_taken_away_is_said(tab, person) -> None:
    tab.goto(RUN)
    Membership.objects.update(role=Role.VIEWER)
    comment(tab, "was this right?")
    expect(tab.locator("#refused")).to_contain_text(
        "Not allowed: This needs the role member; yours is viewer. What you typed is still here."
    )
    tab.get_by_role("button", name="Close", exact=True).click()
    expect(tab.locator("#refused")).to_have_count(0)
    assert tab.get_by_label("Comment on #4").input_value() == "was this right?"


def test_a_server_that_is_away_is_said_and_forgotten_when_it_is_back(tab, person) -> None:
    tab.goto(RUN)
    tab.context.set_offline(True)
    comment(tab, "was this right?")
    expect(tab.locator("#refused")).to_contain_text("The server cannot be reached.")
    tab.context.set_offline(False)
    send_again(tab)
