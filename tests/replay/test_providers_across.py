"""Across APIs: what was made of a request, told from the wire; and when to ask again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from asked import ASK_CHAT, CLAUDE_BODY, CLAUDE_WIRE, COMPLETION, HELLO, KEY, codes, made
from hypothesis import given
from hypothesis import strategies as st

from replay.fake_provider import FakeProvider
from replay.providers import Provider, ProviderError, next_wait, send

# --- Across APIs: what the library made of it, told from the wire --------------------------------


def across(
    fake: FakeProvider, providers: dict[str, Provider], body: dict[str, Any], model: str
) -> tuple[dict[str, Any], set[str]]:
    result = send(made(providers, COMPLETION, model, {**ASK_CHAT, "request": body}))
    assert result.error is None
    return fake.asked[-1].body, codes(result.notes)


@pytest.mark.parametrize(
    ("model", "key"),
    [
        ("anthropic:m", ("x-api-key", KEY)),
        ("openai-responses:m", ("authorization", f"Bearer {KEY}")),
    ],
)
def test_what_the_library_says_goes_out_as_any_other_call(
    fake: FakeProvider, providers: dict[str, Provider], model: str, key: tuple[str, str]
) -> None:
    """With the key where the API wants it, and nobody's name but ours."""
    across(fake, providers, {"model": "gpt-4o", "messages": HELLO}, model)
    [asked] = fake.asked
    said = [asked.header(name) for name in ("user-agent", "accept-encoding", key[0])]
    assert said == ["rewyn-web", "identity", key[1]]
    assert not [name for name in asked.headers if name.lower().startswith("x-stainless")]


TOOL: dict[str, Any] = {
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


@pytest.mark.parametrize("model", ["anthropic:m", "openai-responses:m"])
def test_tools_that_differ_by_the_kind_of_a_number_stay_apart(
    fake: FakeProvider, providers: dict[str, Provider], model: str
) -> None:
    """What became of a tool is kept between calls; to Python 1, 1.0 and true are equal."""

    def sent(default: Any) -> str:
        parameters = {"type": "object", "properties": {"n": {"default": default}}}
        tool = {"type": "function", "function": {**TOOL["function"], "parameters": parameters}}
        return json.dumps(across(fake, providers, BODY | {"tools": [tool]}, model)[0]["tools"])

    numbers = [1, 1.0, True, 1]
    assert ['"default": ' + json.dumps(n) in sent(n) for n in numbers] == [True] * 4


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
        (1, ProviderError("rate_limited", "", 429, True, retry_after=0), 0.5),
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
