"""Requests field by field on the wire of three APIs, and changes in a recorded body."""

from __future__ import annotations

import json
from typing import Any

import pytest
from asked import codes, strings
from hypothesis import given
from hypothesis import strategies as st

from replay.dialects import (
    CHAT,
    MESSAGES,
    RESPONSES,
    Overrides,
    api_of,
    change_body,
    change_prompt,
    read_request,
    write_body,
)

APIS = (CHAT, RESPONSES, MESSAGES)
MODELS = {CHAT: "gpt-4o", RESPONSES: "gpt-4o", MESSAGES: "claude-sonnet-4-5"}


# --- Field by field ------------------------------------------------------------------------------


def request(**fields: Any) -> dict[str, Any]:
    hello = {"role": "user", "content": [{"type": "text", "text": "Hi"}]}
    return {"chat_history": [hello], "documents": [], "tools": [], **fields}


def sent(api: str, origin: str | None = None, **fields: Any) -> tuple[dict[str, Any], set[str]]:
    body, notes = write_body(api, read_request(request(**fields), api=origin), MODELS[api])
    return body, codes(notes)


TOOL = {"name": "f", "description": "d", "parameters": {"type": "object", "properties": {}}}
TWO = {"specific": {"function_names": ["f", "g"]}}
ONE = {"specific": {"function_names": ["f"]}}


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("value", [0.0, 0.2, 1.0])
def test_a_temperature_is_sent_also_when_zero(api: str, value: float) -> None:
    assert sent(api, temperature=value)[0]["temperature"] == value


@pytest.mark.parametrize(
    ("api", "choice", "spelled"),
    [
        (CHAT, "auto", "auto"),
        (CHAT, "none", "none"),
        (CHAT, "required", "required"),
        (CHAT, ONE, {"type": "function", "function": {"name": "f"}}),
        (RESPONSES, "required", "required"),
        (RESPONSES, ONE, {"type": "function", "name": "f"}),
        (MESSAGES, "auto", {"type": "auto"}),
        (MESSAGES, "none", {"type": "none"}),
        (MESSAGES, "required", {"type": "any"}),
        (MESSAGES, ONE, {"type": "tool", "name": "f"}),
        (MESSAGES, TWO, {"type": "any"}),
    ],
)
def test_tool_choice(api: str, choice: Any, spelled: Any) -> None:
    assert sent(api, tools=[TOOL], tool_choice=choice)[0]["tool_choice"] == spelled


def test_a_choice_that_cannot_be_spelled_is_noted() -> None:
    assert sent(MESSAGES, tools=[TOOL], tool_choice=TWO)[1] >= {"tool_choice_widened"}
    assert sent(CHAT, tool_choice="auto") == (sent(CHAT)[0], {"tool_choice_left_out"})


OPTIONS = {"reasoning": None, "cache": None, "service_tier": None, "verbosity": None}
OPTIONS |= {"parallel_tool_calls": None, "top_p": None, "seed": None}
EFFORT = {"reasoning": {"effort": "low"}}
BUDGET = {"reasoning": {"budget": {"tokens": 2048}}}


@pytest.mark.parametrize(
    ("api", "option", "expected"),
    [
        (CHAT, {"seed": 7}, {"seed": 7}),
        (CHAT, {"top_p": 0.0}, {"top_p": 0.0}),
        (CHAT, {"stop": ["END"]}, {"stop": ["END"]}),
        (CHAT, {"parallel_tool_calls": False}, {"parallel_tool_calls": False}),
        (CHAT, EFFORT, {"reasoning_effort": "low"}),
        (CHAT, {"reasoning": "off"}, {"reasoning_effort": "none"}),
        (CHAT, {"verbosity": "low"}, {"verbosity": "low"}),
        (CHAT, {"service_tier": "flex"}, {"service_tier": "flex"}),
        (CHAT, {"cache": "long"}, {"prompt_cache_retention": "24h"}),
        (RESPONSES, EFFORT, {"reasoning": {"effort": "low"}}),
        (RESPONSES, {"verbosity": "low"}, {"text": {"verbosity": "low"}}),
        (RESPONSES, {"top_p": 0.9}, {"top_p": 0.9}),
        (MESSAGES, {"stop": ["END"]}, {"stop_sequences": ["END"]}),
        (MESSAGES, BUDGET, {"thinking": {"type": "enabled", "budget_tokens": 2048}}),
        (MESSAGES, {"reasoning": "off"}, {"thinking": {"type": "disabled"}}),
        (MESSAGES, EFFORT, {"thinking": {"type": "adaptive"}, "output_config": {"effort": "low"}}),
        (MESSAGES, {"cache": "short"}, {"cache_control": {"type": "ephemeral"}}),
        (MESSAGES, {"service_tier": "default"}, {"service_tier": "standard_only"}),
        (
            MESSAGES,
            {"parallel_tool_calls": False},
            {"tool_choice": {"type": "auto", "disable_parallel_tool_use": True}},
        ),
    ],
)
def test_options(api: str, option: dict[str, Any], expected: dict[str, Any]) -> None:
    body, _ = sent(api, tools=[TOOL], options=OPTIONS | option)
    assert {key: body.get(key) for key in expected} == expected


