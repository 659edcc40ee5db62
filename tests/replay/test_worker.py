"""Jobs through real workers: the embedded one on `memory://`, and ones that are killed."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from datetime import timedelta
from pathlib import Path

import pytest
from django.conf import settings
from django.db import connection
from django.db.backends.signals import connection_created
from django.utils import timezone
from receiver import running
from started import free_port
from workers import embedded_worker, until

from replay import jobs, taking_turns
from replay.models import Delivery, Replay, ReplayEffect, Webhook
from replay.notifications import keeping, sending
from replay.notifications import sweeper as notifications
from replay.questions import read_question
from replay.start import start
from rewyn_web.celery import app
from runs.models import Run

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parents[2]
LEASE = 20.0
"""Seconds, more than a busy machine keeps a worker from giving a sign of life."""
CALLS = [1 + 5 * n for n in range(10)]


def ended(replay: Replay) -> Replay | None:
    replay.refresh_from_db()
    return replay if replay.is_final else None


@pytest.fixture
def worker(transactional_db):
    with embedded_worker(threads=2) as controller:
        yield controller


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


@pytest.mark.django_db(transaction=True)
def test_a_thread_keeps_its_connection_while_more_of_an_experiment_waits(
    worker, store, read_log, provider, monkeypatch
):
    """Celery would close it around each task."""
    monkeypatch.setattr(taking_turns, "TURN_SECONDS", 0.0)  # a task for each replay
    made: list[str] = []

    def note(**kwargs):
        made.append(threading.current_thread().name)

    connection_created.connect(note)
    provider({"answer": {"text": "ok"}})
    run = store(read_log("02-two-tools-memory"))
    models = [f"openai:m{number}" for number in range(12)]
    asked = start(run, read_question({"run": run.external_id, "models": models}), jobs.Asker())
    until(lambda: all(ended(replay) for replay in asked.replays))
    connection_created.disconnect(note)
    of_tasks = [name for name in made if name.startswith("ThreadPool")]
    assert 0 < len(of_tasks) <= 6


EMBEDDED = """
import django, time
django.setup()
from rewyn_web.celery import start_embedded_worker
start_embedded_worker()
time.sleep(120)
"""


def test_the_workers_of_other_processes_hear_of_an_experiment(
    process, transactional_db, store, read_log, provider, rung, settings
):
    settings.EMBEDDED_WORKER = True
    provider({"answer": {"text": "ok"}})
    run = store(read_log("02-two-tools-memory"))
    first, _ = jobs.create_job(run=run, mode="reconstruct", plan={})
    process(
        "-c", EMBEDDED, REDIS_URL="", REPLAY_SWEEP_SECONDS="300",
        DJANGO_SETTINGS_MODULE="rewyn_web.settings",
    )  # fmt: skip
    until(lambda: ended(first), 60)  # it rang for what it found at its start, and now rests
    models = [f"openai:m{number}" for number in range(settings.CELERY_WORKER_CONCURRENCY + 1)]
    question = read_question({"run": run.external_id, "models": models})
    for replay in start(run, question, jobs.Asker()).replays:
        assert until(lambda replay=replay: ended(replay), 20).status == "succeeded"


def database_url() -> str:
    """The test database, for a process of its own."""
    kept = connection.settings_dict
    if connection.vendor == "sqlite":
        return f"sqlite:///{kept['NAME']}"
    who = f"{kept['USER']}:{kept['PASSWORD']}@{kept['HOST'] or 'localhost'}:{kept['PORT'] or 5432}"
    return f"postgres://{who}/{kept['NAME']}"


@pytest.fixture
def process():
    """process("manage.py", "run_jobs") -> a Python process on the test database."""
    started: list[subprocess.Popen[bytes]] = []

    def begin(*command: str, **more: str) -> subprocess.Popen[bytes]:
        env = {**os.environ, "DATABASE_URL": database_url(), "REPLAY_LEASE_SECONDS": str(LEASE),
               "REPLAY_SWEEP_SECONDS": "0.2", "REPLAY_PARALLEL_CALLS": "2", **more}  # fmt: skip
        started.append(subprocess.Popen([sys.executable, *command], cwd=ROOT, env=env))
        return started[-1]

    yield begin
    for one in started:
        if one.poll() is None:
            one.kill()
        one.wait(10)


@pytest.fixture
def queued(transactional_db, store, read_log, provider, monkeypatch):
    """(fake provider, ten calls of a real run, queued)."""
    monkeypatch.setattr(jobs, "ring", lambda public_id: None)
    hang = {"delay_ms": 300_000, "answer": {"text": "never"}}
    fake = provider(
        {"when": {"call": 5}, **hang}, {"when": {"call": 6}, **hang}, {"answer": {"text": "ok"}}
    )
    run = store(read_log("night-shift-300"), "night")
    question = read_question({"run": "night", "models": ["openai:b"], "effects": CALLS})
    return fake, start(run, question, jobs.Asker()).replays[0]


def kill_in_the_middle(worker: subprocess.Popen[bytes], fake) -> None:
    """SIGKILL when four answers are stored and two calls are in flight."""
    until(lambda: len(fake.asked) == 6, 90)
    until(lambda: ReplayEffect.objects.filter(state="answered").count() == 4)
    os.kill(worker.pid, signal.SIGKILL)
    worker.wait(10)
    assert ReplayEffect.objects.filter(state="in_flight").count() == 2


def let_its_lease_run_out() -> None:
    """As if it had been dead for longer than its lease lasts."""
    last = timezone.now() - timedelta(seconds=LEASE + 1)
    assert Replay.objects.filter(status="running").update(heartbeat_at=last) == 1


def assert_nothing_was_asked_twice(fake) -> None:
    rows = ReplayEffect.objects.filter(state="answered")
    asked = Counter(str(one.body["messages"]) for one in fake.asked)
    assert Counter(rows.values_list("calls", "interruptions")) == {(1, 0): 8, (2, 1): 2}
    assert Counter(asked.values()) == {1: 8, 2: 2}


def test_a_killed_process_loses_no_answer_and_asks_none_again(queued, process, settings):
    fake, replay = queued
    kill_in_the_middle(process("manage.py", "run_jobs"), fake)
    let_its_lease_run_out()
    process("manage.py", "run_jobs").wait(60)
    assert ended(replay).status == "succeeded"
    assert_nothing_was_asked_twice(fake)


ENDS_IN_THE_MIDDLE = """
import concurrent.futures, time, django
django.setup()
from replay import jobs
from replay.models import Delivery, Replay, ReplayEffect, Webhook
from replay.notifications import keeping, sending
from replay.notifications import sweeper as notifications
pool = concurrent.futures.ThreadPoolExecutor()
pool.submit(jobs.run_job, Replay.objects.get().public_id)
rows = ReplayEffect.objects.all()
while (rows.filter(state="answered").count(), rows.filter(state="in_flight").count()) != (4, 2):
    time.sleep(0.05)
