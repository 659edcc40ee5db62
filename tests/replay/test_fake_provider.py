"""The fake provider, as the real client libraries meet it: over HTTP, whole and streamed.

The libraries are imported where they are used: it takes seconds, and each worker reads this file.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx2
import pytest
from django.core.management import CommandError, call_command

from replay.fake_provider import BadRules, FakeProvider, load_rules, parse_rules

if TYPE_CHECKING:
    import anthropic
    import openai

ROOT = Path(__file__).resolve().parents[2]
TOOL_RULE = {
    "when": {"contains": "weather"},
    "answer": {"tool": {"name": "weather", "arguments": {"city": "Göteborg"}, "id": "call_w1"}},
}
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
CHAT_TOOL = {"type": "function", "function": {"name": "weather", "parameters": SCHEMA}}
ASK = [{"role": "user", "content": "What is the weather?"}]
HELLO = [{"role": "user", "content": "Hello there"}]


@pytest.fixture
def fake() -> Iterator[FakeProvider]:
    with FakeProvider([TOOL_RULE]) as server:
        yield server


@pytest.fixture
def gpt(fake: FakeProvider) -> Iterator[openai.OpenAI]:
    import openai

    with openai.OpenAI(api_key="sk-t", base_url=fake.openai_base_url, max_retries=0) as client:
        yield client


@pytest.fixture
def claude(fake: FakeProvider) -> Iterator[anthropic.Anthropic]:
    import anthropic

    with anthropic.Anthropic(api_key="sk-t", base_url=fake.base_url, max_retries=0) as client:
        yield client


def post(fake: FakeProvider, path: str, body: Any, **headers: str) -> httpx2.Response:
    sent = {"authorization": "Bearer sk-t", "anthropic-version": "2023-06-01", **headers}
    return httpx2.post(f"{fake.base_url}{path}", json=body, headers=sent)


def messages_body(*messages: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"model": "m", "max_tokens": 100, "messages": list(messages), **fields}


# --- Chat Completions --------------------------------------------------------------------------


def test_chat_answers_the_openai_client(gpt: openai.OpenAI) -> None:
    answer = gpt.chat.completions.create(model="echo-1", messages=HELLO)
    assert answer.choices[0].message.content == "Hello there"
    assert answer.choices[0].finish_reason == "stop"
    assert answer.usage and answer.usage.total_tokens > 2


def test_chat_calls_a_tool(gpt: openai.OpenAI) -> None:
    answer = gpt.chat.completions.create(model="m", messages=ASK, tools=[CHAT_TOOL])
    call = answer.choices[0].message.tool_calls[0]
    assert (call.id, call.function.name) == ("call_w1", "weather")
    assert json.loads(call.function.arguments) == {"city": "Göteborg"}
    assert answer.choices[0].finish_reason == "tool_calls"


def test_chat_streams_the_same_text_and_usage(gpt: openai.OpenAI) -> None:
    whole = gpt.chat.completions.create(model="m", messages=HELLO)
    chunks = list(
        gpt.chat.completions.create(
            model="m", messages=HELLO, stream=True, stream_options={"include_usage": True}
        )
    )
    deltas = [choice.delta.content or "" for chunk in chunks for choice in chunk.choices]
    assert "".join(deltas) == whole.choices[0].message.content
    assert chunks[-1].usage == whole.usage
    assert len(chunks) > 4


def test_chat_streams_a_call_in_fragments(gpt: openai.OpenAI) -> None:
    with gpt.chat.completions.stream(model="m", messages=ASK, tools=[CHAT_TOOL]) as stream:
        final = stream.get_final_completion()
    call = final.choices[0].message.tool_calls[0]
    assert (call.id, call.function.arguments) == ("call_w1", '{"city":"Göteborg"}')


def test_chat_refuses_in_its_own_field(gpt: openai.OpenAI) -> None:
    answer = gpt.chat.completions.create(model="refuse-1", messages=HELLO)
    assert answer.choices[0].message.refusal == "I can't help with that request."
    assert answer.choices[0].message.content is None


# --- Responses ---------------------------------------------------------------------------------


def test_responses_answers_the_openai_client(gpt: openai.OpenAI) -> None:
    answer = gpt.responses.create(model="echo-1", input="Hello there")
    assert answer.output_text == "Hello there"
    assert answer.status == "completed"


def test_responses_streams_events_the_client_can_fold(gpt: openai.OpenAI) -> None:
    with gpt.responses.stream(model="think-1", input="Hello there") as stream:
        kinds = [event.type for event in stream]
        final = stream.get_final_response()
    assert [item.type for item in final.output] == ["reasoning", "message"]
    assert "response.reasoning_summary_text.delta" in kinds
    assert kinds[-1] == "response.completed"


def test_responses_streams_a_call(gpt: openai.OpenAI) -> None:
    tool = {"type": "function", "name": "weather", "parameters": SCHEMA, "strict": False}
    with gpt.responses.stream(model="m", input="weather?", tools=[tool]) as stream:
        call = stream.get_final_response().output[0]
    assert (call.call_id, call.arguments) == ("call_w1", '{"city":"Göteborg"}')


def test_responses_cut_short_is_incomplete(gpt: openai.OpenAI, fake: FakeProvider) -> None:
    fake.rules = parse_rules([{"answer": {"text": "Once", "finish_reason": "length"}}])
    answer = gpt.responses.create(model="m", input="A story")
    assert answer.status == "incomplete"
    assert answer.incomplete_details.reason == "max_output_tokens"


# --- Messages ----------------------------------------------------------------------------------


def test_messages_answers_the_anthropic_client(claude: anthropic.Anthropic) -> None:
    answer = claude.messages.create(model="echo-1", max_tokens=50, messages=HELLO)
    assert answer.content[0].text == "Hello there"
    assert answer.stop_reason == "end_turn"
    assert answer.usage.output_tokens == 3  # eleven letters, a token for each four


def test_messages_streams_thinking_text_and_usage(claude: anthropic.Anthropic) -> None:
    with claude.messages.stream(model="think-1", max_tokens=50, messages=HELLO) as stream:
        final = stream.get_final_message()
    whole = claude.messages.create(model="think-1", max_tokens=50, messages=HELLO)
    assert [block.type for block in final.content] == ["thinking", "text"]
    assert final.content[1].text == whole.content[1].text
    assert final.usage.output_tokens == whole.usage.output_tokens


def test_messages_streams_a_call(claude: anthropic.Anthropic) -> None:
    tool = {"name": "weather", "input_schema": SCHEMA}
    asked = {"model": "m", "max_tokens": 50, "messages": ASK, "tools": [tool]}
    with claude.messages.stream(**asked) as stream:
        final = stream.get_final_message()
    assert final.content[0].input == {"city": "Göteborg"}
    assert final.stop_reason == "tool_use"


def test_messages_is_served_without_its_version_too(fake: FakeProvider) -> None:
    assert post(fake, "/messages", messages_body(*HELLO)).status_code == 200


# --- Models, keys, ids --------------------------------------------------------------------------


def test_models_are_listed_to_both_clients(gpt: openai.OpenAI, claude: anthropic.Anthropic) -> None:
    names = [model.id for model in gpt.models.list()]
    assert "echo-recorded" in names
    assert [model.id for model in claude.models.list()] == names


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/responses", "/v1/messages"])
def test_a_request_without_a_key_is_401(fake: FakeProvider, path: str) -> None:
    answer = httpx2.post(f"{fake.base_url}{path}", json={})
    assert answer.status_code == 401


def test_each_answer_carries_its_request_id(fake: FakeProvider) -> None:
    assert post(fake, "/v1/messages", messages_body(*HELLO)).headers["request-id"] == (
        "req_fake000001"
    )
    chat = post(fake, "/v1/chat/completions", {"model": "m", "messages": HELLO})
    assert chat.headers["x-request-id"] == "req_fake000002"


def test_what_was_asked_is_kept(gpt: openai.OpenAI, fake: FakeProvider) -> None:
    gpt.chat.completions.create(model="m", messages=HELLO, temperature=0)
    asked = fake.asked[0]
    assert (asked.path, asked.body["temperature"]) == ("/v1/chat/completions", 0)
    assert asked.header("AUTHORIZATION") == "Bearer sk-t"


def test_two_models_answer_differently_and_each_the_same_twice(gpt: openai.OpenAI) -> None:
    def said(model: str) -> str | None:
        answer = gpt.chat.completions.create(model=model, messages=HELLO)
        return answer.choices[0].message.content

    assert said("model-a") != said("model-b")
    assert said("model-a") == said("model-a")


# --- Rules -------------------------------------------------------------------------------------


def test_a_rule_ends_after_its_times(gpt: openai.OpenAI, fake: FakeProvider) -> None:
    import openai

    fake.rules = parse_rules([{"answer": {"error": {"status": 429, "retry_after": 7}}, "times": 1}])
    with pytest.raises(openai.RateLimitError) as refused:
        gpt.chat.completions.create(model="m", messages=HELLO)
    assert refused.value.response.headers["retry-after"] == "7"
    assert gpt.chat.completions.create(model="m", messages=HELLO).choices


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (401, "AuthenticationError"),
        (429, "RateLimitError"),
        (500, "InternalServerError"),
        (529, "OverloadedError"),
    ],
)
def test_failures_have_the_shape_the_client_knows(
    claude: anthropic.Anthropic, status: int, expected: str
) -> None:
    import anthropic

    with pytest.raises(getattr(anthropic, expected)):
        claude.messages.create(model=f"error-{status}", max_tokens=9, messages=HELLO)


@pytest.mark.parametrize(
    ("when", "matched"),
    [
        ({"model": "gpt-*"}, True),
        ({"model": "claude-*"}, False),
        ({"contains": "there"}, True),
        ({"contains": "nowhere"}, False),
        ({"path": "*/completions"}, True),
        ({"path": "*/messages"}, False),
        ({"call": 1}, True),
        ({"call": 2}, False),
        ({"stream": True}, False),
    ],
)
def test_when(fake: FakeProvider, when: dict[str, Any], matched: bool) -> None:
    fake.rules = parse_rules([{"when": when, "answer": {"text": "ruled {model} {call}"}}])
    body = {"model": "gpt-x", "messages": HELLO}
    answer = post(fake, "/v1/chat/completions", body).json()
    assert (answer["choices"][0]["message"]["content"] == "ruled gpt-x 1") is matched


def test_a_dropped_connection_gives_no_answer(gpt: openai.OpenAI, fake: FakeProvider) -> None:
    import openai

    fake.rules = parse_rules([{"answer": {"drop": True}}])
    with pytest.raises(openai.APIConnectionError):
        gpt.chat.completions.create(model="m", messages=HELLO)


def test_a_malformed_body_is_no_json(fake: FakeProvider) -> None:
    fake.rules = parse_rules([{"answer": {"malformed": True}}])
    answer = post(fake, "/v1/chat/completions", {"model": "m", "messages": HELLO})
    with pytest.raises(json.JSONDecodeError):
        answer.json()


def test_a_stream_can_end_in_an_error(claude: anthropic.Anthropic, fake: FakeProvider) -> None:
    import anthropic

    fake.rules = parse_rules([{"answer": {"text": "one two three", "error_after": 3}}])
    stream = claude.messages.create(model="m", max_tokens=9, messages=HELLO, stream=True)
    with pytest.raises(anthropic.APIStatusError, match="overloaded"):
        list(stream)


def test_a_stream_can_be_cut(gpt: openai.OpenAI, fake: FakeProvider) -> None:
    import openai

    fake.rules = parse_rules([{"answer": {"text": "one two three four", "drop_after": 2}}])
    stream = gpt.chat.completions.create(model="m", messages=HELLO, stream=True)
    with pytest.raises((httpx2.RemoteProtocolError, openai.APIConnectionError)):
        list(stream)


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        ([{"when": {}}], r"rules\[0\] has no answer"),
        ([{"answer": {"txt": "x"}}], "has no key 'txt'"),
        ([{"answer": {"text": "x"}, "when": {"modell": "x"}}], "has no key 'modell'"),
        ([{"answer": {"error": {"status": "429"}}}], "status must be a number"),
        ([{"answer": {"tool": {"arguments": {}}}}], "tool has no name"),
        ({"answer": {}}, "must be a list"),
    ],
)
def test_wrong_rules_are_named(rules: Any, said: str) -> None:
    with pytest.raises(BadRules, match=said):
        parse_rules(rules)


def test_rules_come_from_a_file(tmp_path) -> None:
    file = tmp_path / "rules.json"
    file.write_text(json.dumps({"rules": [TOOL_RULE]}))
    assert load_rules(file)[0].reply.calls[0].name == "weather"


# --- What the real APIs refuse -------------------------------------------------------------------

CALL = {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": "{}"}}
CALLED = {"role": "assistant", "content": None, "tool_calls": [CALL]}


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"model": "m"}, "Missing required parameter: 'messages'"),
        ({"messages": HELLO}, "must provide a model"),
        ({"model": "m", "messages": []}, "empty array"),
        ({"model": "m", "messages": [{"role": "human", "content": "x"}]}, "Invalid value: 'human'"),
        (
            {
                "model": "m",
                "messages": [*HELLO, {"role": "tool", "tool_call_id": "c1", "content": "x"}],
            },
            "must be a response to a preceeding message",
        ),
        ({"model": "m", "messages": [*HELLO, CALLED]}, "did not have response messages: c1"),
        ({"model": "m", "messages": [*HELLO, CALLED, *HELLO]}, "did not have response messages"),
        ({"model": "m", "messages": HELLO, "top_k": 3}, "Unrecognized request argument"),
        ({"model": "m", "messages": HELLO, "temperature": 3}, "above maximum value"),
        ({"model": "o3", "messages": HELLO, "max_tokens": 3}, "Use 'max_completion_tokens'"),
        ({"model": "m", "messages": HELLO, "tools": [{"name": "x"}]}, r"tools\[0\].function"),
        ({"model": "m", "messages": HELLO, "tool_choice": "auto"}, "only allowed when 'tools'"),
        (
            {"model": "m", "messages": [{"role": "user", "content": [{"type": "image"}]}]},
            "Invalid value: 'image'",
        ),
    ],
)
def test_chat_refuses_as_the_real_api_does(
    fake: FakeProvider, body: dict[str, Any], said: str
) -> None:
    answer = post(fake, "/v1/chat/completions", body)
    assert answer.status_code == 400
    assert said.replace("\\", "") in answer.json()["error"]["message"]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"model": "m"}, "Missing required parameter: 'input'"),
        ({"model": "m", "messages": HELLO}, "has moved to 'input'"),
        ({"model": "m", "input": "x", "max_tokens": 99}, "has moved to 'max_output_tokens'"),
        ({"model": "m", "input": "x", "max_output_tokens": 12}, "Expected a value >= 16"),
        ({"model": "m", "input": "x", "seed": 1}, "Unknown parameter: 'seed'"),
        (
            {
                "model": "m",
                "input": [{"type": "function_call_output", "call_id": "c", "output": ""}],
            },
            "No tool call found for function call output with call_id c",
        ),
        (
            {"model": "m", "input": [{"role": "assistant", "content": [{"type": "input_text"}]}]},
            "Invalid value: 'input_text'",
        ),
        ({"model": "m", "input": "x", "tools": [CHAT_TOOL]}, "'tools[0].name'"),
    ],
)
def test_responses_refuses_as_the_real_api_does(
    fake: FakeProvider, body: dict[str, Any], said: str
) -> None:
    answer = post(fake, "/v1/responses", body)
    assert answer.status_code == 400
    assert said in answer.json()["error"]["message"]


USE = {"type": "tool_use", "id": "t1", "name": "weather", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "t1", "content": "sun"}
USED = {"role": "assistant", "content": [USE]}


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"model": "m", "messages": HELLO}, "max_tokens: Field required"),
        (messages_body({"role": "system", "content": "x"}), 'Unexpected role "system"'),
        (messages_body({"role": "assistant", "content": "x"}), 'must use the "user" role'),
        (messages_body(*HELLO, USED), "`tool_use` ids were found without `tool_result`"),
        (messages_body(*HELLO, {"role": "user", "content": [RESULT]}), "unexpected `tool_use_id`"),
        (
            messages_body(
                *HELLO,
                USED,
                {"role": "user", "content": [*[{"type": "text", "text": "x"}], RESULT]},
            ),
            "immediately after",
        ),
        (messages_body(*HELLO, seed=1), "seed: Extra inputs are not permitted"),
        (messages_body(*HELLO, temperature=1.5), "temperature: Input should be less than"),
        (messages_body({"role": "user", "content": " "}), "non-whitespace text"),
        (messages_body({"role": "user", "content": ""}), "must have non-empty content"),
        (
            messages_body(*HELLO, {"role": "assistant", "content": [{**USE, "id": "a b"}]}),
            "should match pattern",
        ),
        (
            messages_body(*HELLO, thinking={"type": "enabled", "budget_tokens": 2048}),
            "must be greater",
        ),
        (messages_body(*HELLO, tools=[{"name": "x"}]), "input_schema: Field required"),
        (messages_body(*HELLO, tool_choice={"type": "any"}), "while providing tools"),
    ],
)
def test_messages_refuses_as_the_real_api_does(
    fake: FakeProvider, body: dict[str, Any], said: str
) -> None:
    answer = post(fake, "/v1/messages", body)
    assert answer.status_code == 400
    assert answer.json()["error"]["type"] == "invalid_request_error"
    assert said in answer.json()["error"]["message"]


def test_two_user_turns_in_a_row_count_as_one(fake: FakeProvider) -> None:
    body = messages_body(*HELLO, USED, {"role": "user", "content": [RESULT]}, *HELLO)
    assert post(fake, "/v1/messages", body).status_code == 200


def test_no_json_is_400_and_no_api_is_404(fake: FakeProvider) -> None:
    request = urllib.request.Request(
        f"{fake.base_url}/v1/chat/completions", b"{", {"Authorization": "Bearer k"}
    )
    with pytest.raises(urllib.error.HTTPError, match="400") as refused:
        urllib.request.urlopen(request)
    refused.value.close()
    assert post(fake, "/v1/embeddings", {}).status_code == 404


def test_the_command_serves_and_stops_on_an_interrupt() -> None:
    command = [sys.executable, "manage.py", "fake_provider", "--port", "0"]
    ignored = ["bash", "-c", 'trap "" INT; exec "$@"', "in the background", *command]
    with subprocess.Popen(ignored, stdout=subprocess.PIPE, text=True, cwd=ROOT) as server:
        base = server.stdout.readline().strip().removeprefix("OPENAI_BASE_URL=")
        answer = httpx2.get(f"{base}/models", headers={"authorization": "Bearer k"})
        server.send_signal(signal.SIGINT)
        assert server.wait(timeout=10) == 0
    assert answer.json()["data"][0]["id"] == "fake-large"


def test_the_command_names_what_is_wrong_with_its_rules(tmp_path) -> None:
    file = tmp_path / "rules.json"
    file.write_text('[{"answer": {"txt": 1}}]')
    with pytest.raises(CommandError, match="has no key 'txt'"):
        call_command("fake_provider", "--rules", str(file), "--port", "0")