@pytest.mark.parametrize(
    ("api", "option"),
    [
        (CHAT, BUDGET),
        (CHAT, {"cache": "none"}),
        (RESPONSES, {"seed": 7}),
        (RESPONSES, {"stop": ["END"]}),
        (RESPONSES, BUDGET),
        (MESSAGES, {"seed": 7}),
        (MESSAGES, {"verbosity": "low"}),
        (MESSAGES, {"service_tier": "flex"}),
        (MESSAGES, {"reasoning": {"budget": {"tokens": 10}}}),
    ],
)
def test_an_option_the_api_has_no_place_for_is_noted(api: str, option: dict[str, Any]) -> None:
    body, noted = sent(api, options=OPTIONS | option)
    bare, bare_noted = sent(api)
    assert body == bare
    assert noted - bare_noted == {f"{next(iter(option))}_left_out"}


SCHEMA = {"title": "Invoice", "type": "object", "properties": {"net": {"type": "number"}}}
CLOSED = SCHEMA | {"additionalProperties": False}


@pytest.mark.parametrize(
    ("api", "path", "schema"),
    [
        (CHAT, ("response_format", "json_schema", "schema"), CLOSED | {"required": ["net"]}),
        (RESPONSES, ("text", "format", "schema"), CLOSED | {"required": ["net"]}),
        (MESSAGES, ("output_config", "format", "schema"), CLOSED),
    ],
)
def test_an_output_schema_is_sent_closed_and_that_is_noted(
    api: str, path: tuple[str, ...], schema: dict[str, Any]
) -> None:
    body, noted = sent(api, output_schema=SCHEMA)
    found: Any = body
    for key in path:
        found = found[key]
    assert found == schema
    assert "schema_closed" in noted


def test_additional_params_go_whole_to_the_api_they_were_made_for() -> None:
    params = {"penalty": -0.0, "logit_bias": {"50256": -100}}
    assert (
        sent(CHAT, CHAT, additional_params=params)[0] | params
        == sent(CHAT, CHAT, additional_params=params)[0]
    )
    assert "penalty" not in sent(CHAT, None, additional_params=params)[0]
    assert sent(CHAT, None, additional_params=params)[0]["logit_bias"] == {"50256": -100}
    assert sent(MESSAGES, CHAT, additional_params=params)[1] >= {"param_left_out"}


def test_provider_options_go_to_their_provider() -> None:
    options = {"anthropic": {"*": {"top_k": 40}, "messages": {"speed": "fast"}}}
    body, _ = sent(MESSAGES, provider_options=options)
    assert (body["top_k"], body["speed"]) == (40, "fast")
    assert sent(CHAT, provider_options=options)[1] == {"other_provider"}


def test_integers_keep_all_their_digits() -> None:
    body, _ = sent(CHAT, options=OPTIONS | {"seed": 18446744073709551615})
    assert json.loads(json.dumps(body))["seed"] == 18446744073709551615


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("claude-3-haiku-20240307", 4096),
        ("claude-opus-4-1", 32000),
        ("claude-sonnet-4-5", 64000),
        ("other", 16384),
    ],
)
def test_messages_gets_the_limit_it_needs(model: str, expected: int) -> None:
    body, notes = write_body(MESSAGES, read_request(request()), model)
    assert body["max_tokens"] == expected
    assert "max_tokens_added" in codes(notes)


@pytest.mark.parametrize(
    ("model", "key"),
    [
        ("gpt-4o", "max_tokens"),
        ("gpt-5.2", "max_completion_tokens"),
        ("o3", "max_completion_tokens"),
    ],
)
def test_chat_names_the_limit_as_the_model_takes_it(model: str, key: str) -> None:
    body, _ = write_body(CHAT, read_request(request(max_tokens=99)), model)
    assert body[key] == 99


def call(identity: Any, arguments: Any = None, **more: Any) -> dict[str, Any]:
    function = {"name": "f", "arguments": arguments or {}, **more}
    part = {"type": "toolcall", "id": identity, "function": function}
    return {"role": "assistant", "content": [part]}


