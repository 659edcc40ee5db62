"""What stands beside an answer held against a baseline, and how a difference from it reads."""

from __future__ import annotations

import re
from html import unescape

import pytest

from replay.models import Baseline, Cluster, Divergence, ReplayEffect
from replay.review import deciding
from replay.review.people import Decider

ACCEPTED = "Take 3 umbrellas."
REVIEW = "/p/acme/review"


@pytest.fixture
def held(store, read_log, provider, replay):
    """A replay whose answer is held against one of another model that Ada accepted."""
    provider(
        {"when": {"model": "gpt-b"}, "answer": {"text": ACCEPTED}},
        {"answer": {"text": "Take 3 umbrellas and 4 coats."}},
    )
    store(read_log("02-two-tools-memory"))
    replay(effects=[2])
    ruling = deciding.checked("accepted", "good")
    deciding.decide(Divergence.objects.get(), ruling, Decider(None, "Ada"), seen=0)
    done = replay(models=["openai:gpt-c"], effects=[2])
    assert ReplayEffect.objects.get(replay=done).baseline == Baseline.objects.get()
    return done


def words(html: str) -> str:
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", html)).split())


def left(page: str) -> str:
    """The words of the header of the left pane."""
    [header] = re.findall(r'aria-labelledby="recorded-heading">\s*<header>(.*?)</header>', page)
    return words(header)


def got(client, address: str) -> str:
    answer = client.get(address)
    assert answer.status_code == 200
    return answer.content.decode()


def test_a_baseline_is_shown_with_its_own_model(held, member_client):
    of_baseline = "Baseline accepted by Ada openai:gpt-b · good the recorded call →"
    newest = Divergence.objects.latest("pk")
    of_replay = got(member_client, f"/p/acme/replays/{held.public_id}?at=2")
    review = got(member_client, f"{REVIEW}?cluster={newest.cluster_id}&at={newest.public_id}")
    for page in (of_replay, review):
        assert left(page) == of_baseline
        assert "Cost, recorded → replayed" in page


def test_a_changed_value_of_a_baseline_stands_under_its_name(held, member_client):
    page = got(member_client, f"/p/acme/replays/{held.public_id}?at=2&show=json")
    assert "<th>Where</th><th>Baseline</th><th>Replayed</th>" in page


def test_a_recorded_request_is_no_baseline_s(held, member_client):
    page = got(member_client, f"/p/acme/replays/{held.public_id}?at=2&show=request")
    assert left(page).startswith("Recorded ") and "accepted by" not in left(page)


def test_a_recorded_answer_keeps_its_model_time_and_cost(held, member_client):
    first = Divergence.objects.earliest("pk")
    name = ReplayEffect.objects.get(replay=held).effect.name
    review = f"{REVIEW}?cluster={first.cluster_id}&at={first.public_id}"
    for address in (f"/p/acme/replays/{first.replay.public_id}?at=2", review):
        page = got(member_client, address)
        assert left(page).startswith(f"Recorded {name} · ") and left(page).endswith("in its run →")
        assert "recorded → replayed" not in page


def test_a_new_difference_does_not_read_as_accepted(held, member_client):
    newest = Divergence.objects.latest("pk")
    assert (newest.state, newest.summary) == ("open", "differs from baseline: also names 4")
    page = got(member_client, f"{REVIEW}?cluster={newest.cluster_id}")
    [heading] = re.findall(r'<h2 id="cluster-heading"[^>]*>(.*?)</h2>', page)
    listed = re.findall(r'<a class="cluster".*?</a>', page)
    assert heading == newest.summary
    assert len(listed) == Cluster.objects.filter(open_count__gt=0).count() == 1
    for said in (heading, *listed):
        assert "Ada" not in said and "good" not in said and "accepted" not in said
