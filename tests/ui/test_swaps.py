"""Where the focus is after a part of the page was replaced, and what Enter does."""

from __future__ import annotations

import time

import pytest
from playwright.sync_api import Page, Route, expect
from swapped import at_rest

from replay import jobs
from replay.models import Divergence, Experiment, Replay, ReviewEvent
from replay.questions import read_question
from replay.start import start
from runs.accounts.models import User
from runs.comments.models import Comment
from runs.models import Run

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

FOCUSED = """() => { const one = document.activeElement;
    return one.matches("body") ? "nothing"
        : one.id || one.name || one.closest("[data-cell]")?.tagName || one.textContent.trim(); }"""


def focused(page: Page) -> str:
    at_rest(page)
    return str(page.evaluate(FOCUSED))


@pytest.fixture
def review(open_page, make_member, refund) -> Page:
    """The review page of two clusters and more, seen by Ada."""
    for model in ("openai:gpt-b", "openai:gpt-c"):
        question = read_question({"run": "refund", "models": [model]})
        jobs.run_job(start(Run.objects.get(), question, jobs.Asker()).replays[0].public_id)
    page = open_page(make_member("member", "ada@example.com"))
    page.goto("/p/acme/review")
    assert page.locator(".cluster").count() > 1
    return page


def test_enter_in_the_reason_decides_nothing(review) -> None:
    review.get_by_label("Reason").fill("drops the lookup")
    for _ in range(3):
        review.keyboard.press("Enter")
    assert focused(review) == "verdicts"
    review.get_by_label("only #").focus()
    review.keyboard.press("Enter")
    review.wait_for_timeout(300)
    assert ReviewEvent.objects.count() == 0
    assert review.get_by_label("Reason").input_value() == "drops the lookup"
    review.get_by_label("Reason").press("Enter")
    review.keyboard.press("r")
    expect(review.locator(".note.ok")).to_contain_text("regression:")
    assert ReviewEvent.objects.get().reason == "drops the lookup"


def test_enter_in_the_reason_decides_nothing_without_scripts(
    open_page, make_member, review
) -> None:
    plain = open_page(User.objects.get(email="ada@example.com"), java_script_enabled=False)
    plain.goto("/p/acme/review")
    plain.get_by_label("Reason").fill("drops the lookup")
    plain.get_by_label("Reason").press("Enter")
    plain.wait_for_timeout(300)
    assert not Divergence.objects.exclude(state="open").exists()


def test_a_verdict_leads_to_the_next_cluster_and_the_rest_stays_where_it_was(review) -> None:
    review.get_by_role("button", name="Assign", exact=True).press("Enter")
    expect(review.locator(".cluster").first.locator(".d")).to_have_text("unassigned")
    assert focused(review) == "Assign"
    review.get_by_role("link", name="JSON").press("Enter")
    expect(review.get_by_role("link", name="JSON")).to_have_attribute("aria-current", "true")
    assert focused(review) == "JSON"
    review.get_by_role("button", name="Accept").press("Enter")
    expect(review.locator(".note.ok")).to_contain_text("accepted:")
    assert focused(review) == "cluster-heading"
    review.get_by_role("button", name="Undo: accepted").press("Enter")
    expect(review.locator(".note.ok")).to_contain_text("Taken back")
    assert focused(review) == "cluster-heading"


def test_a_link_pressed_while_an_answer_is_on_its_way_leads_on_from_it(review) -> None:
    held: list[Route] = []
    review.route("**/assignment", lambda route: held.append(route))
    with review.expect_request("**/assignment"):
        review.get_by_role("button", name="Assign", exact=True).click()
    review.get_by_role("link", name="JSON").click()
    held[0].continue_()
    expect(review.get_by_role("link", name="JSON")).to_have_attribute("aria-current", "true")
    review.wait_for_url("**show=json*")


