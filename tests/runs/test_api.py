"""The read API: lists and pages, one effect whole, who may do what, one error shape."""

import json
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone
from drf_spectacular.validation import validate_schema
from factories import batch, body, completion, log, run, tool

from runs.accounts import keys
from runs.accounts.models import Scope
from runs.models import Effect, Run, RunLabel, Segment


@pytest.fixture
def key_of(project):
    return lambda scope, **more: keys.mint(project=project, name=scope, scope=scope, **more)[1]


def ids(answer) -> list[str]:
    return [found["id"] for found in answer.json()["results"]]


def send_runs(api, count: int, **fields) -> None:
    for n in range(count):
        at = f"2026-11-0{n + 1}T00:00:00Z"
        api("POST", "/api/v1/runs", run(f"r{n}", completion(1), started_at=at, **fields))


def test_an_answer_to_a_program_is_no_page_and_leaves_nothing_behind(api):
    answer = api("GET", "/api/v1/runs")
    assert answer["Content-Security-Policy"] == "default-src 'none'; frame-ancestors 'none'"
    assert (answer["X-Content-Type-Options"], answer["X-Frame-Options"]) == ("nosniff", "DENY")
    assert answer["Content-Length"] == str(len(answer.content))
    assert not answer.cookies


def test_a_program_that_asks_for_nothing_there_hears_so_in_json(api):
    answer = api("GET", "/api/v1/nothing")
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found")


# --- Lists ---------------------------------------------------------------------------------------


def test_runs_are_listed_newest_first(api):
    send_runs(api, 3)
    answer = api("GET", "/api/v1/runs")
    assert (ids(answer), answer.json()["next"]) == (["r2", "r1", "r0"], None)


def test_pages_of_runs_follow_one_another_both_ways(api):
    send_runs(api, 5)
    first = api("GET", "/api/v1/runs?limit=2").json()
    second = api("GET", f"/api/v1/runs?limit=2&cursor={first['next']}")
    back = api("GET", f"/api/v1/runs?limit=2&before={second.json()['previous']}")
    assert ids(second) == ["r2", "r1"]
    assert ids(back) == ["r4", "r3"]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("agent=desk", ["b"]),
        ("status=failed", ["a"]),
        ("tool=search", ["b"]),
        ("model=gpt-4o", ["b", "a"]),
        ("tag=vip", ["a"]),
        ("user=u1&environment=staging", ["b"]),
        ("kind=replay", []),
    ],
)
def test_runs_are_filtered(api, query, found):
    a = {"tags": ["vip"], "status": "failed", "started_at": "2026-11-01T00:00:00Z"}
    b = {"agent": "desk", "user_id": "u1", "environment": "staging"}
    api("POST", "/api/v1/runs", run("a", completion(1), **a))
    api("POST", "/api/v1/runs", run("b", completion(1), tool(2, "search"), **b))
    assert ids(api("GET", f"/api/v1/runs?{query}")) == found


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("status=odd", "status"),
        ("cost_min=x", "cost_min"),
        ("cursor=x", "cursor"),
        ("before=1", "before"),
        ("limit=0", "limit"),
        ("limit=9999", "limit"),
        ("limit=x", "limit"),
        ("limit=" + "9" * 5000, "limit"),
    ],
)
def test_a_filter_that_is_none_is_named(api, query, field):
    answer = api("GET", f"/api/v1/runs?{query}")
    assert (answer.status_code, answer.json()["error"]["field"]) == (422, field)


def test_effects_are_listed_behind_a_position(api):
    api("POST", "/api/v1/runs", run("r1", *(tool(n) for n in range(1, 8))))
    first = api("GET", "/api/v1/runs/r1/effects?limit=3").json()
    second = api("GET", f"/api/v1/runs/r1/effects?limit=4&after={first['next']}")
    assert [effect["seq"] for effect in first["results"]] == [1, 2, 3]
    assert (ids(second), second.json()["next"]) == (["4", "5", "6", "7"], None)


