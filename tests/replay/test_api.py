"""`/api/v1/replays` over HTTP."""

from __future__ import annotations

import json

import pytest

from replay import jobs
from replay.models import Experiment, Replay, ReplayEffect
from runs.accounts import keys
from runs.accounts.models import Project, Scope

pytestmark = pytest.mark.usefixtures("rung")


@pytest.fixture
def post(api):
    def send(path="", **body):
        answer = api("POST", f"/api/v1/replays{path}", json.dumps(body).encode())
        return answer.status_code, answer.json()

    return send


@pytest.fixture
def get(api):
    def ask(path=""):
        answer = api("GET", f"/api/v1/replays{path}")
        return answer.status_code, answer.json()

    return ask


def test_a_reconstruction_is_queued_with_its_plan(run, post):
    status, replay = post(run="run-1", mode="reconstruct")
    assert (status, replay["status"], replay["mode"]) == (201, "queued", "reconstruct")
    assert replay["id"].startswith("rp_")
    assert replay["url"] == f"/p/acme/replays/{replay['id']}"
    assert replay["plan"]["calls"]["total"] == 0
    assert [c["runs"] for c in replay["plan"]["components"]] == ["recorded"] * 4


def test_a_finished_reconstruction_shows_its_proof(run, post, get):
    _, replay = post(run="run-1")
    jobs.run_job(replay["id"])
    status, done = get(f"/{replay['id']}")
    assert (status, done["status"], done["identical"], done["faithful"]) == (
        200, "succeeded", True, True,
    )  # fmt: skip
    assert (done["cost"], done["changed"], done["mismatches"]) == (0.0, 0, [])
    assert done["proof"]["unproven"] == [6]


def test_the_rows_of_a_reconstruction(run, post, get):
    _, replay = post(run="run-1")
    jobs.run_job(replay["id"])
    _, rows = get(f"/{replay['id']}/effects")
    assert [r["class"] for r in rows["results"]] == ["same"] * 6
    assert [r["proven"] for r in rows["results"]] == ["proven"] * 5 + ["unproven"]


def test_rows_come_in_pages(run, post, get):
    _, replay = post(run="run-1")
    jobs.run_job(replay["id"])
    _, first = get(f"/{replay['id']}/effects?limit=4")
    _, second = get(f"/{replay['id']}/effects?limit=4&after={first['next']}")
    assert [r["seq"] for r in first["results"] + second["results"]] == [1, 2, 3, 4, 5, 6]
    assert second["next"] is None


def test_only_changed_rows(run, post, get):
    _, replay = post(run="run-1")
    jobs.run_job(replay["id"])
    _, rows = get(f"/{replay['id']}/effects?changed=true")
    assert rows["results"] == []


@pytest.mark.parametrize("name", ["changed", "ignored"])
@pytest.mark.parametrize(
    ("value", "status"), [("True", 200), ("no", 200), ("junk", 422), ("", 422)]
)
def test_a_switch_that_is_neither_on_nor_off_is_refused(run, post, api, name, value, status):
    _, replay = post(run="run-1")
    for path in (f"replays/{replay['id']}/effects?", "compare?a=run-1&b=run-1&"):
        answer = api("GET", f"/api/v1/{path}{name}={value}")
        assert answer.status_code == status
        assert status == 200 or answer.json()["error"]["field"] == name


def test_a_replay_starts_with_no_more_calls_than_were_seen(run, post, provider):
    provider()
    asked = {"run": "run-1", "models": ["openai:gpt-b"]}
    status, refused = post(**asked, max_calls=1)
    assert (status, refused["error"]["code"], refused["error"]["field"]) == (
        409, "plan_changed", "max_calls",
    )  # fmt: skip
    assert not Replay.objects.exists()
    assert post(**asked, max_calls=2)[0] == 201


def test_a_plan_stores_and_rings_nothing(run, post, rung):
    status, planned = post(run="run-1", plan_only=True)
    assert (status, planned["status"], planned["id"]) == (200, "planned", None)
    assert planned["plan"]["total"] == 6
    assert (Replay.objects.count(), rung) == (0, [])


def test_asking_twice_gives_the_same_replay(run, post):
    assert post(run="run-1")[1]["id"] == post(run="run-1")[1]["id"]
    assert post(run="run-1")[0] == 200


