"""The client against a real server on the loopback."""

import gzip
import json
import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from rewyn_sdk import Client, EffectLog, EncodeError, PushError, PushResult

LOG = b'{"header": {"hooks": []},\n "records": [ {"id": 1,  "n": 1.50} ]}\n'


def done(server) -> PushResult:
    page = f"{server.url}/p/demo/runs/log-1"
    return PushResult("log-1", page, created=True, stored=1, duplicate=0)


@pytest.fixture
def client(server):
    return Client(server.url + "/", "rw_secret", timeout=5, retries=2)


def sent(server, number=0):
    path, headers, body, _ = server.asked[number]
    return path, headers, gzip.decompress(body)


def test_a_bare_log_goes_as_it_is(server, client):
    assert client.push(LOG) == done(server)
    path, headers, body = sent(server)
    assert (path, body) == ("/api/v1/effect-logs", LOG)
    assert headers["Authorization"] == "Bearer rw_secret"
    assert headers["Content-Encoding"] == "gzip"


def test_agent_and_run_travel_in_the_address(server, client):
    client.push(LOG, agent="support triage/é", run_id="r:1")
    assert sent(server)[0] == "/api/v1/effect-logs?agent=support+triage%2F%C3%A9&run_id=r%3A1"


def test_facts_of_the_run_travel_beside_the_log(server, client):
    client.push(LOG, agent="a", run_id="r1", environment="ci", agent_version=None, tags=["x"])
    path, _, body = sent(server)
    assert path == "/api/v1/runs"
    run = {"id": "r1", "agent": "a", "environment": "ci", "tags": ["x"]}
    assert json.loads(body) == {"run": run, "log": json.loads(LOG)}
    assert LOG.strip() in body


@pytest.mark.parametrize("facts", [{}, {"environment": "ci"}])
def test_a_decoded_log_keeps_the_bytes_of_its_records(server, client, facts):
    client.push(EffectLog.loads(LOG), **facts)
    assert b'{"id": 1,  "n": 1.50}' in sent(server)[2]


def test_a_file_and_a_text(server, client, tmp_path):
    server.answers *= 2
    file = tmp_path / "x.effects.json"
    file.write_bytes(LOG)
    client.push(file)
    client.push(LOG.decode())
    assert sent(server, 0)[2] == sent(server, 1)[2] == LOG


def test_lines_become_a_document_where_facts_go_with_them(server, client, shared):
    lines = (shared / "rig/newer/nova-tools-timed.effects.jsonl").read_bytes()
    client.push(lines, environment="ci")
    log = json.loads(sent(server)[2])["log"]
    assert len(log["records"]) == 5
    assert len(log["records"][4]["kind"]["request"]["chat_history"]) == 4


@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_what_may_pass_is_tried_again(server, client, status):
    server.answers.insert(0, (status, {"Retry-After": "0"}, {}))
    assert client.push(LOG) == done(server)
    assert len(server.asked) == 2


def test_the_wait_that_is_asked_for_is_kept(server, client):
    server.answers.insert(0, (429, {"Retry-After": "1.2"}, {}))
    client.push(LOG)
    first, second = (asked[3] for asked in server.asked)
    assert second - first >= 1.2


def test_a_wait_can_be_a_date(server, client):
    date = format_datetime(datetime.now(UTC) + timedelta(seconds=2), usegmt=True)
    server.answers.insert(0, (503, {"Retry-After": date}, {}))
    client.push(LOG)
    first, second = (asked[3] for asked in server.asked)
    assert 0.5 <= second - first <= 5


@pytest.mark.parametrize("header", ["soon", "nan", "-5"])
def test_a_wait_that_says_nothing_is_a_short_one(server, client, header):
    server.answers.insert(0, (503, {"Retry-After": header}, {}))
    start = time.monotonic()
    client.push(LOG)
    assert time.monotonic() - start < 5


def test_it_gives_up_after_its_retries(server, client):
    busy = (503, {"Retry-After": "0"}, {"error": {"code": "disk_full", "message": "no room"}})
    server.answers = [busy] * 3
    with pytest.raises(PushError, match="no room") as caught:
        client.push(LOG)
    assert (caught.value.status, len(server.asked)) == (503, 3)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 413, 422, 500])
def test_a_refusal_is_told_at_once_and_whole(server, client, status):
    error = {"code": "bad_id", "message": "the id is too long", "field": "run.id"}
    server.answers = [(status, {}, {"error": error})]
    with pytest.raises(PushError) as caught:
        client.push(LOG)
    found = caught.value
    assert (found.status, found.code, found.message, found.field) == (status, *error.values())
    assert len(server.asked) == 1


@pytest.mark.parametrize("body", [b"<html>", b"", b"[]", b'{"error": "no"}', b"\xff"])
def test_a_refusal_without_words_names_the_status(server, client, body):
    server.answers = [(418, {}, body)]
    with pytest.raises(PushError, match="HTTP 418"):
        client.push(LOG)


@pytest.mark.parametrize("body", [b"<html>", b"[]", b"{}", b'{"run_id": 1, "effects": []}'])
def test_an_answer_of_something_else_is_told(server, client, body):
    server.answers = [(200, {}, body)]
    with pytest.raises(PushError, match="not the answer of a Rewyn server"):
        client.push(LOG)


def test_the_key_does_not_follow_a_redirect(server, client):
    server.answers = [(302, {"Location": server.url + "/elsewhere"}, {})]
    with pytest.raises(PushError, match="HTTP 302"):
        client.push(LOG)
    assert len(server.asked) == 1


def test_nobody_there(server):
    server.server_close()
    with pytest.raises(PushError, match="no answer from http") as caught:
        Client(server.url, "k", timeout=1, retries=1).push(LOG)
    assert caught.value.status is None


@pytest.mark.parametrize(
    ("url", "key"), [("127.0.0.1:8010", "k"), ("file:///x", "k"), ("http://x", "k\n")]
)
def test_a_wrong_address_or_key_is_told_at_once(url, key):
    with pytest.raises(PushError):
        Client(url, key)


def test_facts_that_are_no_json(client):
    with pytest.raises(EncodeError, match="the facts of the run"):
        client.push(LOG, metadata={"x": object()})


def test_the_key_is_not_shown(client):
    assert "rw_secret" not in repr(client)
