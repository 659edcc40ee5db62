"""A run comes in: what is answered, what is kept, what its row says."""

import json

import pytest
from factories import HEADER, batch, body, completion, failed, log, record, run, tool


def stored(api, run_id: str) -> dict:
    return api("GET", f"/api/v1/runs/{run_id}").json()


def log_of(api, run_id: str) -> dict:
    return json.loads(b"".join(api("GET", f"/api/v1/runs/{run_id}/log").streaming_content))


def effects_of(api, run_id: str, query: str = "limit=1000") -> list[dict]:
    return api("GET", f"/api/v1/runs/{run_id}/effects?{query}").json()["results"]


def test_a_new_run_is_created(api):
    answer = api("POST", "/api/v1/runs", run("r1", completion(1), tool(2), agent="triage"))
    assert answer.status_code == 201
    assert answer.json() == {
        "run_id": "r1",
        "url": "/p/acme/runs/r1",
        "created": True,
        "effects": {"stored": 2, "duplicate": 0, "rejected": []},
    }


def test_the_log_comes_back_as_the_same_document(api):
    sent = log(completion(1), tool(2), completion(3))
    api("POST", "/api/v1/runs", body({"run": {"id": "r1"}, "log": sent}))
    assert log_of(api, "r1") == sent


def test_unknown_members_of_a_log_are_kept(api):
    api("POST", "/api/v1/effect-logs?run_id=r1", body({**log(completion(1)), "later": [1.0]}))
    assert json.dumps(log_of(api, "r1")["later"]) == "[1.0]"
    assert stored(api, "r1")["warnings"][0]["code"] == "unknown_key"


def test_the_same_run_again_is_known(api):
    sent = run("r1", completion(1), tool(2))
    api("POST", "/api/v1/runs", sent)
    before = stored(api, "r1")
    answer = api("POST", "/api/v1/runs", sent)
    assert (answer.status_code, answer.json()["effects"]["duplicate"]) == (200, 2)
    assert stored(api, "r1") == before


def test_a_run_sent_again_with_more_effects_gets_the_new_ones(api):
    api("POST", "/api/v1/runs", run("r1", completion(1)))
    answer = api("POST", "/api/v1/runs", run("r1", completion(1), tool(2)))
    assert answer.status_code == 201
    assert answer.json()["effects"] == {"stored": 1, "duplicate": 1, "rejected": []}
    assert [record["id"] for record in log_of(api, "r1")["records"]] == [1, 2]


def test_a_run_can_begin_without_a_log(api):
    answer = api("POST", "/api/v1/runs", body({"run": {"id": "live", "agent": "a"}}))
    assert answer.status_code == 201
    assert stored(api, "live")["status"] == "running"
    assert log_of(api, "live")["records"] == []


def test_every_member_of_the_envelope_reaches_the_run(api):
    names = {
        "agent": "triage",
        "agent_version": "18",
        "environment": "production",
        "name": "nightly",
        "session_id": "s1",
        "user_id": "u1",
        "parent_run_id": "p1",
        "forked_from": "f1",
        "status": "failed",
        "metadata": {"a": [1, None]},
        "tags": ["x", "y"],
    }
    api("POST", "/api/v1/runs", run("r1", completion(1), **names))
    kept = stored(api, "r1")
    assert {name: kept[name] for name in names} == names


def test_input_output_and_error_of_the_envelope_are_shown(api):
    given = {"input": "Where is it?", "output": {"text": "Here."}, "error": {"message": "late"}}
    api("POST", "/api/v1/runs", run("r1", completion(1), **given))
    kept = stored(api, "r1")
    texts = (kept["title"], kept["output_text"], kept["error_text"])
    assert texts == ("Where is it?", "Here.", "late")


def test_without_an_envelope_title_and_output_come_from_the_log(api):
    first, last = completion(1, "Where is order 7?"), completion(3, "and 8?", "Both shipped.")
    api("POST", "/api/v1/effect-logs?run_id=r1", body(log(first, tool(2), last)))
    kept = stored(api, "r1")
    assert (kept["title"], kept["output_text"]) == ("Where is order 7?", "Both shipped.")