def test_several_models_make_an_experiment(run, post, get, provider):
    provider()
    status, made = post(run="run-1", models=["openai:a", "anthropic:b"], temperature=0)
    assert (status, made["experiment"][:3]) == (201, "ex_")
    assert [one["model"] for one in made["replays"]] == ["openai:a", "anthropic:b"]
    listed = get(f"?experiment={made['experiment']}")[1]["results"]
    assert [one["experiment"] for one in listed] == [made["experiment"]] * 2


def test_several_models_are_planned_without_an_experiment(run, post, provider):
    provider()
    status, made = post(run="run-1", models=["openai:a", "openai:b"], plan_only=True)
    assert (status, made["experiment"], Replay.objects.count()) == (200, None, 0)
    assert [one["plan"]["calls"]["total"] for one in made["replays"]] == [2, 2]


def test_a_prompt_replay_by_api(run, post, get, provider):
    provider({"answer": {"text": "ok", "usage": {"input": 11, "output": 7}}})
    _, replay = post(run="run-1", mode="prompt", models=["openai:stub-b"])
    jobs.run_job(replay["id"])
    _, done = get(f"/{replay['id']}")
    assert (done["status"], done["identical"], done["changed"]) == ("succeeded", False, 2)
    assert (done["usage"]["input_tokens"], done["usage"]["complete"]) == (22, True)
    assert (done["cost"], done["cost_delta"]) == (None, None)
    assert [m["kind"] for m in done["mismatches"]] == ["content_changed"] * 2
    rows = get(f"/{replay['id']}/effects")[1]["results"]
    assert [(r["seq"], r["class"], r["state"]) for r in rows] == [
        (2, "tool_calls", "answered"), (5, "facts", "answered")
    ]  # fmt: skip
    assert rows[1]["replayed"]["usage"]["output_tokens"] == 7


def test_a_running_replay_tells_what_has_come(run, post, get, provider):
    provider()
    _, replay = post(run="run-1", models=["openai:b"])
    jobs.run_job(replay["id"])
    Replay.objects.update(status="running", finished_at=None, changed=0, done=0)
    _, shown = get(f"/{replay['id']}")
    assert shown["progress"] == {"done": 2, "total": 2}
    assert shown["states"]["answered"] == 2


def test_the_list_has_the_newest_first(run, post, get):
    ids = []
    for _ in range(3):
        ids.append(post(run="run-1")[1]["id"])
        jobs.run_job(ids[-1])
    _, page = get("?limit=2")
    _, rest = get(f"?limit=2&cursor={page['next']}")
    assert [r["id"] for r in page["results"] + rest["results"]] == ids[::-1]
    assert rest["next"] is None


def test_the_list_is_filtered(run, store, read_log, post, get):
    post(run="run-1")
    store(read_log("02-two-tools-memory"), "run-2")
    assert len(get("?run=run-1&status=queued&mode=reconstruct")[1]["results"]) == 1
    assert get("?run=run-2")[1]["results"] == []


def test_cancel_and_retry(run, post, rung, django_capture_on_commit_callbacks):
    _, replay = post(run="run-1")
    assert post(f"/{replay['id']}/cancel")[1]["status"] == "cancelled"
    with django_capture_on_commit_callbacks(execute=True):
        status, again = post(f"/{replay['id']}/retry")
    assert (status, again["status"], rung) == (200, "queued", [replay["id"]])


def test_cancelling_twice_is_no_error(run, post):
    _, replay = post(run="run-1")
    assert [post(f"/{replay['id']}/cancel")[0] for _ in range(2)] == [200, 200]


def test_what_runs_is_not_retried(run, post):
    _, replay = post(run="run-1")
    status, answer = post(f"/{replay['id']}/retry")
    assert (status, answer["error"]["code"]) == (409, "conflict")


@pytest.mark.parametrize(
    ("body", "status", "code", "field"),
    [
        ({"run": "run-2"}, 404, "not_found", "run"),
        ({"run": "run-1", "mode": "execute"}, 422, "mode_not_available", "mode"),
        ({"run": "run-1", "colour": 1}, 422, "unknown_field", "colour"),
        ({"run": "run-1", "temperature": 9}, 422, "invalid", "temperature"),
    ],
)
def test_what_is_wrong_is_named(run, post, body, status, code, field):
    answered, answer = post(**body)
    assert (answered, answer["error"]["code"], answer["error"]["field"]) == (status, code, field)