"""


def test_a_process_that_ends_waits_for_no_provider_and_gives_its_replay_back(queued, process):
    _, replay = queued
    env = {"DJANGO_SETTINGS_MODULE": "rewyn_web.settings"}
    assert process("-c", ENDS_IN_THE_MIDDLE, **env).wait(90) == 0
    replay.refresh_from_db()
    rows = ReplayEffect.objects.filter(state="interrupted", interruptions=1)
    assert (replay.status, rows.count()) == ("queued", 2)


WORKER = ("-m", "celery", "-A", "rewyn_web", "worker", "-P", "threads", "-c", "2", "-l", "error")


@pytest.mark.redis
def test_no_other_process_of_the_tests_takes_the_messages_of_this_one(worker_id):
    assert os.environ["REDIS_URL"] == settings.CELERY_BROKER_URL
    if worker_id != "master":
        number = int(worker_id.removeprefix("gw")) + 1
        assert app.connection_for_write().virtual_host == str(number)


@pytest.mark.redis
def test_a_killed_redis_worker_is_replaced_by_another(queued, process):
    fake, replay = queued
    kill_in_the_middle(process(*WORKER, "-n", "first@%h"), fake)
    let_its_lease_run_out()
    process(*WORKER, "-n", "second@%h")
    assert until(lambda: ended(replay), 90).status == "succeeded"
    assert_nothing_was_asked_twice(fake)


def is_open(port: int) -> bool:
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture
def redis(tmp_path):
    """redis() -> the process of a Redis of one's own, at `redis.url`."""
    port = free_port()
    started: list[subprocess.Popen[bytes]] = []

    def begin() -> subprocess.Popen[bytes]:
        command = ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", ""]
        started.append(subprocess.Popen([*command, "--dir", tmp_path], stdout=subprocess.DEVNULL))
        until(lambda: is_open(port))
        return started[-1]

    begin.url = f"redis://127.0.0.1:{port}/0"
    yield begin
    for one in started:
        one.kill()
        one.wait(10)


