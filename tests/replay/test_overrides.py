"""What a replay changes beside the model, and what its plan warns of."""

from __future__ import annotations

import json

import pytest
from asked import CHAT_WIRE, CLAUDE_WIRE, COMPLETION, HELLO, codes, made, wired

from replay import jobs
from replay.dialects import CHAT, MESSAGES, RESPONSES, MessageText, Overrides, change_body
from replay.models import Replay
from replay.questions import Controls, read_question
from replay.start import plans, start
from runs.refusals import Refused

OPEN_CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
DANGLING = [*HELLO, {"role": "assistant", "content": None, "tool_calls": [OPEN_CALL]}, *HELLO]
TOOLS = {
    CHAT: [{"type": "function", "function": {"name": name}} for name in ("look", "send")],
    RESPONSES: [{"type": "function", "name": "look"}, {"type": "web_search"}],
    MESSAGES: [{"name": "look", "input_schema": {}}, {"name": "send", "input_schema": {}}],
}


@pytest.fixture
def run(store, read_log, provider):
    provider({"answer": {"text": "Fine."}})
    return store(read_log("order-status-chat"), "r")


@pytest.fixture
def plan(run):
    def make(**body):
        question = read_question({"run": "r", "models": ["openai:b"], **body})
        return plans(run, question)[0].plan

    return make


def warned(plan) -> list[str]:
    return [warning["code"] for warning in plan["warnings"]]


# --- Into the body ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("api", "model", "name"),
    [
        (CHAT, "gpt-4o", "max_tokens"),
        (CHAT, "gpt-5.2", "max_completion_tokens"),
        (RESPONSES, "gpt-5.2", "max_output_tokens"),
        (MESSAGES, "claude-sonnet-4-5", "max_tokens"),
    ],
)
def test_a_limit_is_called_as_the_api_calls_it(api, model, name):
    body, _ = change_body(api, {"model": "m"}, model, Overrides(max_tokens=7, top_p=0.25))
    assert body == {"model": model, name: 7, "top_p": 0.25}


@pytest.mark.parametrize(
    "content",
    [
        "Hello there",
        [{"type": "text", "text": "Hello there"}],
        [{"type": "text", "text": "Hello "}, {"type": "text", "text": "there"}],
    ],
)
@pytest.mark.parametrize("key", ["messages", "input"])
def test_one_messages_text_is_changed_wherever_it_stands(key, content):
    said = [{"role": "user", "content": content}, {"role": "assistant", "content": "Hello there"}]
    change = Overrides(message=MessageText("user", "Hello there", "Good bye"))
    body, notes = change_body(CHAT, {key: said}, "m", change)
    assert "Hello there" not in json.dumps(body[key][0]) and "Good bye" in json.dumps(body[key][0])
    assert (body[key][1]["content"], notes) == ("Hello there", [])


def test_a_message_that_is_not_there_is_said(providers):
    change = MessageText("user", "Nobody said this", "x")
    assert "message_not_there" in codes(made(providers, COMPLETION, "openai:m", CHAT_WIRE,
                                             message=change).notes)  # fmt: skip


@pytest.mark.parametrize("api", [CHAT, RESPONSES, MESSAGES])
def test_a_tool_switched_off_is_not_offered(api):
    body = {"tools": TOOLS[api], "tool_choice": "auto"}
    changed, _ = change_body(api, body, "m", Overrides(tools_off=("look",)))
    assert changed["tools"] == TOOLS[api][1:]
    bare, _ = change_body(api, body, "m", Overrides(tools_off=("look", "send", "web_search")))
    assert bare == {"model": "m"}


@pytest.mark.parametrize("model", ["anthropic:m", "openai:m"])
@pytest.mark.parametrize("off", ["web_search", "web_search_20250305"])
def test_a_tool_the_provider_runs_goes_by_its_name_and_by_its_type(providers, model, off):
    tools = [{"type": "web_search_20250305", "name": "web_search"}, *TOOLS[MESSAGES]]
    request = {**CLAUDE_WIRE["request"], "tools": tools}
    call = made(providers, COMPLETION, model, CLAUDE_WIRE | {"request": request}, tools_off=(off,))
    assert codes(call.notes).isdisjoint({"tool_not_there", "hosted_tool_left_out"})
    assert "web_search" not in json.dumps(call.body)
    assert "look" in json.dumps(call.body)


def test_a_custom_tool_goes_by_its_name_and_no_tool_by_the_kind_it_is():
    tools = [{"type": "custom", "custom": {"name": "shell"}}, *TOOLS[CHAT]]
    body, _ = change_body(CHAT, {"tools": tools}, "m", Overrides(tools_off=("shell", "function")))
    assert body["tools"] == TOOLS[CHAT]