def test_everything_that_is_wrong_is_named_at_once(run, post):
    body = {"run": "run-1", "models": ["gpt"], "temperature": 9, "samples": 0, "effects": [],
            "dangling": "keep", "colour": 1}  # fmt: skip
    status, answer = post(**body)
    named = [(one["code"], one["field"]) for one in answer["error"]["errors"]]
    assert named == [
        ("unknown_field", "colour"), ("invalid", "models"), ("invalid", "temperature"),
        ("invalid", "effects"), ("invalid", "dangling"), ("invalid", "samples"),
    ]  # fmt: skip
    assert (status, answer["error"]["field"]) == (422, "colour")
    assert answer["error"]["errors"][2]["message"] == "`temperature` is a number from 0 to 2."


def test_what_no_plan_can_carry_out_is_named_at_once(run, post):
    message = {"effect": 2, "index": 99, "text": "Hail?"}
    _, answer = post(run="run-1", models=["martian:a"], effects=[3], message=message)
    named = [(one["code"], one["field"]) for one in answer["error"]["errors"]]
    assert named == [
        ("not_a_model_call", "effects"), ("message_not_found", "message"),
        ("unknown_provider", "models"),
    ]  # fmt: skip


def test_what_only_the_plan_tells_comes_once_the_request_is_right(run, post):
    message = {"effect": 2, "index": 99, "text": "Hail?"}
    body = {"run": "run-1", "models": ["martian:a"], "message": message}
    _, answer = post(**body, temperature=9)
    assert [one["field"] for one in answer["error"]["errors"]] == ["temperature"]
    _, answer = post(**body)
    assert [one["field"] for one in answer["error"]["errors"]] == ["message", "models"]


@pytest.mark.parametrize("body", [b"", b"{", b"\xff", b"[" * 10_000, b'{"run": NaN}'])
def test_a_body_that_is_no_json_is_refused(run, api, body):
    answer = api("POST", "/api/v1/replays", body)
    assert answer.status_code in (400, 422)
    assert answer.json()["error"]["code"] in ("malformed", "invalid", "invalid_utf8")


@pytest.mark.parametrize(
    "path", ["?limit=0", "?limit=x", "?limit=999", "?cursor=-1", "?status=odd", "?run=%00"]
)
def test_a_query_that_cannot_be_is_refused(run, get, path):
    assert get(path)[0] == 422


PATHS = [("GET", ""), ("GET", "/effects"), ("POST", "/cancel"), ("POST", "/retry")]


@pytest.mark.parametrize(("method", "path"), PATHS)
def test_another_project_s_key_finds_nothing(run, post, api, method, path):
    _, replay = post(run="run-1")
    other = Project.objects.create(slug="other", name="Other")
    stranger = keys.mint(project=other, name="k", scope=Scope.ADMIN)[1]
    answer = api(method, f"/api/v1/replays/{replay['id']}{path}", key=stranger)
    assert answer.status_code == 404
    assert answer.json()["error"]["code"] == "not_found"


def test_a_list_of_what_is_not_here_is_not_empty_but_not_found(run, post, get, project):
    _, _replay = post(run="run-1")
    other = Experiment.objects.create(project=Project.objects.create(slug="other", name="Other"))
    mine = Experiment.objects.create(project=project)
    assert get(f"?experiment={mine.public_id}") == (200, {"results": [], "next": None})
    for query, field in ((f"experiment={other.public_id}", "experiment"), ("run=nobody", "run")):
        status, told = get(f"?{query}")
        assert (status, told["error"]["field"]) == (404, field)


@pytest.mark.parametrize(
    ("scope", "reads", "starts"),
    [(Scope.INGEST, 403, 403), (Scope.READ, 200, 403), (Scope.REPLAY, 200, 201)],
)
def test_what_a_key_may_do(run, api, project, scope, reads, starts):
    token = keys.mint(project=project, name="k", scope=scope)[1]
    assert api("GET", "/api/v1/replays", key=token).status_code == reads
    body = json.dumps({"run": "run-1"}).encode()
    assert api("POST", "/api/v1/replays", body, key=token).status_code == starts


def test_deleting_a_run_takes_its_replays_along(run, post, api):
    _, replay = post(run="run-1")
    jobs.run_job(replay["id"])
    assert api("DELETE", "/api/v1/runs/run-1").status_code in (200, 204)
    assert (Replay.objects.count(), ReplayEffect.objects.count()) == (0, 0)
