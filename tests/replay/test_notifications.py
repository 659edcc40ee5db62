"""What webhooks are told of, and when: replays, experiments, regressions, bounds."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import factories
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from query_plan import count, plan, shrink

from replay import jobs
from replay.models import Bound, Delivery, Divergence, Replay, Webhook
from replay.notifications import bounds, events, keeping
from replay.questions import read_question
from replay.review.deciding import checked, decide
from replay.review.people import person
from replay.start import start
from runs.models import Run

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("rung")]
DOCS = (Path(__file__).resolve().parents[2] / "docs" / "notifications.md").read_text()
SHOWN = {
    told["type"]: told["data"]
    for told in map(json.loads, re.findall(r"```json\n(.*?)```", DOCS, re.DOTALL))
}
SAID, ASKED = "Take an umbrella.", "Is it wet in Porto?"
NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)


@pytest.fixture
def hook(project, settings) -> Webhook:
    settings.REPLAY_PRIVATE_ADDRESSES = True
    given = keeping.read({"url": "http://127.0.0.1:9/"})
    return keeping.add(project, given, by=None, origin="https://rewyn.example")[0]


@pytest.fixture
def asked(store, provider):
    """asked(run="r1") -> a replay of it that is queued; its answer is another than was recorded."""
    provider({"answer": {"text": SAID}})

    def ask(run: str = "r1") -> Replay:
        if not Run.objects.filter(external_id=run).exists():
            store(factories.log(factories.completion(1, ASKED, "It costs 5 EUR.")), run)
        question = read_question({"run": run, "models": ["openai:gpt-b"]})
        return start(Run.objects.get(external_id=run), question, jobs.Asker()).replays[0]

    return ask


def told(kind: str) -> list[dict]:
    rows = Delivery.objects.filter(kind=kind).order_by("pk")
    return [json.loads(body)["data"] for body in rows.values_list("body", flat=True)]


def shape(value):
    """The names in it, and in the first of each list."""
    if isinstance(value, dict):
        return {name: shape(one) for name, one in value.items()}
    return shape(value[0]) if isinstance(value, list) and value else None


# --- Replays ------------------------------------------------------------------------------------


def test_the_end_of_a_replay_is_told_as_the_docs_say(hook, asked):
    replay = asked()
    jobs.run_job(replay.public_id)
    [data] = told("replay.finished")
    assert shape(data) == shape(SHOWN["replay.finished"])
    assert (data["replay"], data["run"], data["status"]) == (replay.public_id, "r1", "succeeded")
    assert data["url"] == f"https://rewyn.example/p/acme/replays/{replay.public_id}"
    assert (data["divergences"], data["original_cost"]) == ({"open": 1, "regression": 0}, None)


def test_no_word_of_what_was_said_is_in_it(hook, asked):
    jobs.run_job(asked().public_id)
    decide_all("regression", "because of Porto")
    bodies = "".join(Delivery.objects.values_list("body", flat=True))
    assert "regression.found" in bodies
    assert not [word for word in ("umbrella", "Porto", "EUR", "sk-test") if word in bodies]


def test_a_replay_that_ends_otherwise_and_again_is_told_too(hook, asked):
    jobs.cancel(asked())
    replay = Replay.objects.get()
    jobs.retry(replay)
    long_ago = timezone.now() - timedelta(hours=1)
    Replay.objects.update(status="running", lost_workers=99, heartbeat_at=long_ago)
    jobs.sweep()
    assert [data["status"] for data in told("replay.finished")] == ["cancelled", "failed"]
    assert told("replay.finished")[1]["error"] == "workers_lost"


def test_who_chose_other_events_or_is_off_is_told_nothing(hook, asked):
    Webhook.objects.update(events=["cost.over_bound"])
    jobs.run_job(asked().public_id)
    Webhook.objects.update(events=["replay.finished"], is_active=False)
    jobs.run_job(asked("r2").public_id)
    assert not Delivery.objects.exists()


def test_an_end_that_is_not_written_down_is_told_to_nobody(hook, asked, monkeypatch):
    replay = asked()
    told_first = events.replays_ended

    def lost(*args):
        told_first(*args)
        raise KeyboardInterrupt

    monkeypatch.setattr(jobs.events, "replays_ended", lost)
    with pytest.raises(KeyboardInterrupt):
        jobs.cancel(replay)
    replay.refresh_from_db()
    assert (replay.status, Delivery.objects.count()) == ("queued", 0)


def test_a_replay_ends_whatever_is_wrong_with_telling(hook, asked, monkeypatch, caplog):
    replay = asked()
    monkeypatch.setattr(events, "_of_replay", lambda *args: 1 / 0)
    jobs.run_job(replay.public_id)
    replay.refresh_from_db()
    assert replay.status == "succeeded" and "notifications.not_told" in caplog.text


# --- Experiments --------------------------------------------------------------------------------


def test_an_experiment_is_told_once_and_its_replays_are_not(hook, asked, store, api):
    for run in ("r1", "r2"):
        store(factories.log(factories.completion(1, ASKED, "It costs 5 EUR.")), run)
    body = {"runs": ["r1", "r2"], "models": ["openai:a", "openai:b"], "name": "Rain"}
    made = api("POST", "/api/v1/experiments", json.dumps(body).encode()).json()
    for replay in Replay.objects.order_by("pk"):
        jobs.run_job(replay.public_id)
    [data] = told("experiment.finished")
    assert shape(data) == shape(SHOWN["experiment.finished"])
    assert (data["experiment"], data["name"], data["replays"]) == (made["id"], "Rain", 4)
    assert [one["ended"]["succeeded"] for one in data["candidates"]] == [2, 2]
    assert (data["divergences"]["open"], told("replay.finished")) == (4, [])


# --- Regressions --------------------------------------------------------------------------------


def decide_all(verdict: str, reason: str = "") -> None:
    for one in Divergence.objects.filter(state="open"):
        decide(one, checked(verdict, reason), NOBODY, seen=one.version)


NOBODY = type("Somebody", (), {"user": None, "signed": "CI"})()


def test_a_verdict_of_regression_is_told_and_others_are_not(hook, asked, make_member):
    jobs.run_job(asked().public_id)
    one = Divergence.objects.get()
    ada = person(make_member("member", "ada@example.com"))
    decide(one, checked("ignored", ""), ada, seen=one.version)
    assert told("regression.found") == []
    one.refresh_from_db()
    decide(one, checked("regression", "no"), ada, seen=one.version)
    [data] = told("regression.found")
    assert shape(data) == shape(SHOWN["regression.found"])
    assert (data["found"], data["by"], data["divergences"]) == ("verdict", "ada", [one.public_id])
    assert data["url"].endswith(f"/p/acme/review?state=regression&cluster={one.cluster_id}")


def test_a_regression_that_comes_again_is_told_once(hook, asked):
    jobs.run_job(asked().public_id)
    decide_all("regression")
    again = asked("r2")
    jobs.run_job(again.public_id)
    first, second = told("regression.found")
    assert (first["found"], second["found"], second["count"]) == ("verdict", "again", 1)
    assert (second["replay"], second["experiment"], second["by"]) == (again.public_id, None, None)
    ended = Replay.objects.get(pk=again.pk)
    events.replays_ended([ended.pk], ended.finished_at)
    assert len(told("regression.found")) == 2


# --- Bounds -------------------------------------------------------------------------------------


@pytest.fixture
def clock(monkeypatch):
    """clock(NOW) sets what time it is for bounds."""
    times = [NOW]
    monkeypatch.setattr(bounds.timezone, "now", lambda: times[0])

    def at(when: datetime) -> None:
        times[0] = when

    return at


def ran(project, count: int, *, before: timedelta = timedelta(minutes=5), **fields) -> None:
    first = Run.objects.count()
    fields = {"status": "succeeded", "agent": "desk", "cost_complete": True, **fields}
    at = fields.pop("at", NOW) - before
    Run.objects.bulk_create(
        Run(project=project, external_id=f"r{first + n}", source="rig", sort_at=at, **fields)
        for n in range(count)
    )


def kept(project, **sent) -> Bound:
    made = bounds.add(project.pk, sent)
    Bound.objects.update(next_at=NOW - timedelta(hours=1))
    return made


def look() -> int:
    """Look at all, whenever it was looked at last."""
    Bound.objects.update(next_at=NOW - timedelta(hours=1))
    return bounds.check_due()


def test_too_many_failures_are_told_as_the_docs_say(hook, project, clock):
    bound = kept(project, measure="error_rate", agent="desk", share=0.1)
    ran(project, 34)
    ran(project, 6, status="failed")
    ran(project, 9, status="running")
    ran(project, 9, status="failed", agent="other")
    ran(project, 9, status="failed", is_replay=True)
    ran(project, 9, status="failed", before=timedelta(hours=2))
    assert look() == 1
    [data] = told("error_rate.over_bound")
    assert shape(data) == shape(SHOWN["error_rate.over_bound"])
    assert (data["runs"], data["failed"], data["share"]) == (40, 6, 0.15)
    assert (data["bound"], data["limit"]) == (bound.public_id, {"share": 0.1})
    assert data["url"] == "https://rewyn.example/p/acme/runs?agent=desk&status=failed"


def test_on_the_bound_or_of_few_runs_nothing_is_told(hook, project, clock):
    kept(project, measure="error_rate", share="0.5", least_runs=4)
    ran(project, 3, status="failed")
    look()
    ran(project, 3)
    look()
    assert told("error_rate.over_bound") == []
    assert Bound.objects.get().seen == {"runs": 6, "failed": 3, "share": 0.5, "over": False}


def test_it_is_told_again_only_after_it_was_held_and_once_a_window(hook, project, clock):
    kept(project, measure="error_rate", share=0.5, least_runs=1)
    counts = []
    for minutes, failed, fine in ((0, 1, 0), (1, 1, 0), (2, 0, 9), (3, 30, 0), (63, 1, 0)):
        now = NOW + timedelta(minutes=minutes)
        clock(now)
        ran(project, failed, status="failed", at=now, before=timedelta(0))
        ran(project, fine, at=now, before=timedelta(0))
        look()
        counts.append(len(told("error_rate.over_bound")))
    assert counts == [1, 1, 1, 1, 2]
    clock(NOW + timedelta(minutes=124))
    ran(project, 1, status="failed", at=NOW + timedelta(minutes=124), before=timedelta(0))
    look()
    assert len(told("error_rate.over_bound")) == 2  # over all the time


def test_a_day_s_cost_is_at_least_what_is_known(hook, project, clock):
    kept(project, measure="cost", dollars="50")
    ran(project, 2, cost="25.125")
    ran(project, 3, cost=None, cost_complete=False)
    ran(project, 1, cost="900", before=timedelta(hours=13))
    look()
    [data] = told("cost.over_bound")
    assert shape(data) == shape(SHOWN["cost.over_bound"])
    assert (data["cost"], data["cost_complete"], data["runs_of_unknown_cost"]) == (50.25, False, 3)
    assert (data["since"], data["agent"]) == ("2026-11-30T00:00:00+00:00", None)


def test_a_cost_that_is_its_bound_is_not_over_it(hook, project, clock):
    kept(project, measure="cost", dollars="0.3")
    ran(project, 3, cost="0.1")
    look()
    assert (told("cost.over_bound"), Bound.objects.get().seen["cost"]) == ([], 0.3)


def test_a_cost_below_a_millionth_is_told_as_the_api_tells_it(hook, project, clock, api):
    kept(project, measure="cost", dollars="0")
    ran(project, 1, cost="0.0000004")
    bounds.check_due()
    [data], [run] = told("cost.over_bound"), api("GET", "/api/v1/runs").json()["results"]
    assert data["cost"] == run["cost"] == 4e-07
    assert api("GET", "/api/v1/bounds").json()["results"][0]["seen"]["cost"] == 4e-07


def test_a_run_from_the_year_9999_counts_when_it_came_in(hook, project, clock, api):
    kept(project, measure="cost", dollars="1")
    sent = factories.run("late", factories.completion(1), started_at="9999-12-31T00:00:00Z")
    assert api("POST", "/api/v1/runs", sent).status_code == 201
    Run.objects.update(cost=2, cost_complete=True)
    bounds.check_due()
    assert [data["runs"] for data in told("cost.over_bound")] == [1]


def test_cost_of_which_nothing_is_known_is_unknown_and_passes_nothing(hook, project, clock):
    kept(project, measure="cost", dollars=0)
    ran(project, 3, cost=None, cost_complete=False)
    look()
    assert told("cost.over_bound") == [] and Bound.objects.get().seen["cost"] is None


@pytest.mark.parametrize(
    ("sent", "runs", "standing"),
    [
        ({"measure": "error_rate", "share": 0.5, "least_runs": 4}, {}, "too few runs"),
        ({"measure": "error_rate", "share": 0.5, "least_runs": 3}, {}, "under"),
        ({"measure": "error_rate", "share": 0.5, "least_runs": 3}, {"status": "failed"}, "over"),
        ({"measure": "cost", "dollars": 1}, {"cost": None, "cost_complete": False}, "unknown"),
        ({"measure": "cost", "dollars": 1}, {"cost": Decimal("0.1")}, "under"),
    ],
)
def test_what_is_not_known_is_not_under_a_bound(project, clock, admin, sent, runs, standing):
    kept(project, **sent)
    ran(project, 3, **runs)
    look()
    assert f">{standing}</span>" in admin.get("/p/acme/settings/notifications").text


def test_a_day_without_runs_cost_nothing(hook, project, clock, admin):
    kept(project, measure="cost", dollars=1)
    look()
    seen = Bound.objects.get().seen
    assert (seen["runs"], seen["cost"], seen["cost_complete"]) == (0, 0.0, True)
    page = admin.get("/p/acme/settings/notifications").text
    assert "$0.00 for 0 runs today" in page


def test_cost_is_told_once_a_day(hook, project, clock):
    kept(project, measure="cost", dollars=1)
    ran(project, 1, cost=5)
    assert [look(), look(), len(told("cost.over_bound"))] == [1, 1, 1]
    tomorrow = NOW + timedelta(days=1)
    clock(tomorrow)
    ran(project, 1, cost=5, at=tomorrow)
    look()
    assert [data["since"][:10] for data in told("cost.over_bound")] == ["2026-11-30", "2026-12-01"]


@pytest.mark.parametrize(
    ("sent", "kind"),
    [
        ({"measure": "cost", "dollars": 1}, "cost.over_bound"),
        ({"measure": "error_rate", "share": 0, "least_runs": 1}, "error_rate.over_bound"),
    ],
)
def test_nobody_is_told_until_somebody_is_there(hook, project, clock, admin, api, sent, kind):
    def said() -> tuple[bool, bool, bool]:
        page = admin.get("/p/acme/settings/notifications").text
        nobody = f"Nobody is there to tell: no active webhook has <code>{kind}</code>" in page
        [bound] = api("GET", "/api/v1/bounds").json()["results"]
        return nobody, "last told" in page, bound["told_at"] is not None

    kept(project, **sent)
    ran(project, 1, cost=5, status="failed")
    for nobody in ({"is_active": False}, {"is_active": True, "events": ["replay.finished"]}):
        Webhook.objects.update(**nobody)
        clock(NOW + timedelta(minutes=len(nobody)))
        look()
        assert (told(kind), said()) == ([], (True, False, False))
    Webhook.objects.update(events=[kind])
    for minute in (3, 4):
        clock(NOW + timedelta(minutes=minute))
        look()
        assert (len(told(kind)), said()) == (1, (False, True, True))


def test_of_two_who_look_at_once_one_does(hook, project, clock):
    bound = kept(project, measure="cost", dollars=1)
    ran(project, 1, cost=5)
    rows = [Bound.objects.select_related("project").get(pk=bound.pk) for _ in range(2)]
    clock(NOW + timedelta(minutes=1))
    assert [bounds._check(row) for row in rows] == [True, False]
    assert (len(told("cost.over_bound")), bounds.check_due()) == (1, 0)


@pytest.mark.parametrize(
    ("sent", "index"),
    [
        ({"measure": "error_rate", "share": 0.1}, "run_started"),
        ({"measure": "error_rate", "share": 0.1, "agent": "desk"}, "run_agent"),
        ({"measure": "cost", "dollars": 1}, "run_started"),
        ({"measure": "cost", "dollars": 1, "agent": "desk"}, "run_agent"),
    ],
)
def test_a_look_reads_one_window_along_an_index(project, sent, index):
    bound = kept(project, **sent)
    for hour in range(300):
        ran(project, 1, before=timedelta(hours=hour), agent=("desk", "a", "b", "c")[hour % 4])
    shrink("runs_run")
    count("runs_run")
    with CaptureQueriesContext(connection) as seen:
        bounds.look_at(bound, timezone.now())
    [statement] = [query["sql"] for query in seen.captured_queries]
    assert index in plan(statement)


@pytest.mark.parametrize(
    ("sent", "field"),
    [
        ({"measure": "tokens"}, "measure"),
        ({"measure": "error_rate"}, "share"),
        ({"measure": "error_rate", "share": 1.5}, "share"),
        ({"measure": "error_rate", "share": "NaN"}, "share"),
        ({"measure": "error_rate", "share": 0.1, "window": "week"}, "window"),
        ({"measure": "error_rate", "share": 0.1, "least_runs": 1.5}, "least_runs"),
        ({"measure": "error_rate", "share": 0.1, "agent": "\x00"}, "agent"),
        ({"measure": "cost", "dollars": True}, "dollars"),
        ({"measure": "cost", "dollars": 1, "window": "hour"}, "window"),
        ({"measure": "cost", "dollars": 1, "of": 1}, "of"),
    ],
)
def test_what_no_bound_can_be_is_refused(api, sent, field):
    refused = api("POST", "/api/v1/bounds", json.dumps(sent).encode())
    assert (refused.status_code, refused.json()["error"]["field"]) == (422, field)


def test_all_that_is_wrong_with_a_bound_is_said_at_once(api, admin):
    sent = {"measure": "error_rate", "share": 2, "window": "week", "least_runs": 0, "agent": 1}
    told = api("POST", "/api/v1/bounds", json.dumps(sent).encode()).json()["error"]["errors"]
    assert {one["field"] for one in told} == {"share", "window", "least_runs", "agent"}
    form = {"watched": "error_rate.hour", "most": "200", "least_runs": "none"}
    page = admin.post("/p/acme/settings/notifications/bounds", form).content.decode()
    assert 'id="id_most_error"' in page and 'id="id_least_runs_error"' in page
    assert "from 0 to 100 percent" in page and "from 0 to 1." not in page


def test_all_that_is_wrong_with_a_webhook_is_said_at_once(api, admin):
    sent = {"url": "nowhere", "events": []}
    told = api("POST", "/api/v1/webhooks", json.dumps(sent).encode()).json()["error"]["errors"]
    assert {one["field"] for one in told} == {"url", "events"}
    form = {"url": "nowhere", "active": "on"}
    page = admin.post("/p/acme/settings/notifications", form).content.decode()
    assert 'id="id_url_error"' in page and 'id="id_events_error"' in page


def test_a_bound_is_made_seen_and_removed_by_page_and_api(api, admin):
    form = {"watched": "error_rate.hour", "agent": "desk", "most": "12.5 %", "least_runs": ""}
    page = admin.post("/p/acme/settings/notifications/bounds", form, follow=True)
    assert "More than 12.5 % failed of the last hour, of 20 runs" in page.content.decode()
    [bound] = api("GET", "/api/v1/bounds").json()["results"]
    assert (bound["share"], bound["least_runs"], bound["seen"]) == (0.125, 20, None)
    twice = admin.post("/p/acme/settings/notifications/bounds", form)
    assert twice.status_code == 400 and "There is such a bound" in twice.content.decode()
    assert api("DELETE", f"/api/v1/bounds/{bound['id']}").status_code == 204
    assert api("GET", "/api/v1/bounds").json() == {"results": []}
