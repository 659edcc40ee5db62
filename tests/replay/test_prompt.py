"""Prompt replays over HTTP: what is sent, what is stored, and what is never sent again."""

from __future__ import annotations

import json
import threading
import time

import pytest

from replay import jobs, providers
from replay.lease import stop
from replay.models import Replay, ReplayEffect
from replay.questions import read_question
from replay.start import start
from runs.storage import segments

SAY = {"answer": {"text": "Take an umbrella."}}


@pytest.fixture
def run(store, read_log):
    return store(read_log("02-two-tools-memory"))


@pytest.fixture
def ask(run):
    """ask(models=[…], …) -> the Replay, queued."""

    def make(**body) -> Replay:
        question = read_question({"run": "run-1", "models": ["openai:gpt-b"], **body})
        return start(run, question, jobs.Asker()).replays[0]

    return make


@pytest.fixture
def replay(ask):
    """replay(models=[…], …) -> the Replay, done."""

    def do(**body) -> Replay:
        queued = ask(**body)
        jobs.run_job(queued.public_id)
        return Replay.objects.get(pk=queued.pk)

    return do


def rows(replay: Replay) -> list[ReplayEffect]:
    return list(ReplayEffect.objects.filter(replay=replay).order_by("seq"))


@pytest.mark.parametrize("model", ["openai:gpt-b", "anthropic:claude-c"])
def test_each_call_is_asked_once_and_carries_its_tools(provider, replay, model):
    fake = provider(SAY)
    done = replay(models=[model])
    assert [len(asked.body["tools"]) for asked in fake.asked] == [2, 2]
    assert {asked.body["model"] for asked in fake.asked} == {model.split(":")[1]}
    assert (done.status, done.changed, done.calls) == ("succeeded", 2, 2)


def test_other_answers_are_neither_identical_nor_faithful(provider, replay):
    provider(SAY)
    done = replay()
    assert (done.identical, done.faithful, done.mismatch_count) == (False, False, 2)
    assert [row.difference for row in rows(done)] == ["tool_calls", "facts"]
    assert rows(done)[0].summary == "drops weather, opening_hours"


def test_equal_answers_are_identical(provider, replay, read_log, settings):
    settings.REPLAY_PARALLEL_CALLS = 1
    calls = [r for r in read_log("02-two-tools-memory")["records"] if "request" in r["kind"]]
    asked = [part["function"] for part in calls[0]["outcome"]["Ok"]["choice"]]
    said = calls[1]["outcome"]["Ok"]["choice"][0]["text"]
    provider(
        {"when": {"call": 1}, "answer": {"tools": asked}},
        {"answer": {"text": said}},
    )
    done = replay()
    assert (done.identical, done.faithful, done.changed) == (True, True, 0)
    assert [row.difference for row in rows(done)] == ["same", "same"]


def test_temperature_zero_and_system_go_out(provider, replay):
    fake = provider(SAY)
    replay(temperature=0, system="Be terse.")
    assert [asked.body["temperature"] for asked in fake.asked] == [0, 0]
    assert fake.asked[0].body["messages"][0] == {"role": "system", "content": "Be terse."}


def test_only_the_chosen_calls_go_out(provider, replay):
    fake = provider(SAY)
    done = replay(effects=[5])
    assert len(fake.asked) == 1
    assert [row.seq for row in rows(done)] == [5]


def test_usage_is_counted_and_an_unknown_price_is_unknown(provider, replay):
    provider({"answer": {"text": "ok", "usage": {"input": 11, "output": 7}}})
    done = replay(models=["openai:no-such-model"])
    assert (done.input_tokens, done.output_tokens, done.tokens_complete) == (22, 14, True)
    assert (done.cost, done.cost_complete) == (None, False)


def test_a_known_price_is_priced_on_both_sides(provider, replay):
    provider({"answer": {"text": "ok", "usage": {"input": 1000, "output": 1000}}})
    done = replay(models=["openai:gpt-4o"])
    assert float(done.cost) == pytest.approx(2 * (0.0025 + 0.01))
    assert float(done.original_cost) > 0
    assert done.original_input_tokens == 180 + 262


def test_what_was_sent_and_received_is_kept(provider, replay):
    fake = provider(SAY)
    row = rows(replay(effects=[5]))[0]
    assert json.loads(segments.decompress(row.sent)) == fake.asked[0].body
    received = json.loads(segments.decompress(row.response))
    assert received["choices"][0]["message"]["content"] == "Take an umbrella."
    assert (row.status_code, row.calls, row.request_id != "") == (200, 1, True)
    assert row.latency_ms > 0