@pytest.mark.parametrize(
    ("records", "status"),
    [
        ([completion(1)], "succeeded"),
        ([completion(1, error="no")], "failed"),
        ([completion(1, error="gone", error_kind="cancelled")], "cancelled"),
        ([completion(1, error="no"), completion(2)], "succeeded"),
        ([completion(1), record(2, "k", {"effect": "memory"}, failed("no"))], "succeeded"),
        ([record(1, "k", {"effect": "memory"}, failed("no"))], "failed"),
        ([tool(1)], "succeeded"),
        ([], "unknown"),
    ],
)
def test_the_last_completion_decides_the_status_of_a_bare_log(api, records, status):
    api("POST", "/api/v1/effect-logs?run_id=r1", body(log(*records)))
    assert stored(api, "r1")["status"] == status


def test_a_failed_run_shows_the_error_that_ended_it(api):
    records = [completion(1), tool(2), completion(3, error="rate limit")]
    api("POST", "/api/v1/effect-logs?run_id=r1", body(log(*records)))
    kept = stored(api, "r1")
    assert (kept["error_text"], kept["error_seq"], kept["error_count"]) == ("rate limit", 3, 1)


def test_a_bare_log_is_named_by_what_it_says(api):
    sent = log(completion(1), tool(2))
    first = api("POST", "/api/v1/effect-logs", json.dumps(sent).encode())
    again = api("POST", "/api/v1/effect-logs", json.dumps(sent, indent=2, sort_keys=True).encode())
    assert first.json()["run_id"].startswith("log-")
    assert (again.status_code, again.json()["run_id"]) == (200, first.json()["run_id"])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("18446744073709551616", "18446744073709551617"),
        ("0.1", "0.10000000000000000001"),
        ("1e400", "2e400"),
        ("1.5", "1.50"),
        ("1", "1.0"),
        ("9" * 5000, "9" * 5001),
    ],
)
def test_a_bare_log_of_other_digits_is_another(api, one, other):
    sent = json.dumps(log(completion(1), tool(2, args={"wei": "HERE"})))
    answers = [
        api("POST", "/api/v1/effect-logs", sent.replace('"HERE"', digits).encode())
        for digits in (one, other, one)
    ]
    assert [answer.status_code for answer in answers] == [201, 201, 200]
    assert answers[0].json()["run_id"] == answers[2].json()["run_id"]


def test_a_bare_log_takes_its_facts_from_the_address(api):
    query = "run_id=r1&agent=desk&agent_version=2&environment=staging&session_id=s&user_id=u"
    api("POST", f"/api/v1/effect-logs?{query}", body(log(completion(1))))
    kept = stored(api, "r1")
    assert [kept[n] for n in ("agent", "agent_version", "environment")] == ["desk", "2", "staging"]
    assert [kept["session_id"], kept["user_id"]] == ["s", "u"]


def test_append_goes_behind_the_last(api):
    api("POST", "/api/v1/runs", run("r1", completion(1)))
    answer = api("POST", "/api/v1/runs/r1/effects", batch(tool(2), completion(3)))
    assert (answer.status_code, answer.json()["created"]) == (201, False)
    assert [(e["seq"], e["id"]) for e in effects_of(api, "r1")] == [(1, "1"), (2, "2"), (3, "3")]


def test_append_to_no_run_is_404(api):
    answer = api("POST", "/api/v1/runs/nobody/effects", batch(tool(2)))
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found")


def test_a_batch_may_be_an_empty_list(api):
    api("POST", "/api/v1/runs", run("r1", completion(1)))
    assert api("POST", "/api/v1/runs/r1/effects", batch()).status_code == 200


def test_finish_ends_a_live_run(api):
    api("POST", "/api/v1/runs", body({"run": {"id": "live"}}))
    api("POST", "/api/v1/runs/live/effects", batch(completion(1)))
    end = {"status": "cancelled", "ended_at": "2026-11-29T10:00:00Z", "output": "Stopped."}
    answer = api("POST", "/api/v1/runs/live/finish", body({"run": end}))
    kept = stored(api, "live")
    assert answer.status_code == 200
    assert (kept["status"], kept["output_text"]) == ("cancelled", "Stopped.")
    assert kept["ended_at"] == "2026-11-29T10:00:00Z"