@pytest.mark.parametrize("model", ["openai:m", "anthropic:m"])
def test_changes_reach_the_wire_in_both_lanes(run, providers, fake, model):
    from replay.providers import send
    from replay.recording import record
    from runs.models import Effect

    recorded = record(Effect.objects.get(run=run, seq=1)).value
    call = made(providers, recorded, model, top_p=0.5, max_tokens=333, tools_off=("lookup_order",))
    assert send(call).error is None
    sent = fake.asked[0].body
    assert (sent["top_p"], sent["max_tokens"]) == (0.5, 333)
    assert "lookup_order" not in json.dumps(sent.get("tools", []))


# --- Calls without a result ---------------------------------------------------------------------


@pytest.mark.parametrize("model", ["openai:m", "anthropic:m"])
def test_a_call_without_a_result_is_dropped_or_gets_the_one_supplied(providers, model):
    wire = CHAT_WIRE | {"request": {"model": "m", "messages": DANGLING}}
    dropped = made(providers, COMPLETION, model, wire, dangling="drop")
    supplied = made(providers, COMPLETION, model, wire, dangling_result="42 in stock")
    assert "look" not in json.dumps(dropped.body)
    assert "42 in stock" in json.dumps(supplied.body)
    assert {"dangling_call"} <= codes(dropped.notes) & codes(supplied.notes)


# --- The question -------------------------------------------------------------------------------


def test_controls_come_back_from_their_row_as_they_were():
    asked = {"top_p": 0.5, "max_tokens": 9, "tools_off": ["b", "a"], "dangling": "drop",
             "message": {"effect": 1, "index": 1, "text": "Hi"}}  # fmt: skip
    controls = read_question({"run": "r", **asked}).controls
    assert Controls.of_json(json.loads(json.dumps(controls.as_json()))) == controls
    assert controls.tools_off == ("a", "b") and controls.changes_prompt


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("top_p", 1.1),
        ("top_p", True),
        ("max_tokens", 0),
        ("max_tokens", 1.5),
        ("message", {"effect": 1}),
        ("message", {"effect": 1, "index": -1, "text": "x"}),
        ("message", {"effect": 1, "index": 0, "text": "a\x00b"}),
        ("tools_off", "look"),
        ("tools_off", [""]),
        ("dangling", "keep"),
        ("dangling_result", 3),
    ],
)
def test_a_change_that_cannot_be_names_its_field(field, value):
    with pytest.raises(Refused) as caught:
        read_question({"run": "r", field: value})
    assert caught.value.field == field


# --- The plan and the replay --------------------------------------------------------------------


def test_the_plan_tells_each_change(plan):
    told = plan(top_p=0.5, max_tokens=50, tools_off=["lookup_order"],
                message={"effect": 1, "index": 1, "text": "Where is it?"})  # fmt: skip
    changes = {change["what"]: change for change in told["changes"]}
    assert changes["top_p"]["replayed"] == 0.5 and changes["max_tokens"]["replayed"] == 50
    assert changes["message"]["calls"] == 2 and told["errors"] == []
    assert changes["tools_off"]["tools"] == ["lookup_order"]


def test_a_message_nobody_recorded_is_an_error_of_the_plan(plan):
    told = plan(message={"effect": 1, "index": 99, "text": "x"})
    assert [error["code"] for error in told["errors"]] == ["message_not_found"]


def test_an_edited_message_is_what_is_asked(run, provider):
    fake = provider({"answer": {"text": "Fine."}})
    body = {"message": {"effect": 1, "index": 1, "text": "Cancel it at once."}}
    question = read_question({"run": "r", "models": ["openai:b"], **body})
    [queued] = start(run, question, jobs.Asker()).replays
    jobs.run_job(queued.public_id)
    assert Replay.objects.get(pk=queued.pk).status == "succeeded"
    assert ["Cancel it at once." in json.dumps(one.body) for one in fake.asked] == [True, True]


# --- Warnings -----------------------------------------------------------------------------------

IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
SCHEMA = {"type": "json_schema", "json_schema": {"name": "a", "schema": {"type": "object"}}}


@pytest.mark.parametrize(
    ("model", "body", "code"),
    [
        ("openai:gpt-3.5-turbo", {"response_format": SCHEMA}, "schema_not_supported"),
        ("openai:gpt-4-turbo", {"response_format": SCHEMA}, "schema_not_supported"),
        ("openai:o3-mini", {"messages": [{"role": "user", "content": [IMAGE]}]}, "no_vision"),
        ("openai:gpt-4o", {"x_vendor": 1}, "param_unknown"),
        (
            "openai:gpt-4o",
            {"messages": [{"role": "developer", "content": "D"}, *HELLO]},
            "param_unknown",
        ),
        ("openai:gpt-4o", {"max_tokens": 20_000}, "model_may_refuse"),
        ("openai:gpt-4o", {"stop": list("abcde")}, "model_may_refuse"),
    ],
)
def test_what_the_target_is_known_not_to_take_is_warned_of(providers, model, body, code):
    url = "https://elsewhere.example/v1/chat/completions"
    wire = wired(url, {"model": "m", "messages": HELLO, **body})
    assert code in codes(made(providers, COMPLETION, model, wire).notes)