def test_effects_are_filtered_by_family(api):
    api("POST", "/api/v1/runs", run("r1", completion(1), tool(2), completion(3)))
    assert ids(api("GET", "/api/v1/runs/r1/effects?family=completion")) == ["1", "3"]
    assert ids(api("GET", "/api/v1/runs/r1/effects?family=tool,memory")) == ["2"]
    assert api("GET", "/api/v1/runs/r1/effects?family=odd").status_code == 422


# --- One of them ---------------------------------------------------------------------------------


def test_an_effect_is_read_whole_with_its_bytes(api):
    sent = '{ "id" : 7, "n": 1.0, "big": 1000000000000000000000000000000, "kind": {} }'
    api("POST", "/api/v1/effect-logs?run_id=r1", f'{{"records":[{sent}]}}'.encode())
    answer = api("GET", "/api/v1/runs/r1/effects/1")
    assert f'"record":{sent},'.encode() in answer.content
    assert answer.json()["id"] == "7"


@pytest.mark.parametrize(
    "path", ["nobody", "nobody/effects", "r1/effects/2", "r1/effects/0", "nobody/log", "a%2Fb"]
)
def test_what_is_not_there_is_404(api, path):
    api("POST", "/api/v1/runs", run("r1", tool(1)))
    assert api("GET", f"/api/v1/runs/{path}").status_code == 404


def test_a_log_in_another_format_is_named(api):
    api("POST", "/api/v1/runs", run("r1", tool(1)))
    assert api("GET", "/api/v1/runs/r1/log?format=xml").json()["error"]["field"] == "format"


def test_an_effect_has_the_same_facts_alone_and_in_the_list(api):
    times = {"1": {"started_at": "2026-11-08T06:51:44.924735Z", "duration_ms": 1.5}}
    api("POST", "/api/v1/runs", body({"run": {"id": "r1"}, "log": log(tool(1)), "times": times}))
    (listed,) = api("GET", "/api/v1/runs/r1/effects").json()["results"]
    alone = api("GET", "/api/v1/runs/r1/effects/1").json()
    assert listed["started_at"] == "2026-11-08T06:51:44.924735Z"
    assert {name: alone[name] for name in listed} == listed


def test_deleting_takes_everything_along(api):
    wire = {"1": {"status": 200}}
    api("POST", "/api/v1/runs", run("r1", tool(1), tags=["t"], wire=wire))
    assert api("DELETE", "/api/v1/runs/r1").status_code == 204
    left = [model.objects.count() for model in (Run, Effect, Segment, RunLabel)]
    assert left == [0, 0, 0, 0]
    assert api("GET", "/api/v1/runs/r1").status_code == 404


def test_me_says_whose_key_it_is(api, key_of):
    answer = api("GET", "/api/v1/me", key=key_of(Scope.READ))
    assert answer.json() == {"project": "acme", "name": "Acme", "scope": "read"}


@pytest.mark.parametrize("scope", Scope.values)
def test_any_key_may_ask_who_it_is(api, key_of, scope):
    answer = api("GET", "/api/v1/me", key=key_of(scope))
    assert (answer.status_code, answer.json()["scope"]) == (200, scope)


# --- Who may do what -----------------------------------------------------------------------------

ALLOWED = {
    ("POST", "/api/v1/runs"): {"ingest", "admin"},
    ("POST", "/api/v1/effect-logs"): {"ingest", "admin"},
    ("POST", "/api/v1/runs/r1/effects"): {"ingest", "admin"},
    ("POST", "/api/v1/runs/r1/finish"): {"ingest", "admin"},
    ("GET", "/api/v1/runs"): {"read", "replay", "admin"},
    ("GET", "/api/v1/runs/r1"): {"read", "replay", "admin"},
    ("GET", "/api/v1/runs/r1/effects"): {"read", "replay", "admin"},
    ("GET", "/api/v1/runs/r1/effects/1"): {"read", "replay", "admin"},
    ("GET", "/api/v1/runs/r1/log"): {"read", "replay", "admin"},
    ("GET", "/api/v1/runs/r1/export"): {"read", "replay", "admin"},
    ("DELETE", "/api/v1/runs/r1"): {"admin"},
}