def test_finish_may_be_empty_or_bare(api):
    api("POST", "/api/v1/runs", body({"run": {"id": "a"}, "log": log(completion(1))}))
    api("POST", "/api/v1/runs", body({"run": {"id": "b", "status": "running"}}))
    assert api("POST", "/api/v1/runs/a/finish", b"").status_code == 200
    assert api("POST", "/api/v1/runs/b/finish", body({"status": "failed"})).status_code == 200
    assert (stored(api, "a")["status"], stored(api, "b")["status"]) == ("succeeded", "failed")


def test_the_first_finish_stays(api):
    api("POST", "/api/v1/runs", body({"run": {"id": "live"}, "log": log(completion(1))}))
    end = "/api/v1/runs/live/finish"
    assert api("POST", end, body({"status": "succeeded"})).status_code == 200
    answer = api("POST", end, body({"run": {"status": "failed", "output": "No."}}))
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "conflict")
    assert answer.json()["error"]["field"] == "run.status"
    assert "finished as succeeded" in answer.json()["error"]["message"]
    assert (stored(api, "live")["status"], stored(api, "live")["output_text"]) == (
        "succeeded",
        "Hello",
    )
    for same in (body({"status": "succeeded"}), b""):
        assert api("POST", end, same).status_code == 200


def test_a_late_batch_does_not_open_a_finished_run_again(api):
    api("POST", "/api/v1/runs", body({"run": {"id": "live"}}))
    api("POST", "/api/v1/runs/live/finish", body({"status": "failed"}))
    late = api("POST", "/api/v1/runs", run("live", completion(1), status="succeeded"))
    [refused] = late.json()["effects"]["rejected"]
    assert (late.status_code, refused["code"], refused["field"]) == (201, "conflict", "run.status")
    api("POST", "/api/v1/runs", run("live", tool(2), status="running"))
    assert (stored(api, "live")["status"], stored(api, "live")["effects"]["total"]) == ("failed", 2)


def test_an_end_stated_with_the_log_stays(api):
    api("POST", "/api/v1/runs", run("r1", completion(1), status="failed"))
    for say in ("/api/v1/runs", "/api/v1/runs/r1/finish"):
        answer = api("POST", say, body({"run": {"id": "r1", "status": "succeeded"}}))
        assert (answer.status_code, answer.json()["error"]["field"]) == (409, "run.status")
    assert stored(api, "r1")["status"] == "failed"


def test_a_log_sent_again_changes_nothing_of_its_run(api):
    sent = body(log(completion(1)))
    api("POST", "/api/v1/effect-logs?agent=mine", sent)
    again = api("POST", "/api/v1/effect-logs?agent=theirs&environment=ci", sent)
    kept = stored(api, again.json()["run_id"])
    assert (kept["agent"], kept["environment"]) == ("mine", "ci")
    assert "changed" not in again.json()


def test_what_is_stated_otherwise_of_a_run_is_named(api):
    first = {"agent": "a", "metadata": {"order": 1}, "started_at": "2026-11-29T12:00:00Z"}
    api("POST", "/api/v1/runs", run("r1", completion(1), **first))
    other = first | {"agent": "b", "metadata": {"order": 2}, "session_id": "s", "input": "Hi"}
    answer = api("POST", "/api/v1/runs", run("r1", completion(1), **other))
    assert sorted(answer.json()["changed"]) == ["agent", "metadata"]
    assert (stored(api, "r1")["agent"], stored(api, "r1")["session_id"]) == ("b", "s")


def test_a_finish_that_said_no_status_leaves_room_for_one(api):
    api("POST", "/api/v1/runs", body({"run": {"id": "live"}}))
    api("POST", "/api/v1/runs/live/finish", b"")
    assert api("POST", "/api/v1/runs/live/finish", body({"status": "failed"})).status_code == 200
    assert stored(api, "live")["status"] == "failed"


def test_a_record_stated_far_off_does_not_shut_out_the_next_ones(api):
    api("POST", "/api/v1/runs", run("r1", completion(1)))
    api("POST", "/api/v1/runs/r1/effects", batch(tool(2), positions=[1_000_000]))
    assert api("POST", "/api/v1/runs/r1/effects", batch(tool(3))).status_code == 201
    again = api("POST", "/api/v1/runs/r1/effects", batch(tool(3), positions=[1_000_001]))
    assert (again.status_code, again.json()["effects"]["duplicate"]) == (200, 1)
    far = api("POST", "/api/v1/runs/r1/effects", batch(tool(4), positions=[1_000_001]))
    assert far.status_code == 422
    assert api("GET", "/api/v1/runs/r1/effects/1000001").json()["id"] == "3"


