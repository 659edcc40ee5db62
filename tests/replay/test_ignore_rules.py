"""What does not count as a difference: rules read, applied, tried, counted, applied to the past."""

from __future__ import annotations

import csv
import json

import factories
import pytest

from replay import jobs
from replay.ignore_rules import applying, trying
from replay.models import Cluster, Divergence, IgnoreRule, Replay, ReplayEffect, ReviewEvent
from replay.questions import read_question
from replay.review import deciding
from replay.review.people import Decider
from replay.start import start
from runs.models import Run

RULES = "/api/v1/ignore-rules"
PAGE = "/p/acme/ignore-rules"
ORDERS = {"name": "order ids", "pattern": "ord_[0-9A-Z]+"}
ADA = Decider(None, "Ada")


# --- In replays ----------------------------------------------------------------------------------


@pytest.fixture
def put(api):
    def send(*rules: dict):
        return api("PUT", RULES, factories.body({"rules": list(rules)}))

    return send


@pytest.fixture
def run(store):
    """Three calls whose answers name an order; the replay names another in all three."""
    said = ["Your order is ord_A1.", "It is ord_A1.", "You pay 5 EUR for ord_A1."]
    records = [factories.completion(n, f"Hi {n}", text) for n, text in enumerate(said, 1)]
    return store(factories.log(*records))


@pytest.fixture
def fake(provider):
    return provider(
        {"when": {"contains": "Hi 1"}, "answer": {"text": "Your order is ord_B2."}},
        {"when": {"contains": "Hi 2"}, "answer": {"text": "ord_B2 it is."}},
        {"answer": {"text": "You pay 6 EUR for ord_B2."}},
    )


@pytest.fixture
def replay_of():
    """replay_of(run, effects=[…]) -> the Replay, done."""

    def do(run: Run, **body) -> Replay:
        question = read_question({"run": "run-1", "models": ["openai:gpt-b"], **body})
        asked = start(run, question, jobs.Asker()).replays[0]
        jobs.run_job(asked.public_id)
        return Replay.objects.get(pk=asked.pk)

    return do


@pytest.fixture
def replay(run, fake, replay_of):
    return lambda **body: replay_of(run, **body)


def rows(replay: Replay) -> list[tuple[str, str]]:
    found = ReplayEffect.objects.filter(replay=replay).order_by("seq")
    return list(found.values_list("difference", "ignored_difference"))


def states() -> list[tuple[int, str]]:
    return list(Divergence.objects.order_by("pk").values_list("seq", "state"))


def apply(project) -> applying.Applied:
    return applying.apply(project, ADA)


def test_a_replay_is_compared_under_the_rules_there_are(put, replay, api):
    put(ORDERS)
    done = replay()
    assert rows(done) == [("equivalent", "facts"), ("wording", "facts"), ("facts", "")]
    assert (done.changed, done.ignored, states()) == (2, 2, [(3, "open")])
    told = api("GET", f"/api/v1/replays/{done.public_id}/effects?ignored=true").json()["results"]
    assert [one["seq"] for one in told] == [1, 2]
    assert told[0]["ignored"] == {"class": "facts", "rules": ["order ids"]}
    assert api("GET", f"/api/v1/replays/{done.public_id}").json()["ignored"] == 2


def test_a_cluster_is_not_about_what_is_ignored(put, store, provider, replay_of):
    put({"name": "trace", "path": "/calls/*/arguments/trace"})
    record = factories.completion(1)
    function = {"name": "pay", "arguments": {"eur": 5, "trace": "a"}}
    asked = {"type": "tool_call", "id": "c1", "function": function}
    record["outcome"]["Ok"] |= {"choice": [asked], "finish_reason": "tool_calls"}
    provider({"answer": {"tool": {"name": "pay", "arguments": {"eur": 6, "trace": "b"}}}})
    replay_of(store(factories.log(record)))
    assert Cluster.objects.get().cause == ["pay: /eur"]


def test_a_rule_of_another_key_or_project_changes_nothing(put, replay, store, api):
    put({**ORDERS, "key": "agent/model:other"})
    assert rows(replay())[0] == ("facts", "")
    put({**ORDERS, "key": "agent/model:default"})
    assert rows(replay())[0] == ("equivalent", "facts")


def test_an_accepted_answer_is_the_same_without_any_rule(put, replay):
    replay(effects=[1])
    deciding.decide(Divergence.objects.get(), deciding.checked("accepted", ""), ADA, seen=0)
    put(ORDERS)
    done = replay(effects=[1])
    assert rows(done) == [("same", "")]
    assert "same as baseline" in done.rows.get().summary