def test_what_is_written_stays_while_another_comment_is_deleted(review) -> None:
    review.get_by_label("Comment on").fill("paid twice?")
    review.get_by_role("button", name="Comment", exact=True).press("Enter")
    expect(review.locator(".comment")).to_have_count(1)
    review.get_by_label("Reason").fill("drops the lookup")
    review.get_by_label("Comment on").fill("paid once, I")
    review.get_by_role("button", name="Assign", exact=True).press("Enter")
    at_rest(review)
    review.get_by_role("link", name="JSON").press("Enter")
    expect(review.get_by_role("link", name="JSON")).to_have_attribute("aria-current", "true")
    at_rest(review)
    address = review.url
    review.get_by_text("Delete", exact=True).press("Enter")
    review.get_by_role("button", name="Delete this comment").press("Enter")
    expect(review.locator(".comment")).to_have_count(0)
    at_rest(review)
    assert review.get_by_label("Comment on").input_value() == "paid once, I"
    assert review.get_by_label("Reason").input_value() == "drops the lookup"
    assert (focused(review), review.url) == ("comments", address)
    review.get_by_label("only #").check()
    review.get_by_role("button", name="Regression").click()
    expect(review.locator(".note.ok")).to_contain_text("regression: 1")
    assert review.get_by_label("Reason").input_value() == ""  # it was sent


def test_who_comments_stays_where_they_were(review) -> None:
    review.get_by_label("Comment on").fill("paid twice?")
    review.get_by_role("button", name="Comment", exact=True).press("Enter")
    expect(review.locator(".comment")).to_have_count(1)
    assert focused(review) == "Comment"
    review.goto("/p/acme/runs/refund?at=4")
    review.get_by_text("Write a comment").click()
    review.get_by_label("Comment on").fill("paid twice?")
    review.get_by_role("button", name="Comment", exact=True).press("Enter")
    expect(review.locator(".comment")).to_have_count(1)
    assert focused(review) == "Comment"
    review.get_by_text("Edit", exact=True).press("Enter")
    review.get_by_label("Change the comment").fill("paid once")
    review.get_by_role("button", name="Save").press("Enter")
    expect(review.locator(".comment .words")).to_have_text("paid once")
    assert focused(review) == f"c{Comment.objects.get(about='').pk}"
    review.get_by_text("Delete", exact=True).press("Enter")
    review.get_by_role("button", name="Delete this comment").press("Enter")
    expect(review.locator(".comment")).to_have_count(0)
    assert focused(review) == "comments"


def test_an_experiment_that_goes_on_takes_the_focus_from_nobody(
    open_page, make_member, refund
) -> None:
    question = read_question({"run": "refund", "models": ["openai:gpt-b", "openai:gpt-c"]})
    start(Run.objects.get(), question, jobs.Asker())
    page = open_page(make_member("member"))
    page.goto(f"/p/acme/experiments/{Experiment.objects.get().public_id}")
    stop = page.get_by_role("button", name="Stop")
    stop.focus()
    with page.expect_response("**/experiments/**"):
        pass
    assert focused(page) == "stop"
    page.locator("[data-cell] a").first.focus()
    jobs.run_job(Replay.objects.order_by("pk")[0].public_id)
    expect(page.locator("[data-cell] .tag").first).not_to_have_text("waits")
    assert focused(page) == "TD"
    stop.focus()
    jobs.run_job(Replay.objects.order_by("pk")[1].public_id)
    expect(stop).to_have_count(0)
    assert focused(page) == "doing"


def slowly(route) -> None:
    if route.request.method == "POST":
        time.sleep(0.3)
    route.continue_()


def test_what_is_pressed_twice_is_done_once(review) -> None:
    review.route("**/p/acme/**", slowly)
    sent: list[str] = []
    review.on("request", lambda one: sent.append(one.url) if one.method == "POST" else None)
    review.get_by_label("Comment on").fill("paid twice?")
    review.get_by_role("button", name="Comment", exact=True).dblclick()
    expect(review.locator(".comment")).to_have_count(1)
    review.goto("/p/acme/runs/refund?at=4")
    review.get_by_text("Write a comment").click()
    review.get_by_label("Comment on").fill("paid twice?")
    review.get_by_role("button", name="Comment", exact=True).dblclick()
    expect(review.locator(".comment")).to_have_count(1)
    review.get_by_text("Delete", exact=True).click()
    review.get_by_role("button", name="Delete this comment").dblclick()
    expect(review.locator(".comment")).to_have_count(0)
    review.wait_for_timeout(300)
    assert Comment.objects.count() == 1
    review.goto("/p/acme/review")
    review.get_by_text("Delete", exact=True).click()
    review.get_by_role("button", name="Delete this comment").dblclick()
    expect(review.locator(".comment")).to_have_count(0)
    at_rest(review)
    review.get_by_role("button", name="Accept").dblclick()
    expect(review.locator(".note.ok")).to_contain_text("accepted:")
    review.wait_for_timeout(300)
    expect(review.locator(".conflict")).to_have_count(0)
    assert ReviewEvent.objects.filter(kind="verdict").count() == 1
    assert len(sent) == 5