def test_finish_may_bring_the_final_header(api):
    api("POST", "/api/v1/runs", body({"run": {"id": "live"}}))
    header = {**HEADER, "hooks": ["Guard"]}
    api("POST", "/api/v1/runs/live/finish", body({"header": header}))
    api("POST", "/api/v1/runs", run("live", completion(1)))
    assert log_of(api, "live")["header"]["hooks"] == ["Guard"]


def test_finish_of_no_run_is_404(api):
    assert api("POST", "/api/v1/runs/nobody/finish", b"{}").status_code == 404


def test_late_effects_are_taken(api):
    api("POST", "/api/v1/runs", run("r1", completion(1)))
    api("POST", "/api/v1/runs/r1/finish", body({"status": "succeeded"}))
    assert api("POST", "/api/v1/runs/r1/effects", batch(tool(2))).status_code == 201
    assert stored(api, "r1")["effects"]["total"] == 2


def test_the_header_of_who_knew_most_stays(api):
    early = {"header": {**HEADER, "hooks": ["Early"]}, "records": [completion(1)]}
    late = {"header": {**HEADER, "hooks": ["Late"]}, "records": [completion(1), tool(2)]}
    for sent in (late, early):
        api("POST", "/api/v1/effect-logs?run_id=r1", body(sent))
    assert log_of(api, "r1")["header"]["hooks"] == ["Late"]


def test_times_give_the_span_of_the_run(api):
    times = {
        "1": {"started_at": "2026-11-29T10:00:00Z", "duration_ms": 500, "first_token_ms": 80},
        "2": {"started_at": "2026-11-29T10:00:01+00:00", "duration_ms": 250.5},
    }
    api("POST", "/api/v1/runs", run("r1", completion(1), tool(2), times=times))
    kept, first = stored(api, "r1"), effects_of(api, "r1")[0]
    assert (kept["started_at"], kept["duration_ms"]) == ("2026-11-29T10:00:00Z", 1250.5)
    assert (first["duration_ms"], first["first_token_ms"]) == (500, 80)


def test_late_times_are_taken(api):
    api("POST", "/api/v1/runs", run("r1", completion(1)))
    times = {"1": {"started_at": "2026-11-29T10:00:00Z", "duration_ms": 40}}
    answer = api("POST", "/api/v1/runs/r1/effects", batch(times=times))
    assert answer.status_code == 200
    assert effects_of(api, "r1")[0]["duration_ms"] == 40
    assert stored(api, "r1")["duration_ms"] == 40


START = "2026-11-29T10:00:00Z"
LATER = "2026-11-29T10:00:05Z"


@pytest.mark.parametrize(
    ("first", "second", "duration"),
    [
        ({"started_at": START}, {}, None),
        ({"started_at": START}, {"started_at": LATER}, None),
        ({"started_at": START, "duration_ms": 900}, {"started_at": LATER}, None),
        ({"started_at": START}, {"started_at": LATER, "duration_ms": 250}, 5250),
        ({"started_at": START, "duration_ms": 9000}, {"started_at": LATER}, 9000),
        ({"started_at": START, "duration_ms": 0}, {}, 0),
    ],
)
def test_an_end_that_nobody_told_is_unknown(api, first, second, duration):
    """Not the start of the last effect: that would be a run of 0 ms, or of what is too short."""
    api("POST", "/api/v1/runs", run("r1", completion(1), tool(2), times={"1": first, "2": second}))
    kept = stored(api, "r1")
    assert (kept["started_at"], kept["duration_ms"]) == (START, duration)
    assert (kept["ended_at"] is None) is (duration is None)
    found = api("GET", "/api/v1/runs?duration_max=100000").json()["results"]
    assert len(found) == (duration is not None)


def test_a_run_without_known_ends_ends_when_it_is_said_to(api):
    api("POST", "/api/v1/runs", run("r1", completion(1), times={"1": {"started_at": START}}))
    end = {"run": {"ended_at": LATER}}
    api("POST", "/api/v1/runs/r1/finish", body(end))
    assert stored(api, "r1")["duration_ms"] == 5000


