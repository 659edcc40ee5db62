"""A stored run, and a way to do a replay's job here and now."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import factories
import pytest
from asked import KEY
from django.test import Client
from everything import named_in
from sessions import browser_of

from replay.fake_provider import FakeProvider
from replay.providers import Provider, providers_from_env


@pytest.fixture
def read_log(shared: Path) -> Callable[[str], dict[str, Any]]:
    """read_log("refund-memory") -> one of the real logs, decoded."""

    def read(name: str) -> dict[str, Any]:
        folder = "rig-examples" if name[:2].isdigit() else "rig"
        return json.loads((shared / "data" / folder / f"{name}.effects.json").read_text())

    return read


@pytest.fixture
def store(project) -> Callable[..., Any]:
    """store(log, "run-1") -> the Run that ingest made of that log."""
    from runs import ingest
    from runs.models import Run

    def put(log: dict[str, Any], name: str = "run-1", of: Any = None) -> Run:
        owner = of or project
        ingest.accept_log(owner, json.dumps(log).encode(), run_id=name, agent="demo")
        return Run.objects.select_related("project").get(project=owner, external_id=name)

    return put


@pytest.fixture
def run(store, read_log) -> Any:
    """A run of two model calls, two tools and a memory."""
    return store(read_log("02-two-tools-memory"))


@pytest.fixture
def runs(store) -> list[Any]:
    """Three runs of two calls each, and one that asks no model."""
    from runs.models import Run

    for name in ("r1", "r2", "r3"):
        said = [factories.completion(1, f"Hi {name}", "Hello"), factories.completion(2, "Bye")]
        store(factories.log(*said), name)
    store(factories.log(factories.tool(1)), "no-model")
    return list(Run.objects.order_by("pk"))


@pytest.fixture
def rung(monkeypatch) -> list[str]:
    """The ids that workers were told of; nobody hears it."""
    from replay import jobs

    heard: list[str] = []
    monkeypatch.setattr(
        jobs.current_app, "send_task", lambda name, args, **options: heard.append(args[0])
    )
    return heard


@pytest.fixture
def replay() -> Callable[..., Any]:
    """replay("run-1", models=[…], …) -> the finished Replay, done in this process."""
    from replay import jobs
    from replay.models import Replay
    from replay.questions import read_question
    from replay.start import start
    from runs.models import Run

    def do(of: str = "run-1", **body: Any) -> Replay:
        question = read_question({"run": of, "models": ["openai:gpt-b"], **body})
        asked = start(Run.objects.get(external_id=of), question, jobs.Asker()).replays[0]
        jobs.run_job(asked.public_id)
        return Replay.objects.get(pk=asked.pk)

    return do


@pytest.fixture
def found(store, read_log, provider, replay):
    """Two replays of one run that differ alike: two clusters of two. Gives the first replay."""
    provider({"answer": {"text": "Take an umbrella."}})
    store(read_log("02-two-tools-memory"))
    first = replay()
    replay(models=["anthropic:claude-c"])
    return first


@pytest.fixture
def ada(make_member) -> Any:
    return make_member("owner", "ada@example.com")


@pytest.fixture
def everything(store, read_log, provider, replay, ada) -> dict[str, object]:
    """Something of everything there is, by what addresses name it."""
    provider({"answer": {"text": "Take an umbrella."}})
    run = store(read_log("02-two-tools-memory"))
    store(read_log("refund-memory"), "run-2")
    return named_in(run, ada, replay())


@pytest.fixture
def cluster(found) -> Any:
    from replay.models import Cluster

    return Cluster.objects.get(difference="facts")


@pytest.fixture
def reconstruct() -> Callable[..., Any]:
    """reconstruct(run) -> the finished Replay, done in this process."""
    from replay import jobs
    from replay.models import Replay

    def do(run: Any) -> Replay:
        replay, _ = jobs.create_job(run=run, mode="reconstruct", plan={})
        jobs.run_job(replay.public_id)
        return Replay.objects.get(pk=replay.pk)

    return do


@pytest.fixture
def person(make_member) -> Callable[..., Client]:
    """person("Ada", "member") -> a client in which that person is signed in."""

    def make(name: str = "Ada", role: str = "member") -> Client:
        user = make_member(role, f"{name.lower()}@example.com")
        user.name = name
        user.save(update_fields=["name"])
        return browser_of(user)

    return make


@pytest.fixture
def admin(make_member) -> Client:
    return browser_of(make_member("admin"))


@pytest.fixture
def provider(monkeypatch) -> Callable[..., Any]:
    """provider(*rules) -> a running fake provider that the environment names."""
    running: list[FakeProvider] = []

    def start(*rules: Any) -> FakeProvider:
        fake = FakeProvider(rules)
        running.append(fake.__enter__())
        monkeypatch.setenv("OPENAI_API_KEY", "sk-test-openai")
        monkeypatch.setenv("OPENAI_BASE_URL", fake.openai_base_url)
        monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-test-anthropic")
        monkeypatch.setenv("ANTHROPIC_BASE_URL", fake.base_url)
        return fake

    yield start
    for fake in running:
        fake.stop()


@pytest.fixture
def fake() -> Iterator[FakeProvider]:
    with FakeProvider() as server:
        yield server


@pytest.fixture
def providers(fake: FakeProvider) -> dict[str, Provider]:
    return providers_from_env(
        {
            "OPENAI_API_KEY": KEY,
            "OPENAI_BASE_URL": fake.openai_base_url,
            "ANTHROPIC_API_KEY": KEY,
            "ANTHROPIC_BASE_URL": fake.base_url,
        }
    )


@pytest.fixture
def call(api):
    def send(method, path, **body):
        data = json.dumps(body).encode() if body else None
        answer = api(method, f"/api/v1/{path}", data)
        return answer.status_code, answer.json() if answer.content else None

    return send
