"""What an answer took beside the recorded one, row by row and in all: absolute and in percent."""

from __future__ import annotations

import re

import factories
import pytest

from replay.models import Divergence
from runs import ingest

USED = {"input_tokens": 1000, "output_tokens": 100, "total_tokens": 1100}
COSTS_HALF = {"answer": {"text": "It costs $5.", "usage": {"input": 500, "output": 50}}}


@pytest.fixture
def took(project, provider, replay, member_client):
    """took(**question) -> what the page of a replay of one priced call says of its figures."""
    times = {"1": {"started_at": "2026-11-29T10:00:00Z", "duration_ms": 60_000}}
    said = factories.completion(1, usage=USED)
    ingest.accept_run(project, factories.run("run-1", said, times=times))
    provider(COSTS_HALF)

    def do(**question) -> tuple[str, str, object]:
        done = replay(models=["openai:gpt-4o"], **question)
        page = member_client.get(f"/p/acme/replays/{done.public_id}?at=1").text
        return (
            figures(page),
            plain(page.partition('class="verdict"')[2].partition("Changed on")[0]),
            done,
        )

    return do


def plain(markup: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", markup).split())


def figures(page: str) -> str:
    found = re.search(r'<dl class="facts figures".*?</dl>', page, re.S)
    return plain(found[0]) if found else ""


def test_a_row_and_the_whole_say_by_how_much_in_absolute_and_percent(took):
    row, whole, _ = took()
    assert "Cost $0.0035 → $0.0018 −$0.0018 (−50%)" in row
    assert "Tokens 1,100 → 550 −550 (−50%)" in row
    assert re.search(r"Latency 1 m 0 s → [\d.]+ m?s −.* \(−\d+%\)", row)
    assert "−$0.0018 (−50%)" in whole and "−550 (−50%)" in whole


def test_several_samples_are_held_against_as_many_recordings(took, member_client):
    row, whole, done = took(samples=4)
    sums = "of 4 samples, recorded × 4 → replayed"
    assert f"Cost {sums} $0.0140 → $0.0070 −$0.0070 (−50%)" in row and "Latency 1 m 0 s →" in row
    assert f"Tokens {sums} 4,400 → 2,200 −2,200 (−50%)" in row
    assert "−$0.0070 (−50%)" in whole
    page = member_client.get(f"/p/acme/replays/{done.public_id}?at=1&sample=2").text
    assert "Tokens 1,100 → 550 −550 (−50%)" in figures(page)
    listed = plain(page.partition('id="rows"')[2].partition("</nav>")[0])
    assert "−$0.0070" in listed


def test_what_is_unknown_on_one_side_has_no_change(project, provider, replay, member_client):
    ingest.accept_run(project, factories.run("run-1", factories.completion(1)))
    provider(COSTS_HALF)
    done = replay(models=["openai:gpt-4o"])
    told = figures(member_client.get(f"/p/acme/replays/{done.public_id}?at=1").text)
    assert "Cost — → $0.0018 Latency" in told and "Tokens — → 550" in told


def test_review_and_two_runs_say_it_too(took, project, member_client):
    took()
    page = member_client.get(f"/p/acme/review?cluster={Divergence.objects.get().cluster_id}").text
    assert "Tokens 1,100 → 550 −550 (−50%)" in figures(page)
    half = {"input_tokens": 500, "output_tokens": 50, "total_tokens": 550}
    ingest.accept_run(project, factories.run("run-2", factories.completion(1, usage=half)))
    page = member_client.get("/p/acme/compare?a=run-1&b=run-2").text
    shown = re.search(r'href="(\?[^"]*at=[^"]*)"', page)
    assert shown is not None
    page = member_client.get(f"/p/acme/compare{shown[1].replace('&amp;', '&')}").text
    assert "Tokens 1,100 → 550 −550 (−50%)" in figures(page)