@pytest.mark.redis
def test_a_worker_outlives_redis_and_ends_what_it_holds(
    transactional_db, store, read_log, provider, monkeypatch, process, redis
):
    """It holds a message when Redis goes, and has no connection left to acknowledge that on."""
    monkeypatch.setattr(jobs, "ring", lambda public_id: None)
    fake = provider({"delay_ms": 500, "answer": {"text": "ok"}})
    store(read_log("night-shift-300"), "night")
    run = Run.objects.get(external_id="night")

    def queue(model: str) -> Replay:
        asked = {"run": "night", "models": [model], "effects": CALLS}
        return start(run, read_question(asked), jobs.Asker()).replays[0]

    broker, replay = redis(), queue("openai:a")
    worker = process(*WORKER, "-n", "alone@%h", REDIS_URL=redis.url)
    until(lambda: len(fake.asked) >= 3, 90)
    broker.kill()
    broker.wait(10)
    time.sleep(0.5)
    redis()
    assert until(lambda: ended(replay), 60).status == "succeeded"
    following = queue("openai:b")
    assert until(lambda: ended(following), 60).status == "succeeded"
    assert worker.poll() is None
    assert Counter(row.calls for row in ReplayEffect.objects.all()) == {1: 20}


@pytest.fixture
def receiver():
    yield from running()


@pytest.fixture
def hook(transactional_db, project, receiver, settings) -> Webhook:
    settings.REPLAY_PRIVATE_ADDRESSES = True
    given = keeping.read({"url": receiver.url, "events": ["replay.finished"]})
    return keeping.add(project, given, by=None, origin="")[0]


@pytest.mark.django_db(transaction=True)
def test_a_worker_tells_a_webhook(hook, receiver, store, read_log, monkeypatch, request):
    monkeypatch.setattr(notifications, "SECONDS", 0.05)
    request.getfixturevalue("worker")
    jobs.create_job(run=store(read_log("refund-memory")), mode="reconstruct", plan={})
    until(lambda: Delivery.objects.filter(state="delivered").exists())
    assert b'"status": "succeeded"' in receiver.got[0].body


@pytest.mark.django_db(transaction=True)
def test_a_worker_killed_while_it_sends_leaves_it_to_the_next(
    hook, receiver, store, read_log, process, monkeypatch
):
    monkeypatch.setattr(jobs, "ring", lambda public_id: None)
    jobs.cancel(
        jobs.create_job(run=store(read_log("refund-memory")), mode="reconstruct", plan={})[0]
    )
    receiver.silent = {"/hook?team=a"}
    send = (
        "import django; django.setup(); from replay.notifications import sending as s; s.send_due()"
    )
    private = {"REPLAY_PRIVATE_ADDRESSES": "1", "DJANGO_SETTINGS_MODULE": "rewyn_web.settings"}
    worker = process("-c", f"{send}; sending.send_due()", **private)
    until(lambda: receiver.got, 60)
    worker.kill()
    worker.wait(10)
    receiver.silent = set()
    assert (Delivery.objects.get().state, sending.send_due()) == ("sending", 0)
    Delivery.objects.update(next_at=timezone.now())  # its lease is over
    sending.send_due()
    assert (Delivery.objects.get().state, Delivery.objects.get().attempts) == ("delivered", 2)