@pytest.mark.parametrize(("method", "path"), ALLOWED)
def test_a_key_does_what_its_scope_allows_and_nothing_else(api, key_of, method, path):
    api("POST", "/api/v1/runs", run("r1", tool(1)))
    sent = {"POST": batch(tool(2))}.get(method)
    refused = {s for s in Scope.values if api(method, path, sent, key=key_of(s)).status_code == 403}
    assert refused == set(Scope.values) - ALLOWED[method, path]


@pytest.mark.parametrize(("method", "path"), ALLOWED)
def test_without_a_key_every_door_is_shut(db, method, path):
    answer = Client().generic(method, path)
    assert (answer.status_code, answer.json()["error"]["code"]) == (401, "unauthenticated")
    assert answer.headers["WWW-Authenticate"].startswith("Bearer")


@pytest.mark.parametrize("key", ["rw_nobody", "", "x" * 5000, "\u00e9"])
def test_a_key_that_is_none_is_401(api, key):
    assert api("GET", "/api/v1/runs", Authorization=f"Bearer {key}").status_code == 401


def test_an_expired_or_revoked_key_is_401(api, project):
    past = timezone.now() - timedelta(seconds=1)
    expired = keys.mint(project=project, name="a", scope=Scope.ADMIN, expires_at=past)[1]
    row, revoked = keys.mint(project=project, name="b", scope=Scope.ADMIN)
    keys.revoke(row)
    for key in (expired, revoked):
        assert api("GET", "/api/v1/runs", key=key).status_code == 401


def test_a_signed_in_person_reads_the_project_they_name(api, member_client):
    api("POST", "/api/v1/runs", run("r1", tool(1)))
    answer = member_client.get("/api/v1/runs", headers={"X-Project": "acme"})
    assert ids(answer) == ["r1"]
    assert member_client.get("/api/v1/runs", headers={"X-Project": "other"}).status_code == 401


def test_a_key_is_refused_by_the_scope_it_would_take(api, key_of):
    answer = api("POST", "/api/v1/runs", run("r1", tool(1)), key=key_of(Scope.REPLAY))
    said = "This takes a key with the scope ingest; this one has replay."
    assert (answer.status_code, answer.json()["error"]["message"]) == (403, said)


def test_a_person_is_refused_for_their_role(make_member, client):
    client.force_login(make_member("viewer"), backend="django.contrib.auth.backends.ModelBackend")
    me = client.get("/api/v1/me", headers={"X-Project": "acme"})
    answer = client.post("/api/v1/runs", headers={"X-Project": "acme"})
    assert me.json()["scope"] == "viewer"
    assert answer.status_code == 403
    assert answer.json()["error"]["message"] == "This takes the role member in the project."


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE"])
def test_a_method_that_is_none_is_405_in_the_one_shape(api, method):
    answer = api(method, "/api/v1/runs")
    assert answer.status_code == 405
    assert set(answer.json()["error"]) >= {"code", "message", "field"}


@pytest.mark.parametrize(
    ("method", "path", "sent"),
    [
        ("POST", "/api/v1/runs", b"{"),
        ("POST", "/api/v1/runs", b"{}"),
        ("POST", "/api/v1/runs/nobody/effects", b'{"records":[]}'),
        ("GET", "/api/v1/runs/nobody", None),
        ("GET", "/api/v1/runs?limit=x", None),
    ],
)
def test_every_error_has_one_shape(api, method, path, sent):
    error = api(method, path, sent).json()["error"]
    assert isinstance(error["code"], str) and isinstance(error["message"], str)
    assert "field" in error


