"""/healthz and /readyz, and what they say when a part is away."""

from __future__ import annotations

import pytest
from django.db import OperationalError, connection
from django.test import Client
from started import free_port

from rewyn_web import celery, health


def ready(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(celery, "broker_state", lambda: "ok")


@pytest.mark.django_db
def test_healthz_says_the_process_lives(client: Client) -> None:
    assert client.get("/healthz").json()["status"] == "ok"


@pytest.mark.django_db
def test_readyz_is_200_when_every_part_works(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    ready(monkeypatch)
    answer = client.get("/readyz")
    assert (answer.status_code, answer.json()["database"]) == (200, "ok")


@pytest.mark.django_db
def test_readyz_names_a_database_that_is_away(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    ready(monkeypatch)

    def away() -> None:
        raise OperationalError("connection refused")

    monkeypatch.setattr(connection, "cursor", away)
    answer = client.get("/readyz")
    assert answer.status_code == 503
    assert answer.json()["database"] == "unreachable: OperationalError"


@pytest.mark.django_db
def test_readyz_names_a_full_disk(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    ready(monkeypatch)
    monkeypatch.setattr(health, "MIN_FREE_BYTES", 1 << 60)
    answer = client.get("/readyz")
    assert answer.status_code == 503
    assert answer.json()["disk"].startswith("full: ")


@pytest.mark.django_db
def test_readyz_names_a_worker_that_is_not_there(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(celery, "broker_state", lambda: "the embedded worker is not running")
    answer = client.get("/readyz")
    assert (answer.status_code, answer.json()["worker"]) == (
        503,
        "the embedded worker is not running",
    )


def test_a_broker_that_is_away_is_named(settings) -> None:
    settings.EMBEDDED_WORKER = False
    settings.REDIS_URL = f"redis://127.0.0.1:{free_port()}/0"
    assert celery.broker_state() == "broker unreachable: ConnectionError"
