"""Jobs through real workers: the embedded one on `memory://`, and one that is killed."""

from __future__ import annotations

import threading
import time

import pytest
from celery.worker import WorkController
from django.db import connections

from replay import jobs, sweeper
from replay.models import Replay
from rewyn_web.celery import app


def until(done, seconds: float = 20):
    """What `done` gives as soon as it gives anything."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = done()
        if found:
            return found
        time.sleep(0.02)
    raise AssertionError("it did not happen in time")


def ended(replay: Replay) -> Replay | None:
    replay.refresh_from_db()
    return replay if replay.is_final else None


@pytest.fixture
def worker(transactional_db):
    """A worker thread in this process, started as the embedded one is."""
    controller = WorkController(
        app=app, pool_cls="threads", concurrency=2, hostname="embedded@test",
        without_gossip=True, without_mingle=True, without_heartbeat=True,
    )  # fmt: skip
    thread = threading.Thread(target=controller.start, daemon=True)
    thread.start()
    yield controller
    controller.stop()
    thread.join(10)
    sweeper.stop()
    connections.close_all()


@pytest.mark.django_db(transaction=True)
def test_the_embedded_worker_does_a_job(worker, store, read_log):
    replay, _ = jobs.create_job(run=store(read_log("refund-memory")), mode="reconstruct", plan={})
    assert until(lambda: ended(replay)).faithful is True


@pytest.mark.django_db(transaction=True)
def test_the_worker_s_sweeper_finds_a_job_nobody_rang_for(
    transactional_db, monkeypatch, store, read_log, request
):
    monkeypatch.setattr(jobs, "ring", lambda public_id: None)
    replay, _ = jobs.create_job(run=store(read_log("refund-memory")), mode="reconstruct", plan={})
    monkeypatch.undo()
    request.getfixturevalue("worker")
    assert until(lambda: ended(replay)).status == "succeeded"