@pytest.mark.parametrize("model", ["openai:gpt-4o", "openai:gpt-5.2", "openai:llama-4-scout"])
def test_nothing_is_warned_of_what_it_takes(providers, model):
    body = {"model": "m", "messages": [{"role": "user", "content": [IMAGE]}], "max_tokens": 16_000}
    body |= {"response_format": SCHEMA, "stop": list("abcd")}
    wire = wired("https://api.openai.com/v1/chat/completions", body)
    told = codes(made(providers, COMPLETION, model, wire).notes)
    assert not told & {"schema_not_supported", "no_vision", "param_unknown", "model_may_refuse"}


THINKS = {"thinking": {"type": "enabled", "budget_tokens": 1024}, "max_tokens": 4000}


@pytest.mark.parametrize(
    ("changed", "warned"),
    [
        ({"temperature": 0}, {"/temperature"}),
        ({"temperature": 1}, set()),
        ({"top_k": 5}, {"/top_k"}),
        ({"tool_choice": {"type": "any"}}, {"/tool_choice"}),
        ({"tool_choice": {"type": "auto"}}, set()),
        ({"thinking": {"type": "disabled"}, "temperature": 0}, set()),
        ({"stop_sequences": [" "]}, {"/stop_sequences"}),
    ],
)
def test_what_does_not_go_with_thinking_is_warned_of(providers, changed, warned):
    wire = CLAUDE_WIRE | {"request": {**CLAUDE_WIRE["request"], **THINKS, **changed}}
    notes = made(providers, COMPLETION, "anthropic:claude-sonnet-4-5", wire).notes
    assert {note.path for note in notes if note.code == "model_may_refuse"} == warned


@pytest.mark.parametrize(
    ("model", "overrides", "kept"),
    [
        ("claude-sonnet-4-5", {}, {"temperature": 1}),
        ("claude-sonnet-4-5", {"top_p": 0.5}, {"top_p": 0.5}),
        ("claude-sonnet-4-5", {"top_p": 0.5, "temperature": 0}, {"temperature": 0}),
        ("claude-3-7-sonnet", {"top_p": 0.5}, {"temperature": 1, "top_p": 0.5}),
    ],
)
def test_of_two_settings_that_exclude_each_other_the_changed_one_goes_out(
    fake, providers, model, overrides, kept
):
    from replay.providers import send

    body = {"model": "m", "messages": HELLO, "temperature": 1.0, "top_p": 0.9}
    wire = wired("https://api.openai.com/v1/chat/completions", body)
    call = made(providers, COMPLETION, f"anthropic:{model}", wire, **overrides)
    assert send(call).error is None
    sent = fake.asked[0].body
    assert {name: sent[name] for name in ("temperature", "top_p") if name in sent} == kept


def test_an_image_in_a_tools_result_counts_too(providers):
    result = {"type": "tool_result", "tool_use_id": "a", "content": [{"type": "image"}]}
    body = {**CLAUDE_WIRE["request"], "messages": [{"role": "user", "content": [result]}]}
    call = made(providers, COMPLETION, "anthropic:claude-2.1", CLAUDE_WIRE | {"request": body})
    assert "no_vision" in codes(call.notes)


def test_a_context_longer_than_the_window_is_warned_of(store, read_log, provider):
    """gpt-3.5-turbo takes 16,385 tokens, as OpenAI documents."""
    provider()
    log = read_log("order-status-chat")
    usage = log["records"][0]["outcome"]["Ok"].setdefault("usage", {})
    usage |= {"input_tokens": 20_000, "output_tokens": 5, "total_tokens": 20_005}
    run = store(log, "long")
    question = read_question({"run": "long", "models": ["openai:gpt-3.5-turbo"]})
    told = plans(run, question)[0].plan
    [found] = [warning for warning in told["warnings"] if warning["code"] == "context_too_long"]
    assert found["effects"] == [1] and "20,000 tokens" in found["message"]


# --- The form -----------------------------------------------------------------------------------

FORM = "/p/acme/runs/r/replay"


