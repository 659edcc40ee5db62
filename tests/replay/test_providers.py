"""Providers and models that can be asked; one lane's request, answer and times."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from asked import (
    CHAT_BODY,
    CHAT_WIRE,
    CLAUDE_BODY,
    CLAUDE_WIRE,
    COMPLETION,
    HELLO,
    KEY,
    codes,
    made,
    record,
    wired,
)

from replay.dialects import CHAT, MESSAGES, RESPONSES
from replay.fake_provider import FakeProvider, parse_rules
from replay.providers import BadModel, CannotAsk, Provider, choose, providers_from_env, send
from replay.providers.catalog import OPENAI_URL
from replay.providers.exchange import Exchange

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
    assert b'"x_vendor":18446744073709551615,"temperature":1.0' in call.request_bytes
    assert (call.lane, codes(call.notes)) == ("same", {"param_unknown"})


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
    recorded = CLAUDE_WIRE if model.startswith("anthropic") else CHAT_WIRE
    wire = recorded | {"request": {"model": "m", "messages": HELLO, **field}}
    call = made(providers, COMPLETION, model, wire)
    assert call.lane == "same"
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
    fake.rules = parse_rules([{"answer": {"text": "one two three four five six"}, "chunk_ms": 100}])
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


@pytest.mark.parametrize(
    ("headers", "named"),
    [
        ({"X-Request-Id": "req_1", "CF-Ray": "ray"}, "req_1"),
        ({"Mistral-Correlation-Id": "mis_1"}, "mis_1"),
        ({"apim-request-id": "az_1"}, "az_1"),
        ({}, "gen-1"),
    ],
)
def test_a_call_is_known_by_the_id_its_maker_gives_it(
    providers: dict[str, Provider], headers: dict[str, str], named: str
) -> None:
    """OpenRouter and Google name it in the answer alone."""
    exchange = Exchange(providers["openai"], timeout=9)
    exchange.begin(200, {"content-type": "application/json", **headers})
    choice = {"message": {"role": "assistant", "content": "Hi"}, "finish_reason": "stop"}
    exchange.take(json.dumps({"id": "gen-1", "choices": [choice]}).encode())
    exchange.end()
    assert exchange.result().request_id == named


@pytest.mark.parametrize(
    ("url", "body", "asked"),
    [
        (OPENAI_URL, {"stream": True}, {"include_usage": True}),
        (OPENAI_URL, {"stream": True, "stream_options": {"x": 1}}, {"x": 1, "include_usage": True}),
        (OPENAI_URL, {"stream": True, "stream_options": {"include_usage": True}}, None),
        (OPENAI_URL, {"stream": False}, None),
        ("http://vllm.example/v1", {"stream": True}, None),
    ],
)
def test_a_recorded_stream_is_asked_for_its_usage_where_that_is_known(
    url: str, body: dict[str, Any], asked: dict[str, Any] | None
) -> None:
    """Its cost would be unknown, and a budget could not be kept to."""
    provider = Provider("openai", url, KEY)
    recorded = {"model": "gpt-4o", "messages": HELLO, **body}
    call = made(
        {"openai": provider}, COMPLETION, "openai:gpt-4o", {**CHAT_WIRE, "request": recorded}
    )
    changed = {"stream_options": asked} if asked else {}
    assert call.body == {**recorded, **changed}
    assert ("usage_asked" in codes(call.notes)) == bool(asked)