def result(identity: Any, *content: Any, **more: Any) -> dict[str, Any]:
    told = list(content) or [{"type": "text", "text": "ok"}]
    part = {"type": "toolresult", "call": identity, "name": "f", "content": told, **more}
    return {"role": "user", "content": [part]}


def history(*messages: Any) -> dict[str, Any]:
    return {"chat_history": [*request()["chat_history"], *messages]}


ID = {"provider": "c1"}


def test_a_failed_result_is_marked_where_the_api_can() -> None:
    asked = history(call(ID), result(ID, is_error=True))
    assert sent(MESSAGES, **asked)[0]["messages"][2]["content"][0]["is_error"] is True
    assert sent(CHAT, **asked)[1] == {"is_error_left_out"}
    assert sent(RESPONSES, **asked)[1] == {"is_error_left_out"}


@pytest.mark.parametrize("api", APIS)
def test_a_call_without_its_result_gets_one(api: str) -> None:
    body, noted = sent(api, **history(call(ID)))
    assert "dangling_call" in noted
    assert "No result provided" in set(strings(body))


@pytest.mark.parametrize("api", APIS)
def test_a_result_without_its_call_is_left_out(api: str) -> None:
    body, noted = sent(api, **history(result(ID)))
    assert "orphan_result" in noted
    assert body == sent(api)[0]


@pytest.mark.parametrize("api", APIS)
def test_arguments_that_are_no_object_are_noted(api: str) -> None:
    asked = history(call(ID, invalid_arguments='{"a": '), result(ID))
    assert "invalid_arguments" in sent(api, **asked)[1]


def test_a_json_result_is_the_text_rig_shows() -> None:
    told = {"type": "json", "value": {"b": 1e-7, "a": [1.0, 1e16], "é": None}}
    body, _ = sent(CHAT, **history(call(ID), result(ID, told)))
    assert body["messages"][-1]["content"] == '{"b":1e-7,"a":[1.0,1e+16],"é":null}'


PIXEL = {"type": "image", "data": {"type": "base64", "value": "iVBORw0KGgo="}, "media_type": "png"}


@pytest.mark.parametrize(
    ("api", "expected"),
    [
        (CHAT, "data:image/png;base64,iVBORw0KGgo="),
        (RESPONSES, "data:image/png;base64,iVBORw0KGgo="),
        (MESSAGES, "iVBORw0KGgo="),
    ],
)
def test_an_image_in_a_tool_result_reaches_the_model(api: str, expected: str) -> None:
    body, _ = sent(api, **history(call(ID), result(ID, PIXEL)))
    assert expected in set(strings(body))


@pytest.mark.parametrize("api", APIS)
def test_a_video_says_that_it_is_left_out(api: str) -> None:
    video = {"type": "video", "data": {"type": "url", "value": "https://v.example/1.mp4"}}
    body, noted = sent(api, chat_history=[{"role": "user", "content": [video]}])
    assert "media_left_out" in noted
    assert any("video left out" in said for said in strings(body))


def test_documents_stand_before_the_first_question() -> None:
    document = {"id": "kb-1", "text": "Reissue it.", "lang": "en", "area": "vpn"}
    body, _ = sent(CHAT, documents=[document])
    shown = '<file id: kb-1>\n<metadata area: "vpn" lang: "en" />\nReissue it.\n</file>\n'
    assert [part["text"] for part in body["messages"][0]["content"]] == [shown, "Hi"]


@pytest.mark.parametrize(
    ("identity", "expected"),
    [
        ("c1", "c1"),
        ({"provider": "c1"}, "c1"),
        ({"local": "00000000-0000-4000-8000-000000000001"}, "00000000-0000-4000-8000-000000000001"),
        ({"origin": "explicit", "id": "c1"}, "c1"),
    ],
)
def test_call_ids_of_every_shape(identity: Any, expected: str) -> None:
    body, noted = sent(CHAT, **history(call(identity), result(identity)))
    assert body["messages"][1]["tool_calls"][0]["id"] == expected
    assert body["messages"][2]["tool_call_id"] == expected
    assert noted == set()


def test_the_older_form_with_system_and_messages() -> None:
    asked = {"system": "Be brief.", "messages": request()["chat_history"]}
    body, _ = write_body(CHAT, read_request(asked), "m")
    assert [message["role"] for message in body["messages"]] == ["system", "user"]


def test_ids_the_messages_api_refuses_are_respelled_alike_for_call_and_result() -> None:
    odd = {"provider": "id with space 🚲"}
    body, noted = sent(MESSAGES, **history(call(odd), result(odd)))
    used = body["messages"][1]["content"][0]["id"]
    assert body["messages"][2]["content"][0]["tool_use_id"] == used == "id_with_space__"
    assert "call_id_respelled" in noted


