"""Many senders at once, and a database that cannot take it."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import OperationalError, connection
from django.test import Client
from factories import batch, body, completion, run, tool

from runs import bulk, curate
from runs.ingest import rows
from runs.models import Effect, Run, Segment

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def at_once(api_key):
    """at_once([(path, body), …]) -> the answers to requests sent from as many threads."""

    def send(request: tuple[str, bytes]):
        path, data = request
        headers = {"Authorization": f"Bearer {api_key}"}
        try:
            return Client().generic("POST", path, data, headers=headers)
        finally:
            connection.close()

    def call(requests: list[tuple[str, bytes]]) -> list:
        with ThreadPoolExecutor(len(requests)) as pool:
            return list(pool.map(send, requests))

    return call


def test_the_same_run_ten_times_at_once_is_one(at_once):
    answers = at_once([("/api/v1/runs", run("r1", completion(1), tool(2)))] * 10)
    assert sorted(a.status_code for a in answers) == [200] * 9 + [201]
    assert sum(a.json()["effects"]["stored"] for a in answers) == 2
    assert (Run.objects.count(), Effect.objects.count(), Segment.objects.count()) == (1, 2, 1)


def test_the_same_batch_ten_times_at_once_is_one(api, at_once):
    api("POST", "/api/v1/runs", body({"run": {"id": "r1"}}))
    sent = batch(completion(1), tool(2), positions=[1, 2])
    answers = at_once([("/api/v1/runs/r1/effects", sent)] * 10)
    assert sorted(a.status_code for a in answers) == [200] * 9 + [201]
    assert (Effect.objects.count(), Run.objects.get().effect_count) == (2, 2)


def test_ten_batches_of_one_run_at_once_are_all_there(api, at_once):
    api("POST", "/api/v1/runs", body({"run": {"id": "r1"}}))
    usage = {"input_tokens": 3, "output_tokens": 1}
    sent = [batch(completion(n, usage=usage), positions=[n]) for n in range(1, 11)]
    answers = at_once([("/api/v1/runs/r1/effects", data) for data in sent])
    kept = Run.objects.get()
    assert [a.status_code for a in answers] == [201] * 10
    assert (kept.effect_count, kept.input_tokens, kept.last_seq) == (10, 30, 10)


def test_batches_without_positions_at_once_take_turns(api, at_once):
    api("POST", "/api/v1/runs", body({"run": {"id": "r1"}}))
    sent = [batch(tool(n), tool(n + 1)) for n in range(1, 12, 2)]
    answers = at_once([("/api/v1/runs/r1/effects", data) for data in sent])
    assert [a.status_code for a in answers] == [201] * 6
    assert list(Effect.objects.order_by("seq").values_list("seq", flat=True)) == [*range(1, 13)]


def test_other_content_at_once_is_one_run_and_conflicts(at_once):
    sent = [run("r1", tool(1, result=str(n))) for n in range(8)]
    answers = at_once([("/api/v1/runs", data) for data in sent])
    assert sorted(a.status_code for a in answers) == [201] + [409] * 7
    assert Effect.objects.count() == 1


def out_of_space(*args, **kwargs):
    raise OperationalError("database or disk is full")


@pytest.mark.parametrize("path", ["/api/v1/runs", "/api/v1/runs/r1/effects"])
def test_what_meets_a_deletion_is_told_of_it(api, monkeypatch, path):
    """Deleted between the look at the run and its lock: a sender is to stop, not to begin anew."""
    api("POST", "/api/v1/runs", run("r1", completion(1)))
    pack = rows.pack

    def deleted_meanwhile(*args):
        curate.mark_deleted(Run.objects.filter(external_id="r1"))
        return pack(*args)

    monkeypatch.setattr(rows, "pack", deleted_meanwhile)
    sent = batch(tool(2)) if "effects" in path else run("r1", completion(1), tool(2))
    answer = api("POST", path, sent)
    assert (answer.status_code, answer.json()["error"]["code"]) == (410, "deleted")


@pytest.mark.parametrize("step", ["insert", "insert_returning"])
def test_a_full_disk_is_503_and_nothing_half_stored(api, monkeypatch, step):
    monkeypatch.setattr(bulk, step, out_of_space)
    answer = api("POST", "/api/v1/runs", run("r1", completion(1)))
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "5")
    assert answer.json()["error"]["code"] == "unavailable"
    assert not Run.objects.exists() and not Segment.objects.exists()


def test_after_a_full_disk_the_same_request_is_taken(api, monkeypatch):
    with monkeypatch.context() as full:
        full.setattr(bulk, "insert", out_of_space)
        api("POST", "/api/v1/runs", run("r1", completion(1)))
    assert api("POST", "/api/v1/runs", run("r1", completion(1))).status_code == 201