def test_a_baseline_is_held_against_under_the_rules(put, run, provider, replay_of):
    provider(
        {"times": 1, "answer": {"text": "ord_B2 it is."}}, {"answer": {"text": "ord_C3 it is."}}
    )
    replay_of(run, effects=[2])
    deciding.decide(Divergence.objects.get(), deciding.checked("accepted", ""), ADA, seen=0)
    put(ORDERS)
    done = replay_of(run, effects=[2])
    assert rows(done) == [("equivalent", "facts")]
    assert "same as baseline; ignored: order ids" in done.rows.get().summary


def test_the_page_of_a_replay_counts_and_lists_what_was_ignored(put, replay, member_client):
    put(ORDERS)
    address = f"/p/acme/replays/{replay().public_id}"
    page = member_client.get(address).text
    assert "2 ignored by rules" in page and 'id="r3"' in page
    narrowed = member_client.get(f"{address}?ignored=on").text
    assert 'id="r1"' in narrowed and 'id="r3"' not in narrowed
    assert "ignored: order ids (else facts" in narrowed


def test_an_experiment_counts_what_was_ignored_per_candidate_and_cell(put, run, fake, api):
    put(ORDERS)
    asked = factories.body({"runs": ["run-1"], "models": ["openai:a", "openai:b"]})
    made = api("POST", "/api/v1/experiments", asked).json()["id"]
    for one in Replay.objects.all():
        jobs.run_job(one.public_id)
    found = api("GET", f"/api/v1/experiments/{made}").json()["candidates"]
    assert [(one["ignored"], one["same_share"]) for one in found] == [(2, 1 / 3), (2, 1 / 3)]
    export = api("GET", f"/api/v1/experiments/{made}/export?format=csv")
    lines = b"".join(export.streaming_content).decode().splitlines()
    assert [row["ignored"] for row in csv.DictReader(lines)] == ["2", "2"]
    whole = json.loads(b"".join(api("GET", f"/api/v1/experiments/{made}/export").streaming_content))
    assert whole["results"][0]["cells"][0]["ignored"] == 2


def test_two_runs_are_compared_under_the_rules_of_now(put, store, api, member_client):
    for name, order in (("a", "ord_1"), ("b", "ord_2")):
        args = json.dumps({"id": order})
        log = factories.log(factories.completion(1, "Hi", f"It is {order}."),
                            factories.tool(2, args=args, result=f"{order} is paid"))  # fmt: skip
        store(log, name)
    address = "/api/v1/compare?a=a&b=b"
    classes = [row["class"] for row in api("GET", address).json()["results"]]
    assert classes == ["facts", "arguments"]
    put(ORDERS, {"name": "of the tool", "path": "/calls/*/arguments/id", "tool": "look_up"})
    found = api("GET", address).json()
    assert [(row["class"], row["ignored"]["class"]) for row in found["results"]] == [
        ("equivalent", "facts"),
        ("equivalent", "arguments"),
    ]
    assert (found["changed"], found["ignored"]) == (0, 2)
    page = member_client.get("/p/acme/compare?a=a&b=b&of=ignored").text
    assert "ignored by rules" in page and 'id="ra2"' in page


# --- Tried ---------------------------------------------------------------------------------------


def test_a_rule_is_tried_on_what_was_compared_last(replay, api):
    done = replay()
    tried = api("POST", f"{RULES}/preview", factories.body({"pattern": ORDERS["pattern"]})).json()
    [example, milder] = tried.pop("examples")
    assert tried == {
        "replays": 1,
        "compared": 3,
        "differ": 3,
        "silenced": 1,
        "milder": 1,
        "complete": True,
    }
    assert (example["seq"], example["class"], example["becomes"]) == (1, "facts", "equivalent")
    assert (example["replay"], milder["becomes"]) == (done.public_id, "wording")
    assert (rows(done)[0], IgnoreRule.objects.count()) == (("facts", ""), 0)


def test_trying_costs_the_same_however_much_there_is(
    replay, api, monkeypatch, django_assert_max_num_queries
):
    from replay.ignore_rules import trying

    for effects in ([1], [2], [3], [1, 2, 3]):
        replay(effects=effects)
    monkeypatch.setattr(trying, "LAST", 4)
    with django_assert_max_num_queries(12):
        tried = api("POST", f"{RULES}/preview", factories.body({"pattern": "ord_"})).json()
    assert (tried["compared"], tried["replays"], tried["differ"]) == (4, 2, 4)


# --- Applied to replays already there ------------------------------------------------------------


