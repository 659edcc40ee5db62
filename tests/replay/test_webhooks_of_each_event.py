"""Each event from what happens to its receiver: signed, tried again, and written in the log."""

from __future__ import annotations

import json
import re
from pathlib import Path

import factories
import pytest
from django.utils import timezone
from receiver import running

from replay import jobs
from replay.models import Bound, Delivery, Replay
from replay.notifications import bounds, sending
from replay.notifications.kinds import Kind
from runs import ingest

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("rung")]
DOCS = (Path(__file__).resolve().parents[2] / "docs" / "notifications.md").read_text()
[EXAMPLE] = re.findall(r"```python\n(.*?)```", DOCS, re.DOTALL)
USED = {"input_tokens": 1000, "output_tokens": 100, "total_tokens": 1100}


@pytest.fixture
def receiver():
    yield from running()


def work() -> None:
    while (queued := Replay.objects.filter(status="queued").order_by("pk").first()) is not None:
        jobs.run_job(queued.public_id)


def send_all() -> None:
    """As workers do until nothing is left, whatever has to rest before."""
    while Delivery.objects.filter(state="waiting").update(next_at=timezone.now()):
        sending.send_due()


def everything_happens(project, call) -> None:
    """A replay, a verdict, an experiment, a day that failed and cost too much."""
    said = factories.completion(1, usage=USED)
    ingest.accept_run(project, factories.run("r1", said, status="failed"))
    call("POST", "bounds", measure="error_rate", share=0, least_runs=1, window="day")
    call("POST", "bounds", measure="cost", dollars=0)
    call("POST", "replays", run="r1", models=["openai:a"])
    work()
    [one] = call("GET", "divergences")[1]["results"]
    call("POST", f"divergences/{one['id']}/verdict", verdict="regression")
    call("POST", "experiments", runs=["r1"], models=["openai:b"])
    work()
    Bound.objects.update(next_at=timezone.now())
    bounds.check_due()


def test_each_event_comes_signed_again_after_a_failure_and_is_in_the_log(
    project, provider, call, receiver, settings
):
    settings.REPLAY_PRIVATE_ADDRESSES = True
    settings.SEAL_KEYS = ["the first seal key of this test, long"]
    provider({"answer": {"text": "It costs $5."}})
    hook = call("POST", "webhooks", url=receiver.url)[1]
    everything_happens(project, call)
    waiting = Delivery.objects.count()
    receiver.answers = [(503, "later", {})] * waiting
    send_all()
    names: dict = {}
    exec(EXAMPLE, names)
    told = [names["verify"](hook["secret"], got.headers, got.body) for got in receiver.got]
    assert {one["type"] for one in told} == {kind.value for kind in Kind if kind != Kind.PING}
    assert len(receiver.got) == 2 * waiting
    assert len({got.headers["webhook-id"] for got in receiver.got}) == waiting
    found = [one["data"]["found"] for one in told if one["type"] == "regression.found"]
    assert sorted(set(found)) == ["again", "verdict"]
    log = call("GET", f"webhooks/{hook['id']}/deliveries?limit=50")[1]["results"]
    assert {(one["state"], one["status_code"]) for one in log} == {("delivered", 200)}
    assert (len(log), sum(one["attempts"] for one in log)) == (waiting, 2 * waiting)
    assert json.dumps(log).count(hook["secret"]) == 0
