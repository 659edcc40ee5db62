"""Two people review what a replay gave."""

import pytest
from playwright.sync_api import expect

from replay import jobs
from replay.models import Divergence, Experiment, Replay
from replay.questions import read_question
from replay.start import start
from runs.accounts.models import User
from runs.models import Run

pytestmark = pytest.mark.browser


@pytest.fixture
def differing(refund):
    """differing(model) -> replays a run with a model whose answers differ."""

    def do(model: str) -> None:
        question = read_question({"run": "refund", "models": [f"openai:{model}"]})
        jobs.run_job(start(Run.objects.get(), question, jobs.Asker()).replays[0].public_id)

    return do


@pytest.fixture
def two_people(open_page, make_member, differing):
    """Pages of Ada and of Bob at the review."""
    differing("gpt-b")
    pages = []
    for name in ("Ada", "Bob"):
        user = make_member("member", f"{name.lower()}@example.com")
        User.objects.filter(pk=user.pk).update(name=name)
        pages.append(open_page(user))
        pages[-1].goto("/p/acme/review")
    return pages


def test_the_count_in_the_rail_follows_on_a_page_that_stays_open(two_people, differing):
    ada, bob = two_people
    count = ada.locator(".cluster").count()
    bob.goto("/p/acme/runs")
    expect(bob.locator("#to-review b")).to_have_text(str(count))
    ada.keyboard.press("r")
    expect(ada.locator("#to-review b")).to_have_text(str(count - 1))
    bob.evaluate("htmx.trigger('#news', 'refresh')")
    expect(bob.locator("#to-review b")).to_have_text(str(count - 1))
    expect(bob.locator("#unread")).to_have_count(1)


def test_they_decide_by_keys_and_none_overwrites_the_other(two_people, differing) -> None:
    ada, bob = two_people
    clusters = ada.locator(".cluster")
    count = clusters.count()
    first = clusters.first.locator(".t").inner_text()
    expect(ada.locator("#to-review b")).to_have_text(str(count))

    ada.get_by_label("Comment on").click()
    ada.get_by_role("button", name="@Bob").click()
    ada.keyboard.type("paid twice?")
    ada.get_by_role("button", name="Comment", exact=True).click()
    expect(ada.locator(".comment .words")).to_have_text("@Bob paid twice?")
    ada.get_by_label("Reason").fill("a refund without a look at the order")
    ada.keyboard.press("Escape")
    ada.keyboard.press("r")
    expect(ada.locator(".note.ok")).to_have_text("regression: 1 divergence.")
    expect(clusters).to_have_count(count - 1)
    expect(ada.locator("#to-review b")).to_have_text(str(count - 1))

    bob.keyboard.press("a")
    expect(bob.locator(".conflict h2")).to_contain_text("Already decided by Ada: regression")
    bob.get_by_role("link", name="Leave it so").click()
    expect(bob.locator(".conflict")).to_have_count(0)
    expect(bob.locator(".comment .words")).to_have_text("@Bob paid twice?")
    bob.keyboard.press("n")
    expect(bob.locator(".cluster").first).to_have_attribute("aria-current", "true")
    bob.keyboard.press("a")
    expect(bob.locator(".note.ok")).to_contain_text("accepted:")

    bob.keyboard.press("u")
    expect(bob.locator(".note.ok")).to_contain_text("Taken back: accepted")
    ada.keyboard.press("u")
    expect(clusters).to_have_count(count)
    expect(clusters.first.locator(".t")).to_have_text(first)
    ada.keyboard.press("j")
    expect(clusters.nth(1)).to_have_attribute("aria-current", "true")
    expect(ada.locator("#cluster-heading")).to_contain_text("12 EUR")
    ada.wait_for_url("**cluster=*")
    ada.go_back()
    expect(clusters.first).to_have_attribute("aria-current", "true")
    ada.keyboard.press("?")
    expect(ada.get_by_text("undo your last verdict")).to_be_visible()


def test_what_one_gives_the_other_finds_in_the_inbox(two_people) -> None:
    ada, bob = two_people
    ada.reload()  # Bob came after she had opened it
    ada.get_by_label("Assign to", exact=True).select_option("Bob")
    ada.get_by_role("button", name="Assign", exact=True).click()
    expect(ada.locator(".cluster").first.locator(".d")).to_have_text("Bob")

    bob.goto("/p/acme/runs")
    expect(bob.locator("#unread b")).to_have_text("1")
    bob.get_by_role("link", name="Inbox").click()
    bob.get_by_role("button", name="Mark as read").click()
    expect(bob.locator("#unread b")).to_have_count(0)
    bob.locator(".inbox a").click()
    expect(bob.locator(".cluster[aria-current] .d")).to_have_text("you")


def test_the_buttons_say_how_many_they_decide_and_decide_no_more(
    open_page, make_member, differing, project
) -> None:
    for model in ("gpt-b", "gpt-c", "gpt-d"):
        differing(model)
    mine = Experiment.objects.create(project=project, name="Move off")
    Replay.objects.filter(model="gpt-d").update(experiment=mine)
    page = open_page(make_member("member"))
    page.goto(f"/p/acme/review?experiment={mine.public_id}")
    buttons = page.locator("#verdicts")
    expect(page.get_by_label("1 open of this experiment")).to_be_checked()
    expect(buttons.get_by_role("button", name="Accept 1 a", exact=True)).to_be_visible()
    page.get_by_label("all 3 open of the cluster").check()
    expect(buttons.get_by_role("button", name="Regression 3 r", exact=True)).to_be_visible()
    page.get_by_label("only #").check()
    expect(buttons.get_by_role("button", name="Ignore 1 i", exact=True)).to_be_visible()
    page.get_by_label("1 open of this experiment").check()
    page.keyboard.press("i")
    told = "ignored: 1 divergence of this experiment. 2 of the cluster still open."
    expect(page.locator(".note.ok")).to_have_text(told)
    assert Divergence.objects.filter(state="ignored").count() == 1
    # The next cluster begins with what is listed, whatever was chosen in this one.
    expect(page.get_by_label("2 open of this experiment")).to_be_checked()
