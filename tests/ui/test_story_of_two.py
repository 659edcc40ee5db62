"""The whole story of a team: two signed-in people, two models, an experiment, a review, a baseline.

Against the product started as `make run` starts it, from a log that is sent to the answer that both
agreed on, and back.
"""

from __future__ import annotations

import json
import re
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from started import Started, free_port, up

pytestmark = [pytest.mark.browser, pytest.mark.timeout(240)]

REASON = "shorter, and it is all there"


@pytest.fixture
def product(tmp_path: Path) -> Iterator[Started]:
    with up(tmp_path / "home", free_port()) as started:
        yield started


@dataclass(frozen=True)
class Two:
    ada: Page
    bob: Page


@pytest.fixture
def two(chromium, product: Started) -> Iterator[Two]:
    """Ada, who owns the project, and Bob, who came by her invitation."""
    wrong: list[str] = []
    contexts = []
    pages = []
    for _ in range(2):
        context = chromium.new_context(
            base_url=product.base, viewport={"width": 1440, "height": 900}
        )
        context.set_default_timeout(30_000)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda m: wrong.append(m.text) if m.type == "error" else None)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        pages.append(page)
    ada, bob = pages
    ada.goto(product.link)
    ada.get_by_role("button").first.click()
    ada.wait_for_url("**/p/demo/runs")
    join(bob, invitation(ada))
    yield Two(ada, bob)
    for context in contexts:
        context.close()
    assert wrong == []


def invitation(owner: Page) -> str:
    owner.goto("/p/demo/members")
    owner.locator("#id_role").select_option("member")
    owner.get_by_role("button", name="Make the link").click()
    return owner.locator("#invite-link").inner_text()


def join(page: Page, link: str) -> None:
    page.goto(link)
    page.get_by_label("E-mail").fill("bob@example.com")
    page.get_by_label("Name").fill("Bob")
    for name in ("password", "again"):
        page.locator(f"input[name={name}]").fill("correct horse battery staple")
    page.get_by_role("button", name="Make the account and join").click()
    page.wait_for_url("**/p/demo/runs")


