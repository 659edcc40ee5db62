"""The same id with other content is refused for that item; with the same content it is known."""

import json

import pytest
from factories import batch, body, completion, log, run, tool

from runs import curate
from runs.ingest import rows
from runs.models import Run


def refused(answer) -> list[dict]:
    return answer.json()["effects"]["rejected"]


def test_other_content_under_a_known_id_is_a_conflict_with_both_hashes(api):
    api("POST", "/api/v1/runs", run("r1", completion(1), tool(2)))
    known = {e["id"]: e["content_hash"] for e in effects(api, "r1")}
    answer = api("POST", "/api/v1/runs/r1/effects", batch(tool(2, result="43")))
    [item] = refused(answer)
    assert answer.status_code == 409
    assert (item["index"], item["id"], item["code"]) == (0, "2", "conflict")
    assert item["stored_hash"] == known["2"] != item["sent_hash"]
    assert answer.json()["error"]["code"] == "conflict"


def test_a_conflict_does_not_stop_its_neighbours(api):
    api("POST", "/api/v1/runs", run("r1", completion(1), tool(2)))
    answer = api("POST", "/api/v1/runs/r1/effects", batch(tool(2, result="43"), tool(3)))
    assert answer.status_code == 201
    assert [item["id"] for item in refused(answer)] == ["2"]
    assert [e["id"] for e in effects(api, "r1")] == ["1", "2", "3"]


def test_a_conflict_beside_known_effects_is_no_409(api):
    api("POST", "/api/v1/runs", run("r1", completion(1), tool(2)))
    answer = api("POST", "/api/v1/runs", run("r1", completion(1), tool(2, result="43")))
    assert (answer.status_code, len(refused(answer))) == (200, 1)


def test_a_conflict_inside_one_body_keeps_the_first(api):
    answer = api("POST", "/api/v1/runs", run("r1", tool(2, result="a"), tool(2, result="b")))
    assert (answer.status_code, [item["index"] for item in refused(answer)]) == (201, [1])


def test_the_stored_record_is_not_touched_by_a_conflict(api):
    api("POST", "/api/v1/runs", run("r1", tool(2)))
    api("POST", "/api/v1/runs/r1/effects", batch(tool(2, result="43")))
    assert api("GET", "/api/v1/runs/r1/effects/1").json()["record"] == tool(2)


@pytest.mark.parametrize(
    "spelling",
    [
        lambda record: json.dumps(record, indent=3),
        lambda record: json.dumps(record, sort_keys=True),
        lambda record: json.dumps(record).replace("42", "\\u0034\\u0032"),
    ],
)
def test_another_spelling_of_the_same_content_is_known(api, spelling):
    api("POST", "/api/v1/runs", run("r1", tool(2)))
    sent = b'{"records":[%s]}' % spelling(tool(2)).encode()
    answer = api("POST", "/api/v1/runs/r1/effects", sent)
    assert (answer.status_code, answer.json()["effects"]["duplicate"]) == (200, 1)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("1", "1.0"),
        ("1", "true"),
        ("1", '"1"'),
        ("1000000000000000000000000000000", "1000000000000000000000000000001"),
        ("0.1", "0.10"),
        ("null", "0"),
    ],
)
def test_numbers_are_the_same_only_digit_by_digit(api, one, other):
    for value, status in ((one, 201), (one, 200), (other, 409)):
        sent = json.dumps(log(tool(2, extra="VALUE"))).replace('"VALUE"', value)
        answer = api("POST", "/api/v1/effect-logs?run_id=r1", sent.encode())
        assert answer.status_code == status


def test_another_project_has_runs_of_its_own(api, other_project_key):
    api("POST", "/api/v1/runs", run("r1", tool(1)))
    answer = api("POST", "/api/v1/runs", run("r1", tool(1, result="43")), key=other_project_key)
    assert (answer.status_code, answer.json()["url"]) == (201, "/p/other/runs/r1")


@pytest.mark.parametrize("path", ["", "/effects", "/effects/1", "/log", "/export"])
def test_another_projects_run_is_not_there(api, other_project_key, path):
    api("POST", "/api/v1/runs", run("r1", tool(1)))
    assert api("GET", f"/api/v1/runs/r1{path}", key=other_project_key).status_code == 404


def test_another_projects_run_cannot_be_written(api, other_project_key):
    api("POST", "/api/v1/runs", run("r1", tool(1)))
    sent = batch(tool(2))
    assert api("POST", "/api/v1/runs/r1/effects", sent, key=other_project_key).status_code == 404
    assert api("POST", "/api/v1/runs/r1/finish", b"", key=other_project_key).status_code == 404


def test_a_deleted_run_is_refused_for_a_while(api):
    api("POST", "/api/v1/runs", run("r1", tool(1)))
    assert api("DELETE", "/api/v1/runs/r1").status_code == 204
    late = [("", run("r1", tool(1))), ("/r1/effects", batch(tool(2))), ("/r1/finish", b"")]
    answers = [api("POST", f"/api/v1/runs{path}", data) for path, data in late]
    assert [(a.status_code, a.json()["error"]["code"]) for a in answers] == [(410, "deleted")] * 3


@pytest.mark.parametrize(("path", "sent"), [("effects", batch(tool(2))), ("finish", b"")])
def test_a_run_deleted_while_it_is_written_to_is_told_to_be_deleted(api, monkeypatch, path, sent):
    api("POST", "/api/v1/runs", run("r1", tool(1)))
    pack = rows.pack

    def deleted_meanwhile(made, intake):
        curate.delete_run(Run.objects.get(external_id="r1"))
        return pack(made, intake)

    monkeypatch.setattr(rows, "pack", deleted_meanwhile)
    answer = api("POST", f"/api/v1/runs/r1/{path}", sent)
    assert (answer.status_code, answer.json()["error"]["code"]) == (410, "deleted")


def test_ids_may_be_texts_and_64_bit_numbers(api):
    ids = [18446744073709551615, "call-7"]
    api("POST", "/api/v1/effect-logs?run_id=r1", body(log(*(tool(i) for i in ids))))
    assert [e["id"] for e in effects(api, "r1")] == ["18446744073709551615", "call-7"]


def effects(api, run_id: str) -> list[dict]:
    return api("GET", f"/api/v1/runs/{run_id}/effects").json()["results"]
