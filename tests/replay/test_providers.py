"""Asking a model again, over HTTP against the fake provider: what goes out, what comes back."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replay.dialects import CHAT, MESSAGES, RESPONSES, Overrides
from replay.fake_provider import FakeProvider, parse_rules
from replay.providers import (
    BadModel,
    Call,
    CannotAsk,
    Provider,
    ProviderError,
    Result,
    build_call,
    choose,
    next_wait,
    providers_from_env,
    send,
)

KEY = "sk-very-secret-key"
HELLO = [{"role": "user", "content": "Hello there"}]


@pytest.fixture
def fake() -> Iterator[FakeProvider]:
    with FakeProvider() as server:
        yield server


@pytest.fixture
def providers(fake: FakeProvider) -> dict[str, Provider]:
    return providers_from_env(
        {
            "OPENAI_API_KEY": KEY,
            "OPENAI_BASE_URL": fake.openai_base_url,
            "ANTHROPIC_API_KEY": KEY,
            "ANTHROPIC_BASE_URL": fake.base_url,
        }
    )


def record(shared: Path, log: str, number: int) -> dict[str, Any]:
    [file] = (shared / "data").glob(f"rig*/**/{log}.effects.json")
    return next(r for r in json.loads(file.read_text())["records"] if r["id"] == number)


def made(
    providers: dict[str, Provider],
    record: dict[str, Any],
    model: str,
    wire: Any = None,
    **overrides: Any,
) -> Call:
    provider, name = choose(model, providers)
    return build_call(record, wire, provider=provider, model=name, overrides=Overrides(**overrides))


def wired(url: str, body: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"method": "POST", "url": url, "request": body, "status": 200, **more}


COMPLETION = {"kind": {"effect": "completion", "request": {}}, "outcome": {"Ok": {}}}
CHAT_BODY = {
    "model": "gpt-4o",
    "messages": HELLO,
    "x_vendor": 18446744073709551615,
    "temperature": 1.0,
}
CLAUDE_BODY = {"model": "claude-sonnet-4-5", "max_tokens": 50, "messages": HELLO}
CHAT_WIRE = wired("https://api.openai.com/v1/chat/completions", CHAT_BODY)
CLAUDE_WIRE = wired("https://api.anthropic.com/v1/messages", CLAUDE_BODY)
ASK_CHAT = wired("https://api.openai.com/v1/chat/completions", {"model": "m", "messages": HELLO})


def codes(notes: Any) -> set[str]:
    return {note.code for note in notes}


# --- Which providers, which models ---------------------------------------------------------------


def test_a_key_in_the_environment_makes_a_provider() -> None:
    found = providers_from_env({"OPENAI_API_KEY": "a", "ANTHROPIC_API_KEY": "b"})
    assert found["openai"].url(CHAT) == "https://api.openai.com/v1/chat/completions"
    assert found["openai"].url(RESPONSES) == "https://api.openai.com/v1/responses"
    assert found["anthropic"].url(MESSAGES) == "https://api.anthropic.com/v1/messages"


def test_no_key_or_a_blank_one_makes_none() -> None:
    assert providers_from_env({"OPENAI_API_KEY": " ", "OPENAI_BASE_URL": "http://x"}) == {}


def test_the_base_urls_are_read_as_the_clients_read_them() -> None:
    found = providers_from_env(
        {
            "OPENAI_API_KEY": "a",
            "OPENAI_BASE_URL": "http://gw:1/openai/v1/",
            "ANTHROPIC_AUTH_TOKEN": "t",
            "ANTHROPIC_BASE_URL": "http://gw:1/claude",
        }
    )
    assert found["openai"].url(CHAT) == "http://gw:1/openai/v1/chat/completions"
    assert found["anthropic"].url(MESSAGES) == "http://gw:1/claude/v1/messages"
    assert found["anthropic"].secrets() == {"Authorization": "Bearer t"}


@pytest.mark.parametrize(
    ("model", "code", "said"),
    [
        ("gpt-4o", "bad_form", "openai:gpt-4o"),
        ("openai:", "bad_form", "provider:model"),
        (":gpt-4o", "bad_form", "provider:model"),
        ("mistral:large", "unknown_provider", "known are anthropic, openai"),
        ("anthropic:claude", "no_key", "ANTHROPIC_API_KEY"),
    ],
)
def test_a_model_that_cannot_be_asked_says_why(model: str, code: str, said: str) -> None:
    with pytest.raises(BadModel, match=said) as refused:
        choose(model, providers_from_env({"OPENAI_API_KEY": "a"}))
    assert refused.value.code == code


def test_a_models_name_may_have_colons() -> None:
    provider, name = choose("openai:llama3:8b", providers_from_env({"OPENAI_API_KEY": "a"}))
    assert (provider.name, name) == ("openai", "llama3:8b")


# --- Which lane, which body ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("log", "number", "model", "dialect", "lane"),
    [
        ("order-status-chat", 3, "openai:m", CHAT, "same"),
        ("order-status-chat", 3, "anthropic:m", MESSAGES, "cross"),
        ("reviewer-anthropic", 3, "anthropic:m", MESSAGES, "same"),
        ("reviewer-anthropic", 3, "openai:m", CHAT, "cross"),
        ("sql-analyst-responses", 3, "openai:m", CHAT, "cross"),
        ("sql-analyst-responses", 3, "openai-responses:m", RESPONSES, "same"),
        ("sql-analyst-responses", 3, "anthropic:m", MESSAGES, "cross"),
        ("media-inspector", 3, "openai:m", CHAT, "same"),
        ("media-inspector", 3, "anthropic:m", MESSAGES, "same"),
        ("dunning-provider-errors", 1, "openai:m", CHAT, "same"),
    ],
)
def test_lane_and_api_follow_from_the_recording(
    shared: Path,
    providers: dict[str, Provider],
    log: str,
    number: int,
    model: str,
    dialect: str,
    lane: str,
) -> None:
    call = made(providers, record(shared, log, number), model)
    assert (call.dialect, call.lane, call.body["model"]) == (dialect, lane, "m")


def test_openai_itself_is_asked_on_responses_for_what_was_recorded_there(shared: Path) -> None:
    own = providers_from_env({"OPENAI_API_KEY": "a"})
    call = made(own, record(shared, "sql-analyst-responses", 3), "openai:gpt-5.2")
    assert (call.dialect, call.lane) == (RESPONSES, "same")
    assert call.url == "https://api.openai.com/v1/responses"


def test_a_recorded_body_goes_out_with_only_the_model_changed(
    fake: FakeProvider, providers: dict[str, Provider]
) -> None:
    call = made(providers, COMPLETION, "openai:other", CHAT_WIRE)
    assert call.body == CHAT_BODY | {"model": "other"}
    assert b'"x_vendor":18446744073709551615,"temperature":1.0' in call.request_bytes()
    assert (call.lane, call.notes) == ("same", ())


def test_overrides_are_put_into_a_recorded_body(providers: dict[str, Provider]) -> None:
    call = made(
        providers, COMPLETION, "anthropic:m", CLAUDE_WIRE, temperature=0, system="Be terse."
    )
    assert call.body == CLAUDE_BODY | {"model": "m", "temperature": 0, "system": "Be terse."}


def test_beta_headers_of_the_recording_go_along(providers: dict[str, Provider]) -> None:
    wire = {**CLAUDE_WIRE, "headers": {"Anthropic-Beta": "context-1m", "x-api-key": "old"}}
    call = made(providers, COMPLETION, "anthropic:m", wire)
    assert call.headers["anthropic-beta"] == "context-1m"
    assert "old" not in str(call)


@pytest.mark.parametrize(
    ("model", "field", "path"),
    [
        ("openai:o3", {"temperature": 0}, "/temperature"),
        ("openai:gpt-5", {"top_p": 0.5}, "/top_p"),
        ("openai:gpt-5.2", {"temperature": 0, "reasoning_effort": "low"}, "/temperature"),
        ("openai:gpt-4o", {"reasoning_effort": "low"}, "/reasoning_effort"),
        ("anthropic:claude-opus-5", {"temperature": 0}, "/temperature"),
    ],
)
def test_what_a_known_model_refuses_is_said_before_the_start(
    providers: dict[str, Provider], model: str, field: dict[str, Any], path: str
) -> None:
    wire = CHAT_WIRE | {"request": {"model": "m", "messages": HELLO, **field}}
    call = made(providers, COMPLETION, model, wire)
    assert [n.path for n in call.notes if n.code == "model_may_refuse"] == [path]


@pytest.mark.parametrize(
    "model", ["openai:gpt-4o", "openai:gpt-5.2", "openai:llama", "anthropic:m"]
)
def test_nothing_is_said_of_what_a_model_takes(providers: dict[str, Provider], model: str) -> None:
    wire = CHAT_WIRE | {"request": {"model": "m", "messages": HELLO, "temperature": 0}}
    assert "model_may_refuse" not in codes(made(providers, COMPLETION, model, wire).notes)


def test_only_a_completion_can_be_asked(shared: Path, providers: dict[str, Provider]) -> None:
    with pytest.raises(CannotAsk, match="no model call"):
        made(providers, record(shared, "order-status-chat", 2), "openai:m")


# --- Same lane: one request, the answer, the times -----------------------------------------------


def test_what_is_sent_is_the_body_of_the_call(
    shared: Path, fake: FakeProvider, providers: dict[str, Provider]
) -> None:
    call = made(providers, record(shared, "order-status-chat", 3), "openai:echo-1", temperature=0)
    result = send(call)
    [asked] = fake.asked
    assert asked.body == call.body == json.loads(result.request_bytes)
    assert asked.path == "/v1/chat/completions"
    assert asked.header("authorization") == f"Bearer {KEY}"


def test_an_answer_comes_back_whole(
    shared: Path, fake: FakeProvider, providers: dict[str, Provider]
) -> None:
    call = made(providers, record(shared, "order-status-chat", 1), "openai:echo-1")
    result = send(call)
    assert result.answer and result.answer.text == "Where is my order SO-48213?"
    assert (result.status, result.error, result.request_id) == (200, None, "req_fake000001")
    assert json.loads(result.response_bytes)["object"] == "chat.completion"
    assert result.first_token_ms is None


def test_anthropic_is_asked_as_its_client_asks(
    shared: Path, fake: FakeProvider, providers: dict[str, Provider]
) -> None:
    result = send(made(providers, record(shared, "reviewer-anthropic", 3), "anthropic:m"))
    [asked] = fake.asked
    assert asked.path == "/v1/messages"
    assert asked.header("x-api-key") == KEY
    assert asked.body["messages"][1]["content"][0]["signature"] == "EqQBCkYIBRgCKkDsig0001=="
    assert result.request_id == "req_fake000001"


def test_a_recorded_stream_is_streamed_again_with_its_times(
    shared: Path, fake: FakeProvider, providers: dict[str, Provider]
) -> None:
    fake.rules = parse_rules([{"answer": {"text": "one two three four five six"}, "chunk_ms": 30}])
    seen: list[float] = []
    call = made(providers, record(shared, "city-facts-anthropic-stream", 1), "anthropic:m")
    result = send(call, on_stream=lambda event, ms: seen.append(ms))
    assert result.answer and result.answer.text == "one two three four five six"
    assert result.first_token_ms and 60 <= result.first_token_ms < result.latency_ms - 60
    assert seen == sorted(seen) and len(seen) == 8


def test_a_listener_can_end_a_call(
    shared: Path, fake: FakeProvider, providers: dict[str, Provider]
) -> None:
    def stop(event: Any, ms: float) -> None:
        raise InterruptedError("stop")

    for model in ("anthropic:m", "openai:m"):
        call = made(providers, record(shared, "city-facts-anthropic-stream", 1), model)
        with pytest.raises(InterruptedError):
            send(call, on_stream=stop)


def test_a_server_that_answers_in_another_apis_shape_is_understood(
    fake: FakeProvider, providers: dict[str, Provider]
) -> None:
    body = {"choices": [{"message": {"content": "hi"}, "finish_reason": "stop"}]}
    fake.rules = parse_rules([{"answer": {"malformed": json.dumps(body)}}])
    wire = wired("https://api.openai.com/v1/responses", {"model": "m", "input": "x"})
    result = send(made(providers, COMPLETION, "openai:m", wire))
    assert fake.asked[0].path == "/v1/responses"
    assert result.answer and result.answer.text == "hi"


# --- Both lanes: every log, every failure --------------------------------------------------------

MIXED = [
    "reviewer-anthropic",
    "sql-analyst-responses",
    "order-status-chat",
    "media-inspector",
    "options-schema",
    "structured-output-tool",
    "unknown-tool-recovered",
    "sql-tool-errors",
    "unicode-edges",
    "local-call-ids",
    "city-facts-anthropic-stream",
    "travel-responses-stream",
    "writer-finish-reasons",
    "02-two-tools-memory",
    "04-retrieval-failing-tool",
]


@pytest.mark.parametrize("model", ["openai:gpt-4o", "openai-responses:gpt-4o", "anthropic:m"])
@pytest.mark.parametrize("log", MIXED)
def test_each_call_of_a_log_is_asked_once_and_answered(
    shared: Path, fake: FakeProvider, providers: dict[str, Provider], log: str, model: str
) -> None:
    [file] = (shared / "data").glob(f"rig*/**/{log}.effects.json")
    records = json.loads(file.read_text())["records"]
    asked = [r for r in records if r["kind"]["effect"] == "completion"]
    results = [send(made(providers, r, model)) for r in asked]
    assert [result.error for result in results] == [None] * len(asked)
    assert not any("library_refused" in codes(result.notes) for result in results)
    assert len(fake.asked) == len(asked)
    assert [json.loads(result.request_bytes) for result in results] == [a.body for a in fake.asked]


LANES = [
    pytest.param(ASK_CHAT, "openai:m", id="same"),
    pytest.param(ASK_CHAT, "anthropic:m", id="cross"),
]


def failed(
    fake: FakeProvider,
    providers: dict[str, Provider],
    wire: Any,
    model: str,
    rule: Any,
    **limits: Any,
) -> Result:
    fake.rules = parse_rules([rule])
    result = send(made(providers, COMPLETION, model, wire), **limits)
    assert len(fake.asked) == 1
    assert result.answer is None
    return result


@pytest.mark.parametrize(
    ("rule", "kind", "status", "retryable"),
    [
        ({"answer": {"error": {"status": 400}}}, "bad_request", 400, False),
        ({"answer": {"error": {"status": 401}}}, "auth", 401, False),
        ({"answer": {"error": {"status": 404}}}, "not_found", 404, False),
        ({"answer": {"error": {"status": 408}}}, "timeout", 408, True),
        ({"answer": {"error": {"status": 413}}}, "too_large", 413, False),
        ({"answer": {"error": {"status": 429}}}, "rate_limited", 429, True),
        ({"answer": {"error": {"status": 500}}}, "server", 500, True),
        ({"answer": {"error": {"status": 503}}}, "overloaded", 503, True),
        ({"answer": {"error": {"status": 529}}}, "overloaded", 529, True),
        ({"answer": {"malformed": "<html>"}}, "malformed", 200, False),
        ({"answer": {"malformed": "{}"}}, "malformed", 200, False),
        ({"answer": {"drop": True}}, "dropped", None, True),
        (
            {"answer": {"error": {"status": 302}, "headers": {"Location": "http://127.0.0.1:9/"}}},
            "redirect",
            302,
            False,
        ),
        (
            {"answer": {"error": {"status": 429, "code": "insufficient_quota"}}},
            "rate_limited",
            429,
            False,
        ),
        (
            {"answer": {"error": {"status": 500}, "headers": {"x-should-retry": "false"}}},
            "server",
            500,
            False,
        ),
    ],
)
@pytest.mark.parametrize(("wire", "model"), LANES[:1])
def test_a_failure_has_its_kind_and_one_request(
    fake: FakeProvider,
    providers: dict[str, Provider],
    wire: Any,
    model: str,
    rule: Any,
    kind: str,
    status: int | None,
    retryable: bool,
) -> None:
    error = failed(fake, providers, wire, model, rule).error
    assert error and (error.kind, error.status, error.retryable) == (kind, status, retryable)


@pytest.mark.parametrize(
    ("rule", "kind"),
    [
        ({"answer": {"error": {"status": 429}}}, "rate_limited"),
        ({"answer": {"error": {"status": 500}}}, "server"),
        ({"answer": {"malformed": "<html>"}}, "malformed"),
        ({"answer": {"drop": True}}, "dropped"),
        (
            {"answer": {"error": {"status": 302}, "headers": {"Location": "http://127.0.0.1:9/"}}},
            "redirect",
        ),
    ],
)
@pytest.mark.parametrize("model", ["anthropic:m", "openai-responses:m"])
def test_a_failure_across_apis_has_its_kind_and_one_request(
    fake: FakeProvider, providers: dict[str, Provider], rule: Any, kind: str, model: str
) -> None:
    error = failed(fake, providers, ASK_CHAT, model, rule).error
    assert error and error.kind == kind


@pytest.mark.parametrize(("wire", "model"), LANES)
def test_the_error_has_the_providers_words_and_its_retry_after(
    fake: FakeProvider, providers: dict[str, Provider], wire: Any, model: str
) -> None:
    refusal = {"status": 429, "message": "Slow down, please", "retry_after": 7}
    result = failed(fake, providers, wire, model, {"answer": {"error": refusal}})
    assert result.error and result.error.message == "Slow down, please"
    assert result.error.retry_after == 7
    assert result.request_id == "req_fake000001"


@pytest.mark.parametrize(("wire", "model"), LANES)
def test_an_answer_that_takes_too_long_is_a_timeout(
    fake: FakeProvider, providers: dict[str, Provider], wire: Any, model: str
) -> None:
    rule = {"answer": {"text": "late"}, "delay_ms": 5000}
    result = failed(fake, providers, wire, model, rule, timeout=0.3)
    assert result.error and (result.error.kind, result.error.retryable) == ("timeout", True)
    assert result.latency_ms < 3000


@pytest.mark.parametrize(("wire", "model"), LANES)
def test_an_answer_that_is_too_long_is_not_kept(
    fake: FakeProvider, providers: dict[str, Provider], wire: Any, model: str
) -> None:
    rule = {"answer": {"text": "x" * 500_000}}
    result = failed(fake, providers, wire, model, rule, most_bytes=100_000)
    assert result.error and result.error.kind == "too_large"
    assert len(result.response_bytes) < 400_000


STREAMED = [
    pytest.param({**ASK_CHAT["request"], "stream": True}, "openai:m", id="same"),
    pytest.param({**ASK_CHAT["request"], "stream": True}, "anthropic:m", id="cross"),
]


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        ({"text": "one two three four", "error_after": 3}, "stream_error"),
        ({"text": "one two three four", "drop_after": 3}, "dropped"),
    ],
)
@pytest.mark.parametrize(("body", "model"), STREAMED)
def test_a_stream_that_breaks_is_no_answer(
    fake: FakeProvider,
    providers: dict[str, Provider],
    body: Any,
    model: str,
    answer: Any,
    kind: str,
) -> None:
    wire = {**ASK_CHAT, "request": body}
    result = failed(fake, providers, wire, model, {"answer": answer})
    assert result.error and result.error.kind == kind
    assert result.response_bytes


def test_a_slow_stream_is_cut_at_the_deadline(
    fake: FakeProvider, providers: dict[str, Provider]
) -> None:
    wire = {**ASK_CHAT, "request": {**ASK_CHAT["request"], "stream": True}}
    rule = {"answer": {"text": "word " * 200}, "chunk_ms": 100}
    started = time.monotonic()
    result = failed(fake, providers, wire, "openai:m", rule, timeout=0.5)
    assert result.error and result.error.kind == "timeout"
    assert time.monotonic() - started < 3


def test_nobody_listening_is_a_connection_error(fake: FakeProvider) -> None:
    env = {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}
    result = send(made(providers_from_env(env), COMPLETION, "openai:m", ASK_CHAT))
    assert result.error and (result.error.kind, result.error.retryable) == ("connection", True)


@pytest.mark.parametrize(("wire", "model"), LANES)
def test_calls_on_many_threads_keep_apart(
    fake: FakeProvider, providers: dict[str, Provider], wire: Any, model: str
) -> None:
    fake.rules = parse_rules([{"answer": {"text": "{last}"}, "delay_ms": 50}])

    def ask(word: str) -> str | None:
        body = {"model": "m", "messages": [{"role": "user", "content": word}]}
        result = send(made(providers, COMPLETION, model, {**wire, "request": body}))
        return result.answer.text if result.answer else None

    words = [f"word {number}" for number in range(12)]
    with ThreadPoolExecutor(6) as threads:
        assert list(threads.map(ask, words)) == words
    assert (len(fake.asked), fake.peak > 1) == (12, True)


# --- The key stays where it is -------------------------------------------------------------------


@pytest.mark.parametrize(("wire", "model"), LANES)
def test_a_key_that_a_server_says_back_is_masked(
    fake: FakeProvider, providers: dict[str, Provider], wire: Any, model: str
) -> None:
    refusal = {"status": 401, "message": f"Incorrect API key provided: {KEY}."}
    result = failed(fake, providers, wire, model, {"answer": {"error": refusal}})
    assert result.error and result.error.message == "Incorrect API key provided: [key]."
    assert KEY not in str(result)
    assert KEY.encode() not in result.request_bytes + result.response_bytes


def test_the_key_is_in_no_repr(providers: dict[str, Provider]) -> None:
    call = made(providers, COMPLETION, "openai:m", CHAT_WIRE)
    assert KEY not in repr(call) + repr(providers) + str(dict(call.headers))


def test_a_password_in_the_address_is_not_shown() -> None:
    env = {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": "http://me:pass@gw:1/v1"}
    call = made(providers_from_env(env), COMPLETION, "openai:m", CHAT_WIRE)
    assert call.url == "http://gw:1/v1/chat/completions"


# --- Across APIs: what the library made of it, told from the wire --------------------------------


def across(
    fake: FakeProvider, providers: dict[str, Provider], body: dict[str, Any], model: str
) -> tuple[dict[str, Any], set[str]]:
    result = send(made(providers, COMPLETION, model, {**ASK_CHAT, "request": body}))
    assert result.error is None
    return fake.asked[-1].body, codes(result.notes)


TOOL = {
    "type": "function",
    "function": {
        "name": "f",
        "description": "d",
        "parameters": {"type": "object", "properties": {}},
    },
}
BODY = {"model": "gpt-4o", "messages": HELLO}


@pytest.mark.parametrize(
    ("field", "noted"),
    [
        ({"seed": 7}, {"seed_left_out"}),
        ({"stop": ["END"]}, set()),
        ({"temperature": 0}, set()),
        ({"max_tokens": 9}, set()),
        ({"logit_bias": {"1": 2}}, {"param_left_out"}),
        ({"tools": [TOOL], "tool_choice": "required"}, set()),
        ({"tools": [TOOL], "tool_choice": {"type": "function", "function": {"name": "f"}}}, set()),
        ({"messages": [{"role": "user", "content": "Hi", "name": "ann"}]}, {"field_left_out"}),
    ],
)
def test_what_the_library_drops_on_the_way_to_anthropic_is_noted(
    fake: FakeProvider, providers: dict[str, Provider], field: dict[str, Any], noted: set[str]
) -> None:
    _, found = across(fake, providers, BODY | field, "anthropic:m")
    assert found - {"api_changed", "max_tokens_added"} == noted


@pytest.mark.filterwarnings("ignore:Sampling parameters:UserWarning")
def test_a_temperature_the_model_does_not_take_is_noted(
    fake: FakeProvider, providers: dict[str, Provider]
) -> None:
    sent, noted = across(fake, providers, BODY | {"temperature": 0}, "anthropic:claude-opus-5")
    assert "temperature" not in sent
    assert "temperature_left_out" in noted


def test_settings_reach_anthropic_under_its_names(
    fake: FakeProvider, providers: dict[str, Provider]
) -> None:
    body = BODY | {"temperature": 0, "max_tokens": 9, "stop": ["END"], "tools": [TOOL]}
    sent, _ = across(fake, providers, body, "anthropic:m")
    assert (sent["temperature"], sent["max_tokens"], sent["stop_sequences"]) == (0, 9, ["END"])
    assert [tool["name"] for tool in sent["tools"]] == ["f"]


def test_a_failed_result_and_reasoning_reach_openai_reworded(
    shared: Path, fake: FakeProvider, providers: dict[str, Provider]
) -> None:
    used = {"type": "tool_use", "id": "t1", "name": "f", "input": {}}
    thought = {"type": "thinking", "thinking": "Hm, let me see", "signature": "c2ln"}
    failure = {"type": "tool_result", "tool_use_id": "t1", "content": "boom", "is_error": True}
    turns = [
        *HELLO,
        {"role": "assistant", "content": [thought, used]},
        {"role": "user", "content": [failure]},
    ]
    tool = {"name": "f", "input_schema": {"type": "object", "properties": {}}}
    wire = {**CLAUDE_WIRE, "request": {**CLAUDE_BODY, "messages": turns, "tools": [tool]}}
    result = send(made(providers, COMPLETION, "openai:m", wire))
    assert {"is_error_reworded", "reasoning_reworded", "max_tokens_renamed"} <= codes(result.notes)
    sent = json.dumps(fake.asked[0].body)
    assert "t1" in sent and "boom" in sent and "Hm, let me see" in sent


def test_an_image_reaches_the_other_api(fake: FakeProvider, providers: dict[str, Provider]) -> None:
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
    link = {"type": "image_url", "image_url": {"url": "https://img.example/p.png"}}
    asked = [{"role": "user", "content": [{"type": "text", "text": "See"}, image, link]}]
    sent, found = across(fake, providers, BODY | {"messages": asked}, "anthropic:m")
    sources = [block["source"] for block in sent["messages"][0]["content"][1:]]
    assert [source["type"] for source in sources] == ["base64", "url"]
    assert "media_left_out" not in found


def test_a_schema_reaches_the_other_api(fake: FakeProvider, providers: dict[str, Provider]) -> None:
    schema = {"type": "object", "properties": {"net": {"type": "number"}}, "required": ["net"]}
    shape = {"type": "json_schema", "json_schema": {"name": "Invoice", "schema": schema}}
    sent, found = across(
        fake, providers, BODY | {"response_format": shape}, "anthropic:claude-opus-5"
    )
    assert sent["output_config"]["format"]["schema"]["properties"] == schema["properties"]
    assert not {"schema_left_out", "library_refused"} & found


def test_what_the_library_refuses_to_send_goes_out_in_our_own_words(
    fake: FakeProvider, providers: dict[str, Provider]
) -> None:
    body = BODY | {"tools": [TOOL], "tool_choice": {"type": "function", "function": {"name": "g"}}}
    result = send(made(providers, COMPLETION, "anthropic:m", {**ASK_CHAT, "request": body}))
    assert "library_refused" in codes(result.notes)
    assert len(fake.asked) == 1
    assert result.error and "Tool 'g' not found" in result.error.message


def test_overrides_reach_the_other_api(fake: FakeProvider, providers: dict[str, Provider]) -> None:
    send(made(providers, COMPLETION, "anthropic:m", ASK_CHAT, temperature=0, system="Be terse."))
    assert fake.asked[0].body["temperature"] == 0
    assert fake.asked[0].body["system"] == "Be terse."


# --- When to ask again ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("attempt", "error", "expected"),
    [
        (1, ProviderError("server", "", 500, True), 0.5),
        (2, ProviderError("server", "", 500, True), 1.0),
        (4, ProviderError("server", "", 500, True), 4.0),
        (5, ProviderError("server", "", 500, True), None),
        (1, ProviderError("bad_request", "", 400, False), None),
        (1, ProviderError("rate_limited", "", 429, True, retry_after=0), 0),
        (1, ProviderError("rate_limited", "", 429, True, retry_after=12.5), 12.5),
        (1, ProviderError("rate_limited", "", 429, True, retry_after=3600), None),
    ],
)
def test_next_wait(attempt: int, error: ProviderError, expected: float | None) -> None:
    assert next_wait(attempt, error) == expected


@given(st.integers(1, 60), st.floats(0, 1))
def test_a_wait_is_bounded_and_jitter_only_adds(attempt: int, jitter: float) -> None:
    error = ProviderError("server", "", 500, True)
    plain = next_wait(attempt, error, most=100)
    spread = next_wait(attempt, error, most=100, jitter=jitter)
    assert plain is not None and spread is not None
    assert 0 < plain <= spread <= plain * 1.25 <= 75
