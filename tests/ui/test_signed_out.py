"""A page that asks by itself rests when one signed out in another tab, and goes on afterwards."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from replay import jobs
from replay.models import Replay
from replay.questions import read_question
from replay.start import start
from runs.models import Run

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def person(make_member):
    return make_member("member")


def ask(*models: str) -> Replay:
    """A replay of the run, on which nobody works."""
    question = read_question({"run": "refund", "models": [*models]})
    return start(Run.objects.get(external_id="refund"), question, jobs.Asker()).replays[0]


def sign_out_elsewhere(tab: Page) -> None:
    other = tab.context.new_page()
    other.goto("/p/acme/runs")
    other.get_by_role("button", name="Sign out").click()
    other.wait_for_url("**/sign-in**")
    other.close()


class Asking:
    """What a page asks for, and what of it was refused to somebody who is not signed in."""

    def __init__(self, tab: Page) -> None:
        self.asked: list[str] = []
        self.refused: list[str] = []
        tab.on("request", lambda one: self.asked.append(one.url))
        tab.on("response", lambda one: one.status == 401 and self.refused.append(one.url))


def rests(tab: Page, asking: Asking) -> None:
    """Says so once, then asks nothing more; what was on its way by then is refused, too."""
    notice = tab.locator("#refused")
    words = "You are not signed in any more. Nothing new comes to this page."
    expect(notice).to_contain_text(words)
    before = len(asking.asked)
    tab.wait_for_timeout(3_500)
    assert asking.asked[before:] == []
    assert asking.refused and len(asking.refused) == len(set(asking.refused))


def come_back(tab: Page, cookie: dict[str, str]) -> None:
    tab.context.add_cookies([cookie])
    tab.evaluate("window.dispatchEvent(new Event('focus'))")
    expect(tab.locator("#refused")).to_have_count(0)


def test_a_replay_rests_and_goes_on(
    tab, refund, person, session_cookie: Callable, live_server
) -> None:
    replay = ask("openai:a")
    tab.goto(f"/p/acme/replays/{replay.public_id}")
    asking = Asking(tab)
    sign_out_elsewhere(tab)
    rests(tab, asking)
    come_back(tab, session_cookie(person, live_server.url))
    jobs.cancel(replay)
    expect(tab.locator("#live")).to_contain_text("cancelled")


def test_it_rests_on_when_the_notice_is_closed(tab, refund) -> None:
    tab.goto(f"/p/acme/replays/{ask('openai:a').public_id}")
    asking = Asking(tab)
    sign_out_elsewhere(tab)
    rests(tab, asking)
    before = len(asking.asked)
    tab.get_by_role("button", name="Close", exact=True).click()
    tab.wait_for_timeout(2_500)
    assert len(asking.asked) == before


def test_an_experiment_rests(tab, refund) -> None:
    experiment = ask("openai:a", "openai:b").experiment
    assert experiment
    tab.goto(f"/p/acme/experiments/{experiment.public_id}")
    asking = Asking(tab)
    sign_out_elsewhere(tab)
    rests(tab, asking)


def test_the_list_of_runs_and_the_counts_of_the_rail_rest(tab, refund) -> None:
    tab.goto("/p/acme/runs")
    asking = Asking(tab)
    sign_out_elsewhere(tab)
    tab.evaluate("htmx.trigger('#news', 'refresh')")  # what comes every ten seconds
    rests(tab, asking)
    before = len(asking.asked)
    tab.evaluate("htmx.trigger('#news', 'refresh')")
    tab.wait_for_timeout(500)
    assert len(asking.asked) == before