@pytest.mark.parametrize(
    ("log", "model"),
    [
        ("city-facts-anthropic-stream", "anthropic:m"),
        ("city-facts-anthropic-stream", "openai:m"),
        ("travel-responses-stream", "openai-responses:m"),
    ],
)
def test_a_recorded_stream_is_a_stream_again_and_its_first_token_is_timed(
    provider, store, read_log, log, model, member_client
):
    fake = provider({"answer": {"text": "one two three four"}, "chunk_ms": 5})
    question = read_question({"run": "streamed", "models": [model], "effects": [1]})
    asked = start(store(read_log(log), "streamed"), question, jobs.Asker()).replays[0]
    jobs.run_job(asked.public_id)
    [row] = rows(asked)
    assert fake.asked[0].body["stream"] is True
    assert 0 < row.first_token_ms < row.latency_ms
    assert b"data: " in segments.decompress(row.response)
    assert "First token" in member_client.get(f"/p/acme/replays/{asked.public_id}?at=1").text


def test_a_call_that_was_no_stream_has_no_first_token(provider, replay):
    provider(SAY)
    assert [row.first_token_ms for row in rows(replay())] == [None, None]


def test_429_is_asked_again_when_the_provider_says(provider, replay):
    slow = {"error": {"status": 429, "message": "slow down", "retry_after": 0.01}}
    fake = provider({"times": 1, "answer": slow}, SAY)
    done = replay(effects=[5])
    assert (done.status, len(fake.asked), rows(done)[0].calls) == ("succeeded", 2, 2)


def test_no_more_calls_than_the_plan_allows(provider, ask, settings):
    settings.REPLAY_CALL_ATTEMPTS = 2
    broken = {"error": {"status": 500, "message": "boom", "retry_after": 0.01}}
    fake = provider({"answer": broken})
    queued = ask(effects=[5])
    jobs.run_job(queued.public_id)
    queued.refresh_from_db()
    assert (queued.plan["calls"]["at_most"], len(fake.asked)) == (2, 2)
    assert (queued.status, queued.error_code, queued.error_text) == ("failed", "http_500", "boom")


def test_400_says_the_provider_s_own_words_and_is_not_asked_again(provider, replay):
    fake = provider({"answer": {"error": {"status": 400, "message": "no such model: gpt-b"}}})
    done = replay(effects=[5])
    row = rows(done)[0]
    assert len(fake.asked) == 1
    assert (row.state, row.difference, row.error_code) == ("failed", "error", "http_400")
    assert row.error_text == "no such model: gpt-b"


def test_partial_results_stay_and_retry_asks_only_for_the_rest(provider, replay):
    fake = provider(
        {"when": {"call": 1}, "answer": {"error": {"status": 400, "message": "not now"}}}, SAY
    )
    done = replay()
    assert done.status == "partial"
    assert sorted(row.state for row in rows(done)) == ["answered", "failed"]
    jobs.retry(done)
    jobs.run_job(done.public_id)
    done.refresh_from_db()
    assert (done.status, done.done, len(fake.asked)) == ("succeeded", 2, 3)


def test_strict_stops_at_the_first_difference(provider, replay, settings):
    settings.REPLAY_PARALLEL_CALLS = 1
    fake = provider(SAY)
    done = replay(strict=True)
    assert len(fake.asked) == 1
    assert (done.status, done.error_code) == ("partial", "stopped_at_difference")


def test_parallel_calls_are_bounded(provider, store, read_log, settings, monkeypatch):
    settings.REPLAY_PARALLEL_CALLS = 3
    fake, three = provider({"delay_ms": 1, **SAY}), threading.Barrier(3, timeout=60)
    monkeypatch.setattr(fake, "pause", lambda seconds: seconds and three.wait())
    run = store(read_log("night-shift-300"), "night")
    seqs = [1 + 5 * n for n in range(12)]
    question = read_question({"run": "night", "models": ["openai:b"], "effects": seqs})
    queued = start(run, question, jobs.Asker()).replays[0]
    jobs.run_job(queued.public_id)
    assert (len(fake.asked), fake.peak) == (12, 3)


def test_a_provider_that_asks_for_rest_is_asked_nothing_meanwhile(
    provider, store, read_log, settings
):
    settings.REPLAY_PARALLEL_CALLS = 2
    busy = {"error": {"status": 429, "message": "Slow down.", "retry_after": 1}}
    fake = provider({"times": 1, "answer": busy}, {"times": 1, "delay_ms": 500, **SAY}, SAY)
    run = store(read_log("night-shift-300"), "night")
    body = {"run": "night", "models": ["openai:b"], "effects": [1 + 5 * n for n in range(8)]}
    queued = start(run, read_question(body), jobs.Asker()).replays[0]
    jobs.run_job(queued.public_id)
    assert Replay.objects.get(pk=queued.pk).status == "succeeded"
    times = sorted(asked.at for asked in fake.asked)
    assert (len(times), times[2] - times[0] > 0.9) == (9, True)