def test_rows_keep_their_class_until_rules_are_applied(put, replay, project, run):
    done = replay()
    put(ORDERS)
    assert rows(done)[0] == ("facts", "")
    applied = apply(project)
    assert (applied.compared, applied.silenced, applied.milder, applied.next) == (3, 1, 1, "")
    assert rows(done) == [("equivalent", "facts"), ("wording", "facts"), ("facts", "")]
    done.refresh_from_db()
    assert (done.changed, done.ignored, done.mismatch_count) == (2, 2, 2)
    assert apply(project).silenced == 0


def test_a_preview_cut_short_counts_what_it_looked_at(replay, project, monkeypatch):
    replay()
    monkeypatch.setattr(trying, "SECONDS", 0.0)
    tried = trying.preview(project, {"path": "/text"})
    assert (tried.replays, tried.compared, tried.differ, tried.complete) == (1, 1, 1, False)
    monkeypatch.undo()
    tried = trying.preview(project, {"path": "/text"})
    assert (tried.compared, tried.differ, tried.complete) == (3, 3, True)


def test_what_a_rule_ignores_is_resolved_and_the_counts_are_right(put, replay, project, run):
    replay()
    put(ORDERS)
    apply(project)
    run.refresh_from_db()
    assert states() == [(1, "resolved"), (2, "open"), (3, "open")]
    assert run.to_review == 2 == sum(Cluster.objects.values_list("open_count", flat=True))
    event = ReviewEvent.objects.get(divergence__seq=1)
    assert (event.kind, event.signed) == ("by_rule", "Ada")
    assert (
        deciding.told(event)
        == "Ada applied the ignore rules meanwhile: ignored by rule: order ids."
    )


def test_what_has_a_verdict_is_never_touched(put, replay, project):
    done = replay()
    judged = Divergence.objects.get(seq=1)
    deciding.decide(judged, deciding.checked("regression", "down"), ADA, seen=0)
    put(ORDERS)
    applied = apply(project)
    judged.refresh_from_db()
    assert (applied.judged, applied.silenced) == (1, 0)
    assert (judged.state, judged.is_current, rows(done)[0]) == ("regression", True, ("facts", ""))


def test_what_only_a_removed_rule_covered_counts_again(put, replay, project, run):
    put(ORDERS)
    done = replay()
    put()
    assert apply(project).restored == 2
    run.refresh_from_db()
    assert rows(done) == [("facts", "")] * 3
    assert run.to_review == 3


def test_applying_goes_on_where_it_stopped(put, replay, api, monkeypatch):
    done = [replay(effects=[1]), replay(effects=[1, 3])]
    put(ORDERS)
    monkeypatch.setattr(applying, "AT_ONCE", 1)
    monkeypatch.setattr(applying, "SECONDS", 0.0)
    steps, body = [], {}
    while body is not None and len(steps) < 20:
        steps.append(api("POST", f"{RULES}/application", factories.body(body)).json())
        body = {"after": steps[-1]["next"]} if steps[-1]["next"] else None
    assert sum(one["silenced"] for one in steps) == 2
    assert [rows(one)[0] for one in done] == [("equivalent", "facts")] * 2


def test_the_cells_of_an_experiment_follow(put, run, fake, api, project):
    asked = factories.body({"runs": ["run-1"], "models": ["openai:a"]})
    made = api("POST", "/api/v1/experiments", asked).json()["id"]
    jobs.run_job(Replay.objects.get().public_id)
    put(ORDERS)
    apply(project)
    [found] = api("GET", f"/api/v1/experiments/{made}").json()["candidates"]
    assert (found["ignored"], found["classes"]["equivalent"], found["to_review"]) == (2, 1, 2)


def test_a_retry_forgets_what_was_ignored(put, provider, store, replay_of):
    put(ORDERS)
    store(factories.log(factories.completion(1, "Hi", "See ord_A1.")))
    provider({"answer": {"error": {"status": 400, "message": "no"}}})
    replay_of(Run.objects.get())
    ReplayEffect.objects.update(ignored_difference="facts", ignored_by=["x"])
    assert jobs.retry(Replay.objects.get())
    assert list(ReplayEffect.objects.values_list("ignored_difference", "ignored_by")) == [("", [])]


# --- Kept, by page and by API --------------------------------------------------------------------


def test_rules_are_read_as_they_were_put_and_can_be_put_again(put, api):
    whole = {**ORDERS, "path": "/text", "tool": None, "key": "k"}
    [read] = put(whole).json()["rules"]
    assert read.items() >= whole.items()
    assert (read["added_by"], read["problem"]) == ("test", None)
    again = put(read, {"name": "more", "path": "/text"}).json()["rules"]
    assert again[0] == read
    assert api("GET", RULES).json()["rules"] == again