SIGNED = {"type": "thinking", "thinking": "Hm", "signature": "c2ln"}


def test_signed_reasoning_goes_back_to_its_own_api_as_it_was() -> None:
    part = {"type": "reasoning", "text": "Hm", "native": {"item": SIGNED, "fingerprint": "0" * 16}}
    turn = {"role": "assistant", "content": [part], "origin": {"api": MESSAGES}}
    assert sent(MESSAGES, MESSAGES, **history(turn))[0]["messages"][1]["content"] == [SIGNED]
    body, noted = sent(CHAT, MESSAGES, **history(turn))
    assert body["messages"][1]["content"] == "Hm"
    assert noted == {"reasoning_as_text"}


KEYS = "chat_history role content type text id function data tools parameters documents native"


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(KEYS.split()),
                inner,
                max_size=4,
            )
        ),
        max_leaves=20,
    ).filter(lambda value: isinstance(value, dict))
)
def test_a_request_of_any_shape_is_read_without_an_error(asked: dict[str, Any]) -> None:
    for api in APIS:
        write_body(api, read_request(asked), "m")


# --- Changes in a recorded body ------------------------------------------------------------------

CHAT_BODY = {
    "model": "gpt-4o",
    "messages": [{"role": "developer", "content": "Old"}, {"role": "user", "content": "Hi"}],
    "temperature": 1.0,
    "max_tokens": 5,
    "x_vendor": {"n": 18446744073709551615},
}


def test_only_the_model_changes_in_a_recorded_body() -> None:
    body, notes = change_body(CHAT, CHAT_BODY, "gpt-4o-mini", Overrides())
    assert body == CHAT_BODY | {"model": "gpt-4o-mini"}
    assert notes == []


def test_temperature_zero_and_system_are_put_into_a_recorded_body() -> None:
    body, _ = change_body(CHAT, CHAT_BODY, "m", Overrides(temperature=0, system="Be terse."))
    assert body["temperature"] == 0
    assert body["messages"] == [
        {"role": "developer", "content": "Be terse."},
        CHAT_BODY["messages"][1],
    ]


def test_a_reasoning_model_gets_its_limit_by_the_name_it_takes() -> None:
    body, notes = change_body(CHAT, CHAT_BODY, "gpt-5.2", Overrides())
    assert body["max_completion_tokens"] == 5
    assert codes(notes) == {"max_tokens_renamed"}


@pytest.mark.parametrize(
    ("api", "body", "expected"),
    [
        (CHAT, {"messages": []}, {"messages": [{"role": "system", "content": "New"}]}),
        (RESPONSES, {"instructions": "Old", "input": "Hi"}, {"instructions": "New", "input": "Hi"}),
        (
            RESPONSES,
            {"input": [{"role": "system", "content": "Old"}, {"role": "user", "content": "Hi"}]},
            {"input": [{"role": "system", "content": "New"}, {"role": "user", "content": "Hi"}]},
        ),
        (MESSAGES, {"system": "Old"}, {"system": "New"}),
        (MESSAGES, {}, {"system": "New"}),
        (
            MESSAGES,
            {"system": [{"type": "text", "text": "Old", "cache_control": {"type": "ephemeral"}}]},
            {"system": [{"type": "text", "text": "New", "cache_control": {"type": "ephemeral"}}]},
        ),
    ],
)
def test_a_new_system_text(api: str, body: dict[str, Any], expected: dict[str, Any]) -> None:
    changed, _ = change_body(api, body, "m", Overrides(system="New"))
    assert changed == expected | {"model": "m"}


def test_changes_in_a_prompt() -> None:
    prompt = change_prompt(read_request(request()), Overrides(temperature=0, system="New"))
    body, _ = write_body(CHAT, prompt, "m")
    assert body["messages"][0] == {"role": "system", "content": "New"}
    assert body["temperature"] == 0


@pytest.mark.parametrize(
    ("url", "body", "expected"),
    [
        ("https://api.openai.com/v1/chat/completions", {}, CHAT),
        (
            "https://x.openai.azure.com/openai/deployments/d/chat/completions?api-version=1",
            {},
            CHAT,
        ),
        ("https://api.openai.com/v1/responses", {}, RESPONSES),
        ("https://api.anthropic.com/v1/messages", {}, MESSAGES),
        ("https://generativelanguage.googleapis.com/v1beta/models/g:generateContent", {}, None),
        ("", {"messages": []}, CHAT),
        ("", {"input": "x"}, RESPONSES),
    ],
)
def test_the_api_of_a_recorded_call(url: str, body: dict[str, Any], expected: str | None) -> None:
    assert api_of(url, body) == expected