def test_a_call_that_breaks_takes_no_answer_in_the_air_with_it(
    provider, ask, settings, monkeypatch
):
    settings.REPLAY_PARALLEL_CALLS = 1
    fake = provider({"delay_ms": 100, **SAY})
    made = []

    def build_call(*args, **asked):
        if made:
            raise RuntimeError("a defect")
        made.append(providers.build_call(*args, **asked))
        return made[0]

    monkeypatch.setattr("replay.modes.prompt.build_call", build_call)
    queued = ask()
    jobs.run_job(queued.public_id)
    queued.refresh_from_db()
    assert (queued.status, queued.error_code) == ("failed", "internal_error")
    assert ([row.state for row in rows(queued)], len(fake.asked)) == (["answered", "pending"], 1)


def test_cancel_keeps_what_has_come_and_asks_no_more(provider, ask, settings):
    settings.REPLAY_PARALLEL_CALLS = 1
    fake = provider({"delay_ms": 400, **SAY})
    queued = ask()
    lease = jobs.claim(queued.public_id)
    jobs.cancel(queued)
    jobs.finish(lease, jobs.MODES["prompt"](lease))
    queued.refresh_from_db()
    assert (queued.status, len(fake.asked)) == ("cancelled", 0)


def test_a_process_that_ends_gives_the_replay_back(provider, ask):
    fake = provider({"delay_ms": 90_000, **SAY})
    queued = ask(effects=[5])
    ending = threading.Thread(target=_end_when_asked, args=(fake,))
    ending.start()
    jobs.run_job(queued.public_id)
    ending.join()
    ended = time.time()
    stop.clear()
    queued.refresh_from_db()
    assert ended - fake.asked[0].at < 30
    assert (queued.status, rows(queued)[0].state) == ("queued", "interrupted")


def _end_when_asked(fake) -> None:
    while not fake.asked:
        time.sleep(0.01)
    stop.tell(0.1)


def test_a_process_that_is_about_to_end_asks_nothing(provider, ask):
    fake = provider(SAY)
    queued = ask()
    stop.tell()
    try:
        jobs.run_job(queued.public_id)
    finally:
        stop.clear()
    queued.refresh_from_db()
    assert (queued.status, fake.asked) == ("queued", [])


def test_an_interrupted_call_is_asked_again_and_said(provider, ask):
    fake = provider(SAY)
    queued = ask(effects=[5])
    lease = jobs.claim(queued.public_id)
    ReplayEffect.objects.create(
        replay=queued, seq=5, effect=queued.run.effects.get(seq=5), state="in_flight",
        attempt=lease.attempt, calls=1, calls_allowed=4,
    )  # fmt: skip
    jobs.take_back(Replay.objects.filter(pk=queued.pk), lost=1)
    jobs.run_job(queued.public_id)
    row = rows(queued)[0]
    assert (row.state, row.calls, row.interruptions, len(fake.asked)) == ("answered", 2, 1, 1)


def test_an_interrupted_call_without_allowance_is_not_asked(provider, ask):
    fake = provider(SAY)
    queued = ask(effects=[5])
    ReplayEffect.objects.create(
        replay=queued, seq=5, effect=queued.run.effects.get(seq=5), state="interrupted",
        attempt=0, calls=4, calls_allowed=4, interruptions=1,
    )  # fmt: skip
    jobs.run_job(queued.public_id)
    row = rows(queued)[0]
    assert (row.state, row.error_code, fake.asked) == ("failed", "interrupted", [])


def test_a_recorded_failure_is_held_against_the_answer(provider, store, read_log):
    provider(SAY)
    run = store(read_log("dunning-provider-errors"), "dunning")
    question = read_question({"run": "dunning", "models": ["openai:gpt-b"]})
    queued = start(run, question, jobs.Asker()).replays[0]
    jobs.run_job(queued.public_id)
    assert [row.difference for row in rows(queued)][:2] == ["error", "error"]
    assert rows(queued)[0].summary == "answers where the recording failed: http_429"


def test_the_recorded_model_is_asked_where_no_other_is_named(provider, store, read_log):
    fake = provider(SAY)
    run = store(read_log("order-status-chat"), "orders")
    question = read_question({"run": "orders", "temperature": 0.5})
    queued = start(run, question, jobs.Asker()).replays[0]
    jobs.run_job(queued.public_id)
    assert {asked.body["model"] for asked in fake.asked} == {"gpt-4o"}