@pytest.mark.parametrize(
    ("sent", "field"),
    [
        ([{"name": "x"}], "rules[0].path"),
        ([ORDERS, ORDERS], "rules[1].name"),
        ([{**ORDERS, "name": "\u3164"}], "rules[0].name"),
        ([{**ORDERS, "flags": "i"}], "rules[0].flags"),
        (["x"], "rules[0].name"),
        ([{"name": f"r{n}", "path": "/text"} for n in range(51)], "rules"),
        ("x", "rules"),
    ],
)
def test_rules_that_cannot_be_are_refused_by_name(api, sent, field):
    answer = api("PUT", RULES, factories.body({"rules": sent}))
    assert (answer.status_code, answer.json()["error"]["field"]) == (422, field)
    assert IgnoreRule.objects.count() == 0


def test_too_many_rules_are_refused_with_the_limit(put):
    told = put(*({"name": f"r{n}", "path": "/text"} for n in range(51))).json()["error"]
    assert (told["code"], told["field"], told["limit"]) == ("too_many", "rules", 50)


@pytest.mark.parametrize("after", ["x", "1", "1.2.3", "9" * 30 + ".1", 5, 0, [], {}, False])
def test_a_place_to_go_on_from_that_is_none_is_refused(api, after):
    answer = api("POST", f"{RULES}/application", factories.body({"after": after}))
    assert (answer.status_code, answer.json()["error"]["field"]) == (422, "after")


@pytest.mark.parametrize(("method", "path"), [("POST", "/application"), ("PUT", "")])
def test_a_member_nobody_knows_is_refused(api, method, path):
    told = api(method, f"{RULES}{path}", factories.body({"rules": [], "aftr": "1.1"})).json()
    assert told["error"]["code"] == "unknown_field"


def test_an_admin_tries_adds_applies_and_removes_a_rule_by_page(replay, admin):
    done = replay()
    tried = admin.post(PAGE, {**ORDERS, "try": "1"}).text
    assert "It would silence 1 of 3 differences and make 1 milder" in tried
    assert "<del>ord_A1</del>" in tried and IgnoreRule.objects.count() == 0
    assert admin.post(PAGE, ORDERS).status_code == 302
    assert "added by" in admin.get(PAGE).text
    assert "Another rule has this name." in admin.post(PAGE, ORDERS).text
    applied = admin.post(f"{PAGE}/application", follow=True).text
    assert "1 ignored now, 1 milder" in applied and rows(done)[0] == ("equivalent", "facts")
    assert admin.post(f"{PAGE}/removal", {"name": "order ids"}).status_code == 302
    assert IgnoreRule.objects.count() == 0


def test_the_page_goes_on_with_what_time_did_not_suffice_for(put, replay, admin, monkeypatch):
    replay(effects=[1]), replay(effects=[1])
    put(ORDERS)
    monkeypatch.setattr(applying, "AT_ONCE", 1)
    monkeypatch.setattr(applying, "SECONDS", 0.0)
    page = admin.post(f"{PAGE}/application", {"silenced": "7"}, follow=True).text
    assert "So far:" in page and "8 ignored now" in page and "Go on with older replays" in page
    alone = admin.post(f"{PAGE}/application", headers={"HX-Request": "true"}).text
    assert alone.lstrip().startswith('<div id="applied"')


def test_a_member_sees_the_rules_and_changes_none(put, member_client):
    put(ORDERS)
    page = member_client.get(PAGE).text
    assert "ord_[0-9A-Z]+" in page and '<form method="post"' not in page.partition("<main")[2]


def test_a_changed_value_leads_to_a_rule_about_its_place(replay, admin):
    page = admin.get(f"/p/acme/replays/{replay().public_id}?at=1&show=json").text
    assert f'href="{PAGE}?path=%2Ftext"' in page
    assert 'value="/text"' in admin.get(f"{PAGE}?path=%2Ftext").text


def test_a_stored_rule_that_no_longer_can_be_is_shown_as_such(project, admin, replay):
    IgnoreRule.objects.create(project=project, name="old", pattern="(a+)+b")
    assert "does not count" in admin.get(PAGE).text
    assert rows(replay())[0] == ("facts", "")


def test_its_page_is_below_settings_in_the_navigation(client, make_member):
    client.force_login(make_member("admin"))
    rail = client.get("/p/acme/ignore-rules").text.partition("</nav>")[0]
    assert 'href="/p/acme/settings" aria-current="page"' in rail