def test_the_form_shows_what_was_recorded_and_plans_what_is_changed(run, member_client):
    page = member_client.get(FORM).content.decode()
    assert "#1 user: Where is my order SO-48213?" in page and 'value="lookup_order"' in page
    asked = {"model": "openai:b", "message": "1:1", "message_of": "1:1", "message_text": "Cancel."}
    more = {"top_p": "0.5", "max_tokens": "50", "tool_off": "lookup_order"}
    planned = member_client.get(FORM, asked | more).content.decode()
    assert 'type="hidden" name="message_text" value="Cancel."' in planned
    assert "replaces it in every call that holds it" in planned


def test_the_form_starts_what_was_planned(run, member_client):
    asked = {"model": "openai:b", "message": "1:1", "message_text": "Cancel.", "top_p": "0,5"}
    member_client.post(FORM, asked | {"max_tokens": "50", "tool_off": "lookup_order"})
    assert Replay.objects.get().controls == {
        "top_p": 0.5,
        "max_tokens": 50,
        "tools_off": ["lookup_order"],
        "message": {"effect": 1, "index": 1, "text": "Cancel."},
    }


def test_a_chosen_message_begins_as_it_was_recorded(run, member_client):
    url = f"{FORM}?model=openai:b&message=1:1&message_of=&message_text=of+another"
    page = member_client.get(url).content.decode()
    assert ">Where is my order SO-48213?</textarea>" in page and "of another" not in page


def test_calls_without_a_result_ask_what_to_do_with_them(store, read_log, provider, member_client):
    provider()
    log = read_log("order-status-chat")
    history = log["records"][2]["kind"]["request"]["chat_history"]
    del history[-1]
    history.append({"role": "user", "content": [{"type": "text", "text": "Well?"}]})
    store(log, "r")
    page = member_client.get(FORM, {"model": "openai:b"}).content.decode()
    assert "supply a result" in page and "No result provided" in page
    dropped = member_client.get(FORM, {"model": "openai:b", "dangling": "drop"}).content.decode()
    assert "it is left out" in dropped
    assert "supply a result" not in member_client.get(f"{FORM}?model=fake:x").content.decode()


@pytest.mark.parametrize("source", ["order-status-chat", "reviewer-anthropic"])
def test_mistral_is_asked_in_its_own_manner(fake, shared, source):
    from asked import record

    from replay.providers import Provider, send

    mistral = Provider("le-chat", fake.openai_base_url, "k", api=CHAT, kind="mistral")
    call = made({"le-chat": mistral}, record(shared, source, 3), "le-chat:mistral-large")
    assert send(call).error is None
    sent = fake.asked[0].body["messages"]
    made_ids = [one["id"] for message in sent for one in message.get("tool_calls") or []]
    told_ids = [message["tool_call_id"] for message in sent if message["role"] == "tool"]
    assert made_ids == told_ids != [] and all(len(one) == 9 and one.isalnum() for one in told_ids)
    assert "call_id_respelled" in codes(call.notes)


def test_mistrals_names_of_parameters(fake):
    from replay.providers import Provider

    mistral = {"mi": Provider("mi", fake.openai_base_url, "k", api=CHAT, kind="mistral")}
    body = {"model": "m", "messages": HELLO, "seed": 7, "stream_options": {}, "logit_bias": {}}
    wire = wired("https://api.openai.com/v1/chat/completions", body)
    call = made(mistral, COMPLETION, "mi:m", wire)
    assert call.body == {"model": "m", "messages": HELLO, "random_seed": 7, "logit_bias": {}}
    unknown = [note.path for note in call.notes if note.code == "param_unknown"]
    assert unknown == ["/logit_bias"]


def test_mistral_is_told_nothing_it_does_not_know(fake, shared):
    """Nor is the plan what the library would do: it is not asked to word the call."""
    from asked import record

    from replay.providers import Provider, send

    mistral = Provider("mi", fake.openai_base_url, "k", api=CHAT, kind="mistral")
    call = made({"mi": mistral}, record(shared, "reviewer-anthropic", 3), "mi:mistral-large")
    assert send(call).error is None
    sent = fake.asked[0].body
    assert "max_tokens" in sent and "prompt_cache_retention" not in sent
    told = codes(call.notes)
    assert "max_tokens_renamed" not in told and "param_left_out" in told


def test_mistral_has_no_developers(fake):
    from replay.providers import Provider

    mistral = {"mi": Provider("mi", fake.openai_base_url, "k", api=CHAT, kind="mistral")}
    said = [{"role": "developer", "content": "A"}, {"role": "developer", "content": "B"}, *HELLO]
    wire = wired("https://api.openai.com/v1/chat/completions", {"model": "m", "messages": said})
    call = made(mistral, COMPLETION, "mi:m", wire)
    assert [message["role"] for message in call.body["messages"]] == ["system", "system", "user"]
    assert "role_reworded" in codes(call.notes)