def test_a_duration_that_comes_later_gives_the_end(api):
    api("POST", "/api/v1/runs", run("r1", completion(1), times={"1": {"started_at": START}}))
    known = {"1": {"started_at": START, "duration_ms": 40}}
    api("POST", "/api/v1/runs/r1/effects", batch(times=known))
    assert stored(api, "r1")["duration_ms"] == 40


def test_changed_times_move_the_span(api):
    sent = {"1": {"started_at": "2026-11-29T10:00:00Z", "duration_ms": 40_000}}
    api("POST", "/api/v1/runs", run("r1", completion(1), times=sent))
    sent["1"]["duration_ms"] = 1000
    api("POST", "/api/v1/runs/r1/effects", batch(times=sent))
    assert stored(api, "r1")["duration_ms"] == 1000


def test_wire_is_kept_beside_the_record(api):
    wire = {"1": {"method": "POST", "url": "https://api.example.com", "request": {"n": 1.0}}}
    api("POST", "/api/v1/runs", run("r1", completion(1), tool(2), wire=wire))
    first, second = (api("GET", f"/api/v1/runs/r1/effects/{n}").content for n in (1, 2))
    assert b'"request": {"n": 1.0}' in first
    assert json.loads(second)["wire"] is None


def test_late_wire_is_kept(api):
    api("POST", "/api/v1/runs", run("r1", completion(1)))
    wire = {"1": {"status": 200}}
    api("POST", "/api/v1/runs/r1/effects", batch(wire=wire))
    assert api("GET", "/api/v1/runs/r1/effects/1").json()["wire"] == {"status": 200}


def test_another_wire_for_the_same_effect_is_refused(api):
    api("POST", "/api/v1/runs", run("r1", completion(1), wire={"1": {"status": 200}}))
    answer = api("POST", "/api/v1/runs/r1/effects", batch(wire={"1": {"status": 20000}}))
    [refused] = answer.json()["effects"]["rejected"]
    assert (answer.status_code, refused["code"], refused["field"]) == (409, "conflict", "wire.1")


def test_times_of_an_effect_that_is_not_there_are_named(api):
    api("POST", "/api/v1/runs", run("r1", completion(1)))
    answer = api("POST", "/api/v1/runs/r1/effects", batch(tool(2), times={"9": {}}))
    [refused] = answer.json()["effects"]["rejected"]
    assert (refused["id"], refused["code"]) == ("9", "unknown_effect")


def test_the_export_gives_the_same_run_again(api, other_project_key):
    wire, times = {"1": {"status": 200}}, {"1": {"started_at": "2026-11-29T10:00:00Z"}}
    sent = run("r1", completion(1), tool(2), agent="a", tags=["t"], wire=wire, times=times)
    api("POST", "/api/v1/runs", sent)
    exported = b"".join(api("GET", "/api/v1/runs/r1/export").streaming_content)
    assert api("POST", "/api/v1/runs", exported, key=other_project_key).status_code == 201
    there = api("GET", "/api/v1/runs/r1/export", key=other_project_key)
    assert json.loads(b"".join(there.streaming_content)) == json.loads(exported)


def test_the_export_sent_again_is_known(api):
    times = {"1": {"started_at": "2026-11-29T10:00:00Z", "duration_ms": 5}}
    api("POST", "/api/v1/runs", run("r1", completion(1), times=times, metadata={"n": 1.0}))
    exported = b"".join(api("GET", "/api/v1/runs/r1/export").streaming_content)
    before = stored(api, "r1")
    assert api("POST", "/api/v1/runs", exported).status_code == 200
    assert stored(api, "r1") == before


def test_a_failed_call_takes_the_model_of_its_key(api):
    records = [completion(1, error="429"), completion(2, model="gpt-4o-mini")]
    api("POST", "/api/v1/runs", run("r1", *records))
    first, second = effects_of(api, "r1")
    assert (first["name"], first["inferred"]) == ("gpt-4o-mini", True)
    assert (second["name"], second["inferred"]) == ("gpt-4o-mini", False)


def test_a_failed_call_takes_the_model_that_comes_later(api):
    api("POST", "/api/v1/runs", run("r1", completion(1, error="429")))
    assert stored(api, "r1")["models"] == []
    api("POST", "/api/v1/runs/r1/effects", batch(completion(2, model="gpt-4o-mini")))
    assert effects_of(api, "r1")[0]["name"] == "gpt-4o-mini"
    assert stored(api, "r1")["models"] == ["gpt-4o-mini"]
