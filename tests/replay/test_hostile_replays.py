"""Providers and clients that send what nobody should: it is told, and costs nothing more."""

from __future__ import annotations

import json
from functools import partial
from urllib.parse import quote

import factories
import pytest
from django.db import DataError

from replay import jobs, results
from replay.models import Experiment, Replay, ReplayEffect
from replay.providers.catalog import providers_from_env
from replay.providers.exchange import Exchange
from replay.questions import read_question
from runs.refusals import Refused
from runs.storage import segments


@pytest.fixture
def replay(run, replay):
    """replay() -> the Replay, done, with another model."""
    return partial(replay, models=["openai:gpt-4o"])


def column(replay: Replay, name: str) -> list:
    rows = ReplayEffect.objects.filter(replay=replay).order_by("seq")
    return list(rows.values_list(name, flat=True))


@pytest.mark.parametrize("odd", [10**30, 10**12 + 1, -1, 1.5])
def test_an_odd_token_count_is_unknown_and_the_answer_stays(provider, replay, odd):
    fake = provider({"answer": {"text": "ok", "usage": {"input": odd, "output": 7}}})
    done = replay()
    assert (done.status, len(fake.asked), done.calls) == ("succeeded", 2, 2)
    assert column(done, "input_tokens") == [None, None]
    assert column(done, "output_tokens") == [7, 7]


def test_the_largest_token_counts_are_kept_and_not_priced_out_of_the_column(provider, replay):
    most = {"input": 10**12, "output": 10**12}
    fake = provider({"answer": {"text": "ok", "usage": most}})
    done = replay()
    assert (done.status, len(fake.asked)) == ("succeeded", 2)
    assert column(done, "output_tokens") == [10**12, 10**12]


@pytest.mark.parametrize("error", [DataError("no"), OverflowError("big"), ValueError("NUL")])
def test_an_answer_that_no_column_takes_fails_alone(provider, replay, monkeypatch, settings, error):
    settings.REPLAY_PARALLEL_CALLS = 1
    store_answer, met = results.answer, []

    def first_breaks(lease, row_id, **columns):
        met.append(row_id)
        if len(met) == 1:
            raise error
        return store_answer(lease, row_id, **columns)

    monkeypatch.setattr(results, "answer", first_breaks)
    fake = provider({"answer": {"text": "ok"}})
    done = replay()
    assert (done.status, len(fake.asked)) == ("partial", 2)
    assert column(done, "state") == ["failed", "answered"]
    assert column(done, "error_code") == ["unstorable", ""]


@pytest.mark.parametrize("error", [DataError("no"), RuntimeError("bug")])
def test_a_replay_that_breaks_ends_and_leaves_nothing_in_flight(
    provider, replay, monkeypatch, error
):
    def breaks(*_args, **_columns):
        raise error

    monkeypatch.setattr("replay.modes.prompt._Asking._land", breaks)
    provider({"answer": {"text": "ok"}})
    done = replay()
    assert (done.status, done.error_code) == ("failed", "internal_error")
    assert "in_flight" not in column(done, "state")


@pytest.mark.parametrize("name", ["a\x00b", "a\ud800b", "x" * 5000])
def test_an_unknown_field_of_any_name_is_refused_in_short(run, api, name):
    answer = api("POST", "/api/v1/replays", json.dumps({"run": "run-1", name: 1}).encode())
    told = answer.json()["error"]
    assert (answer.status_code, told["code"]) == (422, "unknown_field")
    assert len(told["field"]) <= 100
    assert "\x00" not in told["field"]


def test_an_unknown_field_is_named_as_it_can_be_shown():
    with pytest.raises(Refused) as refused:
        read_question({"run": "r", "a\x00": 1})
    assert refused.value.field == "a␀"


@pytest.mark.parametrize("path", ["runs/a%00b/replay", "runs/a%00b/replays", "runs/a%20b/replay"])
def test_a_page_of_no_possible_run_is_not_there(member_client, path):
    assert member_client.get(f"/p/acme/{path}").status_code == 404


def test_a_position_beyond_every_column_is_not_there(member_client, project):
    path = f"/p/acme/replays/rp_x/effects/{10**30}/sent"
    assert member_client.get(path).status_code == 404


@pytest.mark.parametrize("path", ["/sign-in/a%00b", "/join/a%00b"])
def test_a_one_time_link_with_nul_is_answered(client, db, path):
    assert client.get(path).status_code < 500


# --- Keys that a provider says back --------------------------------------------------------------

OPENAI_KEY, ANTHROPIC_KEY = "sk-test-openai", "sk-test-anthropic"


def kept(replay: Replay) -> str:
    """Everything the rows of a replay keep, as one text."""
    rows = ReplayEffect.objects.filter(replay=replay)
    bodies = [segments.decompress(b).decode() for r in rows for b in (r.sent, r.response, r.answer)]
    columns = [str(list(rows.values("request_id", "error_text", "changes", "summary", "notes")))]
    return "\n".join(bodies + columns)