def send(product: Started, shared: Path) -> None:
    """Two runs of one agent, as the agent would send them."""
    log = (shared / "data/rig/support-triage.effects.json").read_bytes()
    for name in ("monday", "tuesday"):
        request = urllib.request.Request(
            f"{product.base}/api/v1/effect-logs?agent=of-two&run_id={name}",
            log,
            {"Authorization": f"Bearer {product.key}", "Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=20) as answer:
            assert answer.status in (200, 201)


def test_two_people_from_sent_runs_to_an_agreed_answer(
    two: Two, product: Started, shared: Path
) -> None:
    ada, bob = two.ada, two.bob
    send(product, shared)
    experiment = replay_both_runs_with_two_models(ada)
    give_one_to_bob(ada)
    bob_finds_it_and_accepts_it(bob)
    ada_is_told_what_bob_decided(ada, bob)
    the_accepted_answer_is_the_same_from_now_on(ada, experiment)
    programs_see_what_both_see(product, experiment)
    bob_revokes_it_and_it_differs_again(bob, ada, experiment)


def replay_both_runs_with_two_models(page: Page) -> str:
    page.goto("/p/demo/runs?agent=of-two")
    page.locator("[data-pick-all]").check()
    page.get_by_role("button", name="Replay…").click()
    page.wait_for_url("**/experiments/new?*")
    page.locator("#model-0").fill("fake:steady")
    expect(page.locator("#plan")).to_contain_text("2 × 1")
    page.get_by_role("button", name="add a model").click()
    page.locator("#models input").last.fill("fake:terse")
    expect(page.locator("#plan")).to_contain_text("2 × 2")
    page.get_by_label("Percent of calls that are the same").fill("90")
    expect(page.locator("#go")).to_be_enabled()
    page.keyboard.press("Tab")
    page.locator("#go").click()
    page.wait_for_url("**/experiments/ex_*")
    expect(page.locator("#status")).to_have_text("succeeded", timeout=60_000)
    expect(page.locator("#gate")).to_have_text("gate not passed")
    expect(page.locator(".matrix td.cell")).to_have_count(4)
    page.locator("#m-candidate").select_option(label="fake:terse")
    page.locator("#m-sort").select_option("latency")
    page.get_by_role("button", name="Apply").click()
    page.wait_for_url(re.compile("candidate=2&sort=latency"))
    expect(page.locator(".matrix td.cell")).to_have_count(4)
    return page.url.partition("?")[0]


def give_one_to_bob(page: Page) -> None:
    """From the experiment to what waits of it: one cluster is Bob's, with a word about it."""
    page.get_by_role("link", name=re.compile("Review .* difference")).click()
    page.wait_for_url("**/review?experiment=*")
    page.locator("#f-of").select_option("facts")
    page.get_by_role("button", name="Apply").click()
    page.wait_for_url(re.compile("experiment=ex_.*of=facts|of=facts.*experiment=ex_"))
    expect(page.locator(".pair")).to_contain_text("Recorded")
    page.get_by_label("Assign to", exact=True).select_option("Bob")
    page.get_by_role("button", name="Assign", exact=True).click()
    expect(page.locator(".cluster[aria-current] .d")).to_have_text("Bob")
    page.get_by_label("Comment on").click()
    page.get_by_role("button", name="@Bob").click()
    page.keyboard.type("is this fine?")
    page.get_by_role("button", name="Comment", exact=True).click()
    expect(page.locator(".comment .words")).to_have_text("@Bob is this fine?")


def bob_finds_it_and_accepts_it(page: Page) -> None:
    page.goto("/p/demo/runs")
    expect(page.locator("#unread b")).to_have_text("2")
    page.get_by_role("link", name="Inbox").click()
    expect(page.locator(".inbox")).to_contain_text("is this fine?")
    page.get_by_role("link", name="Review", exact=False).first.click()
    page.get_by_role("link", name="My queue 1").click()
    page.wait_for_url("**assignee=me*")
    expect(page.locator(".cluster")).to_have_count(1)
    page.get_by_label("Reason").fill(REASON)
    page.keyboard.press("Escape")
    page.keyboard.press("a")
    expect(page.locator(".note.ok")).to_contain_text("accepted:")
    expect(page.get_by_role("link", name="My queue", exact=True)).to_have_count(1)


def ada_is_told_what_bob_decided(ada: Page, bob: Page) -> None:
    """Her page is of before: nothing of his is overwritten, and hers is kept beside it."""
    ada.keyboard.press("r")
    expect(ada.locator(".conflict h2")).to_contain_text(
        f"Already decided by Bob: accepted (“{REASON}”)"
    )
    ada.get_by_role("link", name="Leave it so").click()
    expect(ada.locator(".conflict")).to_have_count(0)
    ada.get_by_role("link", name="History", exact=True).click()
    expect(ada.locator(".history")).to_contain_text(REASON)
    expect(ada.locator(".history")).to_contain_text("assigned it to Bob")


def the_accepted_answer_is_the_same_from_now_on(page: Page, experiment: str) -> None:
    replay = asked_again(page, experiment)
    page.goto(replay)
    row = page.locator(".row-div", has_text="same as baseline").first
    expect(row).to_contain_text(f"accepted by Bob: {REASON}")
    row.click()
    expect(page.locator("#recorded-heading")).to_have_text("Baseline")
    expect(page.locator("#pair .tag.ok", has_text="accepted by Bob")).to_have_count(1)


def asked_again(page: Page, experiment: str) -> str:
    """The address of a new replay of the first cell, when it is over."""
    page.goto(experiment)
    page.locator(".matrix td.cell a").first.click()
    page.wait_for_url("**/replays/rp_*")
    before = page.url
    page.get_by_role("link", name="Replay again…").click()
    page.wait_for_url("**/replay?*")
    expect(page.locator("#go")).to_be_enabled()
    page.locator("#go").click()
    page.wait_for_url(lambda url: "/replays/rp_" in url and url != before)
    expect(page.locator("#live .big").first).to_have_text("succeeded")
    return page.url


def programs_see_what_both_see(product: Started, experiment: str) -> None:
    name = experiment.rpartition("/")[2]
    told = product.get(f"/api/v1/verdicts/export?experiment={name}")
    assert (told["passed"], told["counts"]["open"]) == (True, 0)
    assert {one["decided_by"] for one in told["verdicts"]} == {"Bob"}
    assert {one["reason"] for one in told["baselines"]} == {REASON}
    gate = product.get(f"/api/v1/experiments/{name}?no_errors=true&min_same=0")["gate"]
    assert gate["passed"], json.dumps(gate)


def bob_revokes_it_and_it_differs_again(bob: Page, ada: Page, experiment: str) -> None:
    bob.get_by_role("link", name="Baselines").click()
    for left in reversed(range(bob.get_by_text("Revoke…").count())):
        bob.get_by_text("Revoke…").first.click()
        bob.get_by_role("button", name="Revoke the baseline").first.click()
        expect(bob.get_by_text("Revoke…")).to_have_count(left)
        expect(bob.locator(".note.ok")).to_contain_text("Revoked")
    bob.get_by_role("link", name="with revoked").click()
    expect(bob.locator("tbody")).to_contain_text("revoked by Bob")
    ada.goto(asked_again(ada, experiment))
    expect(ada.locator(".row-div", has_text="same as baseline")).to_have_count(0)
    expect(ada.locator(".row-div", has_text="facts").first).to_be_visible()
