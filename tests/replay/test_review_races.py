"""Many people at the same instant: one decides, the others see it, and all the counts are right."""

from __future__ import annotations

import json
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import factories
import pytest
from django.db import connection
from django.test import Client

from replay import jobs
from replay.models import Baseline, Cluster, Divergence, Replay, ReviewEvent
from runs import ingest

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("rung")]
VERDICTS = ("accepted", "regression", "ignored")


@pytest.fixture
def found(project, provider, call) -> list[dict]:
    """Six open divergences of one cluster: the answers of six runs that differ alike."""
    provider({"answer": {"text": "It costs $5."}})
    names = [f"r{n}" for n in range(6)]
    for name in names:
        ingest.accept_run(project, factories.run(name, factories.completion(1, name)))
    call("POST", "experiments", runs=names, models=["openai:a"])
    for replay in Replay.objects.order_by("pk"):
        jobs.run_job(replay.public_id)
    return call("GET", "divergences?limit=50")[1]["results"]


@pytest.fixture
def at_once(api_key):
    """at_once([(divergence, body), …]) -> the status of each, asked from as many threads."""

    def decide(asked: tuple[str, dict]) -> int:
        divergence, body = asked
        path, headers = (
            f"/api/v1/divergences/{divergence}/verdict",
            {"Authorization": f"Bearer {api_key}"},
        )
        try:
            answer = Client().generic("POST", path, json.dumps(body).encode(), headers=headers)
            return answer.status_code
        finally:
            connection.close()

    def do(asked: list[tuple[str, dict]]) -> list[int]:
        with ThreadPoolExecutor(len(asked)) as pool:
            return list(pool.map(decide, asked))

    return do


def counted() -> dict[str, int]:
    cluster = Cluster.objects.get()
    told = {state: getattr(cluster, f"{state}_count") for state in ("open", *VERDICTS)}
    really = Counter(Divergence.objects.values_list("state", flat=True))
    assert told == {state: really[state] for state in told}
    return told


def test_of_many_who_judge_a_cluster_one_does_and_nobody_is_overwritten(found, at_once):
    one = found[0]
    body = {"of": "cluster", "version": one["cluster"]["version"]}
    asked = [(one["id"], {**body, "verdict": VERDICTS[n % 3], "reason": str(n)}) for n in range(9)]
    assert sorted(at_once(asked)) == [200] + [409] * 8
    [event] = ReviewEvent.objects.all()
    assert (event.count, counted()[event.verdict]) == (6, 6)
    assert Baseline.objects.holding().count() == (6 if event.verdict == "accepted" else 0)


def test_of_two_on_each_divergence_one_does(found, at_once):
    asked = [
        (one["id"], {"verdict": verdict, "version": one["version"], "baseline": False})
        for one in found
        for verdict in ("accepted", "regression")
    ]
    assert sorted(at_once(asked)) == [200] * 6 + [409] * 6
    told = counted()
    assert (ReviewEvent.objects.count(), told["accepted"] + told["regression"]) == (6, 6)
