"""What a plan promises of the things changed: what goes out, what stays, what comes to nothing."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from asked import COMPLETION, HELLO, made, wired

from replay.providers.cross import worded
from replay.questions import read_question
from replay.start import plans

pytestmark = pytest.mark.filterwarnings("ignore:Sampling parameters")
CHAT_URL = "https://api.openai.com/v1/chat/completions"
RESPONSES_URL = "https://api.openai.com/v1/responses"
CLAUDE_URL = "https://api.anthropic.com/v1/messages"
MESSAGE = {"effect": 1, "index": 1, "text": "Where is it?"}


@pytest.fixture
def plan(store, provider):
    """plan(log, **what is changed) -> the plan of asking all its calls."""
    provider({"answer": {"text": "Fine."}})

    def make(log: dict[str, Any], **body: Any) -> dict[str, Any]:
        run = store(log, "r")
        question = read_question({"run": "r", "models": ["openai:b"], **body})
        return plans(run, question)[0].plan

    return make


@pytest.fixture
def two_calls(read_log) -> dict[str, Any]:
    """Two calls that begin with a system text and a question, and offer one tool."""
    return read_log("order-status-chat")


@pytest.fixture
def of_two_agents(two_calls) -> dict[str, Any]:
    """The same, but only the first call offers the tool."""
    log = copy.deepcopy(two_calls)
    last = [one for one in log["records"] if one["kind"]["effect"] == "completion"][-1]
    last["kind"]["request"]["tools"] = []
    return log


def change(plan: dict[str, Any], what: str) -> dict[str, Any]:
    return next(one for one in plan["changes"] if one["what"] == what)


# --- What goes out --------------------------------------------------------------------------------

REASONING = (
    "o1 o3-mini o4-mini gpt-5 gpt-5-mini gpt-5-pro gpt-5-chat-latest gpt-5.1 gpt-5.1-codex"
    " gpt-5.2 gpt-5.2-pro gpt-5.2-chat-latest gpt-5.3-codex gpt-5.4-mini gpt-5.5 gpt-5.6 gpt-4o"
)
CLAUDES = (
    "claude-3-haiku claude-sonnet-4-5 claude-opus-4-5 claude-opus-4-6 claude-opus-4-7"
    " claude-opus-5 claude-sonnet-5 claude-haiku-5-5 claude-fable-5 claude-mythos-5"
)
ASKED = {"temperature": 0.7, "top_p": 0.5, "max_tokens": 900_000}
NUMBERS = ("temperature", "top_p", "max_tokens", "max_completion_tokens", "max_output_tokens")


def numbers(body: Any) -> dict[str, Any]:
    named = {name: body[name] for name in NUMBERS if name in body}
    # The library calls the limit so on Chat, whatever we do; the plan has a note for it.
    if "max_tokens" in named and "messages" in body and "max_completion_tokens" not in named:
        named["max_completion_tokens"] = named.pop("max_tokens")
    return named


def holds(providers: Any, model: str, url: str, body: dict[str, Any]) -> bool:
    """Whether the library sends the very numbers of the body that the plan was made of."""
    call = made(providers, COMPLETION, model, wired(url, body), **ASKED)
    assert call.lane == "cross"
    return numbers(call.body) == numbers(worded(call, timeout=5).body)


@pytest.mark.parametrize("effort", [None, "none", "low"])
@pytest.mark.parametrize("model", REASONING.split())
def test_the_library_sends_no_other_numbers_to_openai_than_the_plan_has(providers, model, effort):
    reasons = {"reasoning": {"effort": effort}} if effort else {}
    body = {"model": "m", "input": "Hi", **reasons}
    assert holds(providers, f"openai-chat:{model}", RESPONSES_URL, body)
    reasons = {"reasoning_effort": effort} if effort else {}
    body = {"model": "m", "messages": HELLO, **reasons}
    assert holds(providers, f"openai-responses:{model}", CHAT_URL, body)


@pytest.mark.parametrize("effort", [None, "low"])
@pytest.mark.parametrize("model", CLAUDES.split())
def test_the_library_sends_no_other_numbers_to_anthropic_than_the_plan_has(
    providers, model, effort
):
    reasons = {"reasoning_effort": effort} if effort else {}
    body = {"model": "m", "messages": HELLO, **reasons}
    assert holds(providers, f"anthropic:{model}", CHAT_URL, body)


def test_a_plan_says_which_numbers_do_not_go_out(plan, read_log, call):
    asked = {"temperature": 0.7, "top_p": 0.5, "max_tokens": 200_000}
    told = plan(read_log("sql-analyst-responses"), models=["openai-chat:gpt-5-mini"], **asked)
    assert change(told, "temperature")["sent"] == [None]
    assert change(told, "top_p")["sent"] == [None]
    assert change(told, "max_tokens")["sent"] == [128_000]
    left = {note["message"] for note in told["notes"] if note["code"].endswith("_left_out")}
    assert "gpt-5-mini takes no temperature but its own; 0.7 is left out" in left
    assert not [one for one in told["warnings"] if one["code"] == "model_may_refuse"]


def test_a_plan_says_nothing_more_of_a_number_that_goes_out(plan, two_calls):
    assert "sent" not in change(plan(two_calls, temperature=0.7), "temperature")


def test_the_page_says_what_is_left_out_before_and_after(run, provider, member_client):
    fake = provider({"answer": {"text": "Fine."}})
    query = {"model": "openai-chat:gpt-5-mini", "temperature": "0.7"}
    form = member_client.get(f"/p/acme/runs/{run.external_id}/replay", query).content.decode()
    assert "→ 0.7, left out" in form
    from replay import jobs
    from replay.models import Replay

    member_client.post(f"/p/acme/runs/{run.external_id}/replay", query)
    replay = Replay.objects.get()
    jobs.run_job(replay.public_id)
    shown = member_client.get(f"/p/acme/replays/{replay.public_id}").content.decode()
    assert "temperature 0.7, left out" in shown
    assert not [one for one in fake.asked if "temperature" in one.body]


# --- What stays -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changed", "messages", "tools"),
    [
        ({}, 6, 1),
        ({"system": "Be brief."}, 4, 1),
        ({"message": MESSAGE}, 4, 1),
        ({"system": "Be brief.", "message": MESSAGE}, 2, 1),
        ({"tools_off": ["lookup_order"]}, 6, 0),
    ],
)
def test_what_is_replaced_does_not_stay_as_recorded(plan, two_calls, changed, messages, tools):
    kept = plan(two_calls, **changed)["kept"]
    assert (kept["messages"], kept["tool_definitions"]) == (messages, tools)


def test_a_message_whose_open_call_is_dropped_does_not_stay_as_recorded(plan, read_log):
    log = read_log("order-status-chat")
    for one in log["records"]:
        if one["kind"]["effect"] == "completion":
            one["kind"]["request"]["chat_history"] = one["kind"]["request"]["chat_history"][:3]
    assert plan(log)["kept"]["messages"] == 5
    assert plan(log, dangling="drop")["kept"]["messages"] == 4


# --- What comes to nothing ------------------------------------------------------------------------


def test_a_tool_that_no_chosen_call_offers_is_a_mistake(plan, two_calls):
    told = plan(two_calls, tools_off=["lookup_order", "nope"])
    [wrong] = told["errors"]
    assert (wrong["code"], wrong["field"]) == ("tool_not_offered", "tools_off")
    assert "`nope`" in wrong["message"]
    assert change(told, "tools_off") == {
        "what": "tools_off",
        "tools": ["lookup_order"],
        "unknown": ["nope"],
    }
    assert told["warnings"] == []


def test_a_tool_that_some_calls_offer_is_told_of_the_others(plan, of_two_agents):
    told = plan(of_two_agents, tools_off=["lookup_order"])
    assert told["errors"] == []
    [warning] = told["warnings"]
    assert (warning["code"], warning["effects"]) == ("tool_not_there", [3])
    [wrong] = plan(of_two_agents, tools_off=["lookup_order"], effects=[3])["errors"]
    assert wrong["field"] == "tools_off"


def test_a_message_that_no_chosen_call_holds_is_a_mistake(plan, two_calls):
    first, last = two_calls["records"][0], two_calls["records"][-1]
    assert first["kind"]["effect"] == last["kind"]["effect"] == "completion"
    last["kind"]["request"]["chat_history"][1]["content"] = "Another question"
    last["kind"]["request"]["chat_history"] = last["kind"]["request"]["chat_history"][:2]
    assert plan(two_calls, message=MESSAGE)["errors"] == []
    [wrong] = plan(two_calls, message=MESSAGE, effects=[last["id"]])["errors"]
    assert (wrong["code"], wrong["field"]) == ("message_not_found", "message")


def test_a_long_run_that_is_tried_out_in_part_keeps_its_replay(plan, two_calls, monkeypatch):
    monkeypatch.setattr("replay.plan.CHECKED_CALLS", 1)
    told = plan(two_calls, tools_off=["nope"])
    assert told["errors"] == []
    assert "tool_not_there" in [warning["code"] for warning in told["warnings"]]


def test_nothing_starts_with_such_a_mistake(plan, two_calls, call):
    plan(two_calls)
    status, told = call("POST", "replays", run="r", models=["openai:b"], tools_off=["nope"])
    assert (status, told["error"]["code"]) == (422, "tool_not_offered")
    assert told["error"]["field"] == "tools_off"


@pytest.mark.parametrize("names", [["no\x1bpe"], ["no\x1bpe", "no␛pe"]])
def test_it_is_told_of_names_that_a_page_spells_otherwise(plan, two_calls, call, names):
    plan(two_calls)
    status, told = call("POST", "replays", run="r", models=["openai:b"], tools_off=names)
    assert (status, told["error"]["code"]) == (422, "tool_not_offered")


def test_the_form_has_room_to_take_such_a_mistake_back(plan, two_calls, member_client):
    plan(two_calls)
    page = member_client.get("/p/acme/runs/r/replay?model=openai:b&tool_off=nope").content.decode()
    assert 'id="wrong-tools_off">No chosen call offers' in page
    assert 'value="nope" checked' in page


# --- Of many runs ---------------------------------------------------------------------------------


def test_an_experiment_warns_of_the_runs_without_the_tool(
    store, two_calls, of_two_agents, plan, call
):
    plan(two_calls)
    bare = copy.deepcopy(two_calls)
    for one in bare["records"]:
        one["kind"].get("request", {}).pop("tools", None)
    store(bare, "bare")
    asked = {"models": ["openai:b"], "tools_off": ["lookup_order"], "plan_only": True}
    status, told = call("POST", "experiments", runs=["r", "bare"], **asked)
    assert (status, told["plan"]["errors"]) == (200, [])
    [warning] = told["plan"]["candidates"][0]["warnings"]
    assert (warning["code"], warning["runs"]) == ("tool_not_offered", 1)
    status, told = call("POST", "experiments", runs=["r", "bare"], **{**asked, "tools_off": ["no"]})
    [wrong] = told["plan"]["errors"]
    assert (wrong["code"], wrong["field"]) == ("tool_not_offered", "tools_off")


def test_an_experiment_that_is_tried_out_in_part_can_start(
    store, two_calls, plan, call, monkeypatch
):
    plan(two_calls)
    store(json.loads(json.dumps(two_calls)), "r2")
    monkeypatch.setattr("replay.experiments.planning.TRY_SECONDS", -1.0)
    asked = {"models": ["openai:b"], "tools_off": ["no"], "plan_only": True}
    told = call("POST", "experiments", runs=["r", "r2"], **asked)[1]["plan"]
    assert told["errors"] == []
    assert [one["code"] for one in told["candidates"][0]["warnings"]] == ["tool_not_offered"]


# --- The message that the form has ----------------------------------------------------------------


@pytest.mark.parametrize("place", ["1:1", "3:1"])
def test_the_form_shows_the_message_that_is_replaced_whatever_call_named_it(
    plan, two_calls, member_client, place
):
    """Replay again names it as the program did that asked; the list has it where it is first."""
    plan(two_calls)
    query = {"model": "openai:b", "message": place, "message_text": "Where is it?"}
    page = member_client.get("/p/acme/runs/r/replay", query).content.decode()
    assert '<option value="1:1" selected>' in page
    assert "replaces it in every call that holds it" in page
    assert ">Where is it?</textarea>" in page


def test_a_message_that_the_list_has_no_room_for_is_shown_too(
    plan, two_calls, member_client, monkeypatch
):
    monkeypatch.setattr("replay.forms.SHOWN_MESSAGES", 0)
    plan(two_calls)
    query = {"model": "openai:b", "message": "3:1", "message_text": "Where is it?"}
    page = member_client.get("/p/acme/runs/r/replay", query).content.decode()
    assert '<option value="3:1" selected>' in page
    assert "replaces it in every call that holds it" in page


def test_a_place_that_is_none_changes_nothing(plan, two_calls, member_client):
    plan(two_calls)
    for place in ("x", "1", "1:2:3", ":"):
        query = {"model": "openai:b", "message": place, "message_text": "Where is it?"}
        answer = member_client.get("/p/acme/runs/r/replay", query)
        assert (answer.status_code, "one message" in answer.content.decode()) == (200, False)