@pytest.mark.parametrize("key", [OPENAI_KEY, ANTHROPIC_KEY])
def test_no_configured_key_is_kept_from_headers_or_text(provider, replay, key):
    headers = {"x-request-id": f"req-{key}"}
    provider({"answer": {"text": f"my key: {key}", "headers": headers}})
    done = replay()
    assert done.status == "succeeded"
    assert key not in kept(done)
    assert column(done, "request_id") == ["req-[key]", "req-[key]"]


@pytest.mark.parametrize(
    "written", [r"\u0073k-test-openai", r"sk\u002Dtest\u002dopenai", r"\\u0073k-test-openai"]
)
def test_a_key_in_escapes_is_masked_and_the_answer_stays(provider, replay, written):
    message = '{"role":"assistant","content":"say %s"}' % written  # noqa: UP031
    provider({"answer": {"malformed": '{"choices":[{"message":%s}]}' % message}})  # noqa: UP031
    done = replay()
    found = ReplayEffect.objects.filter(replay=done)[0]
    assert done.status == "succeeded"
    assert json.loads(segments.decompress(found.answer))["text"] == "say [key]"


def test_a_key_in_pieces_of_a_stream_is_masked_in_the_answer():
    env = {"OPENAI_API_KEY": OPENAI_KEY, "ANTHROPIC_API_KEY": ANTHROPIC_KEY}
    exchange = Exchange(providers_from_env(env)["openai"], timeout=60)
    exchange.begin(200, {"content-type": "text/event-stream"})
    for piece in ("sk-test-", "anthropic"):
        delta = {"choices": [{"index": 0, "delta": {"content": piece}, "finish_reason": None}]}
        exchange.take(f"data: {json.dumps(delta)}\n\n".encode())
    ended = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
    exchange.take(f"data: {json.dumps(ended)}\n\ndata: [DONE]\n\n".encode())
    exchange.end()
    answer = exchange.result().answer
    assert answer and answer.text == "[key]"


# --- Asked twice, asked nowhere ------------------------------------------------------------------


def test_the_same_models_asked_twice_are_one_experiment(run, api, provider, monkeypatch):
    monkeypatch.setattr(jobs, "ring", lambda public_id: None)
    provider()
    body = json.dumps({"run": "run-1", "models": ["openai:a", "anthropic:b"]}).encode()
    first, second = (api("POST", "/api/v1/replays", body) for _ in range(2))
    assert (first.status_code, second.status_code) == (201, 200)
    assert second.json()["experiment"] == first.json()["experiment"]
    assert Experiment.objects.count() == 1


@pytest.mark.parametrize("path", ["/api/", "/api/v1/", "/api/v1/runs/", "/api/v2/x", "/api/a%00"])
@pytest.mark.parametrize("method", ["GET", "POST", "DELETE", "OPTIONS"])
def test_an_unknown_address_of_the_api_answers_in_its_shape(client, db, path, method):
    answer = client.generic(method, path)
    assert answer.status_code == 404
    assert answer.json()["error"]["code"] == "not_found"


@pytest.mark.parametrize("path", ["/api/docs/", "/api/schema"])
def test_the_documentation_is_only_read(client, db, path):
    assert client.options(path).status_code == 405
    assert client.get(path).status_code == 200


@pytest.mark.parametrize("number", ["9223372036854775808", "9" * 30, "-1", "a\0b", "%s"])
@pytest.mark.parametrize(
    "address",
    [
        "review?assignee={}",
        "review?after=3.{}",
        "review?cluster={}",
        "runs?after=1767225600000000.{}",
        "runs?agent={}",
        "runs/run-1?at={}",
        "runs/run-1/steps?at=1&until={}",
    ],
)
def test_a_number_no_column_takes_breaks_no_page(run, member_client, address, number):
    told = f"/p/acme/{address.format(quote(number))}"
    assert member_client.get(told).status_code in (200, 302, 400, 404)


@pytest.mark.parametrize("levels", [600, 900])
@pytest.mark.parametrize(("answer", "difference"), [("text", "facts"), ("tool", "tool_calls")])
def test_an_answer_that_nests_deep_is_compared_and_shown(
    store, provider, replay, member_client, levels, answer, difference
):
    """Python calls itself for each level, and has an end."""
    deep = "[" * levels + "1" + "]" * levels
    called = {"name": "look_up", "arguments": f'{{"a":{deep}}}'}
    said = deep.replace("1", "2")
    store(factories.log(factories.completion(1, said=said)), "deep")
    provider({"answer": {"text": deep} if answer == "text" else {"tool": called}})
    done = replay("deep")
    assert (done.status, column(done, "difference")) == ("succeeded", [difference])
    for show in ("words", "json"):
        page = member_client.get(f"/p/acme/replays/{done.public_id}?at=1&show={show}")
        assert page.status_code == 200
