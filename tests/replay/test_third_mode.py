"""The place of the third mode: jobs, rows, pages, plan and API take it as they are."""

from __future__ import annotations

import pytest
from django.template.loader import render_to_string

from replay import jobs, results
from replay.comparison import answers
from replay.dialects import Answer
from replay.lease import Lease
from replay.models import CallState, Replay, ReplayEffect, ReplayMode
from replay.modes.verdict import verdict
from replay.outcome import Outcome
from replay.plan import components
from runs.models import Effect, Family

pytestmark = pytest.mark.usefixtures("rung")


def answer_of(text: str) -> Answer:
    return Answer(text=text, calls=(), reasoning="", refusal=None, finish_reason="stop", usage={},
                  model="m", response_id=None, raw=None)  # fmt: skip


def execute(lease: Lease) -> Outcome:
    """What runs somebody's code would do: rows as they come, then the outcome."""
    effects = Effect.objects.filter(run=lease.replay.run, family=Family.COMPLETION).order_by("seq")
    rows = [
        ReplayEffect(
            replay=lease.replay, effect=one, seq=one.seq, state=CallState.PENDING,
            attempt=lease.attempt, calls_allowed=1,
        )
        for one in effects
    ]  # fmt: skip
    extra = ReplayEffect(replay=lease.replay, seq=99, state=CallState.PENDING, calls_allowed=1,
                         attempt=lease.attempt)  # fmt: skip
    results.open_rows(lease, [*rows, extra])
    for row in ReplayEffect.objects.filter(replay=lease.replay):
        kind = "facts" if row.effect_id else "not_recorded"
        packed = answers.pack(answer_of("Your code says 7."))
        results.ask(lease, row.pk, b"")
        results.answer(lease, row.pk, answer=packed, difference=kind, summary="other")
    return verdict(lease)


@pytest.fixture
def executed(run, monkeypatch) -> Replay:
    monkeypatch.setitem(jobs.MODES, ReplayMode.EXECUTE, execute)
    tool = Effect.objects.filter(run=run, family=Family.TOOL).first()
    plan = {
        "mode": "execute", "says": "re-execute: your code runs", "total": 3,
        "components": components(run, {tool.key}),
        "calls": {"total": 0, "attempts_per_call": 0, "at_most": 0},
        "tokens": {"input": 0, "output": 0, "complete": True},
        "cost": {"estimate": 0.0, "complete": True, "recorded": None, "recorded_complete": False},
        "notes": [], "warnings": [], "errors": [],
    }  # fmt: skip
    replay, _ = jobs.create_job(run=run, mode="execute", plan=plan, controls={"target": "desk"})
    jobs.run_job(replay.public_id)
    return Replay.objects.get(pk=replay.pk)


def test_it_is_done_and_counted_without_a_model(executed):
    assert (executed.status, executed.changed, executed.candidate) == ("succeeded", 3, "")


def test_its_page_shows_rows_with_both_sides(executed, run, member_client):
    seq = Effect.objects.filter(run=run, family=Family.COMPLETION).first().seq
    page = f"/p/acme/replays/{executed.public_id}"
    shown = member_client.get(f"{page}?at={seq}").content.decode()
    assert "re-execute: your code runs" in shown and "Your code says" in shown
    assert f'href="?at={seq}' in shown
    assert "Not in the recording." in member_client.get(f"{page}?at=99").content.decode()
    assert executed.public_id in member_client.get("/p/acme/replays?mode=execute").content.decode()


def test_the_api_gives_it_and_its_rows(executed, api):
    told = api("GET", f"/api/v1/replays/{executed.public_id}").json()
    assert (told["mode"], told["status"]) == ("execute", "succeeded")
    rows = api("GET", f"/api/v1/replays/{executed.public_id}/effects").json()["results"]
    assert [row["class"] for row in rows] == ["facts", "facts", "not_recorded"]


def test_its_differences_come_to_review(executed, member_client):
    shown = member_client.get("/p/acme/review").content.decode()
    assert "facts" in shown and "not recorded" in shown.replace("_", " ")


def test_its_plan_says_which_tools_really_run(executed):
    shown = render_to_string("replay/_plan.html", {"one": {"plan": executed.plan}})
    assert "1 really run" in shown and "<b>live</b> 1×" in shown
    assert shown.count("<dd>recorded ") == len(executed.plan["components"]) - 1