# --- Bounded work --------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [5, 500])
def test_a_run_of_any_size_takes_the_same_queries(api, django_assert_max_num_queries, count):
    records = [completion(1), *(tool(n) for n in range(2, count))]
    api("GET", "/api/v1/me")  # the key is known by now
    with django_assert_max_num_queries(9):
        api("POST", "/api/v1/runs", run("r1", *records))


@pytest.mark.parametrize("count", [5, 500])
def test_a_batch_of_any_size_takes_the_same_queries(api, django_assert_max_num_queries, count):
    api("POST", "/api/v1/runs", run("r1", completion(1)))
    records = [completion(n) if n % 2 else tool(n) for n in range(2, count)]
    with django_assert_max_num_queries(14):
        api("POST", "/api/v1/runs/r1/effects", batch(*records))


@pytest.mark.parametrize("count", [5, 500])
def test_a_known_batch_takes_the_same_queries(api, django_assert_max_num_queries, count):
    sent = run("r1", *(tool(n) for n in range(count)), agent="a")
    api("POST", "/api/v1/runs", sent)
    with django_assert_max_num_queries(12):
        assert api("POST", "/api/v1/runs", sent).status_code == 200


def test_a_list_takes_the_same_queries(api, django_assert_max_num_queries):
    send_runs(api, 9)
    with django_assert_max_num_queries(3):
        api("GET", "/api/v1/runs")


def test_35_000_effects_in_batches_of_500(api, django_assert_max_num_queries):
    api("POST", "/api/v1/runs", body({"run": {"id": "big"}}))
    for start in range(0, 35_000, 500):
        records = [tool(n) for n in range(start + 1, start + 501)]
        with django_assert_max_num_queries(14):
            answer = api("POST", "/api/v1/runs/big/effects", batch(*records))
        assert answer.json()["effects"]["stored"] == 500
    kept = Run.objects.get()
    assert (kept.effect_count, kept.tool_count, kept.last_seq) == (35_000, 35_000, 35_000)
    whole = json.loads(b"".join(api("GET", "/api/v1/runs/big/log").streaming_content))
    assert [record["id"] for record in whole["records"]] == [*range(1, 35_001)]


# --- The document --------------------------------------------------------------------------------


def test_the_openapi_document_names_every_endpoint_and_its_errors(client):
    document = json.loads(client.get("/api/schema").content)
    operations = [op for path in document["paths"].values() for op in path.values()]
    named = {op["operationId"]: set(op["responses"]) for op in operations}
    assert {"accept_run", "append_effects", "finish_run", "accept_log"} <= named.keys()
    assert {"200", "201", "400", "401", "403", "409", "413", "415", "422", "503"} <= named[
        "accept_run"
    ]
    assert "404" in named["append_effects"] and "404" in named["read_effect"]


def test_the_openapi_document_is_valid(client):
    document = json.loads(client.get("/api/schema").content)
    assert document["openapi"] == "3.1.0"
    validate_schema(document)


def test_the_docs_page_asks_nobody_else(client):
    answer = client.get("/api/docs/")
    page = answer.content.decode()
    assert answer.status_code == 200
    assert "http://" not in page and "https://" not in page
    assert "js/docs.js" in page and "css/docs.css" in page  # dark where the reader's system is
    assert "script-src 'self'" in answer.headers["Content-Security-Policy"]
    assert "unsafe-eval" not in answer.headers["Content-Security-Policy"]


def test_the_bare_log_door_takes_an_envelope(api):
    sent = run("r9", tool(1), agent="desk")
    assert api("POST", "/api/v1/effect-logs", sent).json()["run_id"] == "r9"
    assert api("GET", "/api/v1/runs/r9").json()["agent"] == "desk"


def test_the_run_door_takes_a_bare_log(api):
    answer = api("POST", "/api/v1/runs", body(log(tool(1))))
    assert (answer.status_code, answer.json()["run_id"][:4]) == (201, "log-")
