"""The plan: what it says before anything runs, and what it refuses."""

from __future__ import annotations

import json

import factories
import pytest

from replay.plan import tokens_of
from replay.questions import read_question
from replay.start import plans
from runs import ingest
from runs.models import Run
from runs.refusals import Refused


@pytest.fixture
def plan(store, read_log, provider):
    """plan("order-status-chat", models=[…]) -> the plan of the first candidate."""
    provider()

    def make(name: str, log=None, **body):
        run = store(log or read_log(name), name)
        return plans(run, read_question({"run": name, **body}))[0].plan

    return make


def codes(plan) -> list[str]:
    return [error["code"] for error in plan["errors"]]


def test_a_reconstruction_asks_nobody(plan):
    made = plan("order-status-chat")
    assert (made["mode"], made["calls"]["total"], made["cost"]["estimate"]) == ("reconstruct", 0, 0)
    assert {c["runs"] for c in made["components"]} == {"recorded"}


def test_a_prompt_replay_says_what_is_live_and_how_often(plan, settings):
    settings.REPLAY_CALL_ATTEMPTS = 3
    made = plan("order-status-chat", models=["openai:gpt-4o-mini"])
    assert [(c["label"], c["runs"], c["effects"]) for c in made["components"]] == [
        ("model", "live", 2), ("tool", "recorded", 1)
    ]  # fmt: skip
    assert (made["calls"]["total"], made["calls"]["at_most"]) == (2, 6)
    assert made["effects"] == [1, 3]


@pytest.mark.parametrize("digits", ["1" + "0" * 309, "1" + "0" * 5000, "1e400", "true"])
def test_a_number_that_no_float_holds_breaks_no_plan(
    project, provider, api, member_client, read_log, digits
):
    provider()
    text = json.dumps(read_log("order-status-chat"))
    odd = text.replace('"temperature": 0.0', f'"temperature": {digits}, "top_p": {digits}')
    assert odd != text
    ingest.accept_log(project, odd.encode(), run_id="r")
    asked = {"run": "r", "models": ["openai:gpt-4o"], "plan_only": True}
    planned = api("POST", "/api/v1/replays", json.dumps(asked).encode()).json()["plan"]
    assert planned["calls"]["total"] == 2
    assert member_client.get("/p/acme/runs/r/replay?model=openai:gpt-4o").status_code == 200


def test_what_is_loaded_and_appended_to_goes_by_its_key(plan):
    memory = [c for c in plan("refund-memory")["components"] if c["label"] == "memory"]
    assert [(c["name"], c["effects"]) for c in memory] == [("refund/memory", 4)]


def test_tokens_and_cost_are_estimated_from_the_recording(plan):
    made = plan("order-status-chat", models=["openai:gpt-4o"])
    assert made["tokens"]["complete"] is True
    assert made["cost"]["estimate"] == pytest.approx(
        made["tokens"]["input"] * 2.5e-6 + made["tokens"]["output"] * 1e-5
    )


def test_an_unknown_price_is_unknown(plan):
    made = plan("order-status-chat", models=["openai:no-such-model"])
    assert (made["cost"]["estimate"], made["cost"]["complete"]) == (None, False)


def test_unreported_usage_is_unknown(plan):
    made = plan("unknown-tool-recovered", models=["openai:gpt-4o"])
    assert (made["tokens"]["input"], made["cost"]["estimate"]) == (None, None)


def test_tokens_nobody_told_are_no_zero():
    told = tokens_of([(10, None), (None, None), (5, 7)], 3)
    assert told == {"input": 15, "output": 7, "complete": False}
    assert tokens_of([(10, None)], 1) == {"input": 10, "output": None, "complete": False}


def test_what_is_changed_is_said_beside_what_was_recorded(plan):
    made = plan("order-status-chat", models=["openai:b"], temperature=0.5, system="Be terse.")
    assert made["changes"] == [
        {"what": "model", "recorded": ["openai:gpt-4o"], "replayed": "openai:b"},
        {"what": "temperature", "recorded": [0.0], "replayed": 0.5},
        {"what": "system", "texts_replaced": 1},
    ]


def test_what_cannot_be_carried_names_its_calls(plan):
    made = plan("reviewer-anthropic", models=["openai:b"])
    changed = next(note for note in made["notes"] if note["code"] == "api_changed")
    assert changed["effects"] == [1, 3]


def test_a_dangling_call_is_a_warning(plan, read_log):
    log = read_log("order-status-chat")
    history = log["records"][2]["kind"]["request"]["chat_history"]
    history.append({"role": "user", "content": [{"type": "text", "text": "Well?"}]})
    del history[-2]
    made = plan("dangling", log, models=["openai:b"])
    assert "dangling_call" in [warning["code"] for warning in made["warnings"]]


def test_hard_strings_are_kept_out_of_the_plan(plan, read_log):
    log = read_log("order-status-chat")
    answer = log["records"][2]["kind"]["request"]["chat_history"][2]
    answer["content"][0]["id"] = {"provider": "call\x00\ud800"}
    made = plan("hard", log, models=["openai:b"])
    told = [note["message"] for note in made["warnings"]]
    assert any("call␀\ufffd" in message for message in told)


@pytest.mark.parametrize(
    ("name", "body", "code"),
    [
        ("order-status-chat", {"models": ["nobody:b"]}, "unknown_provider"),
        ("order-status-chat", {"models": ["openai:b"], "effects": [2, 9]}, "not_a_model_call"),
        ("mute-denied", {"models": ["openai:b"]}, "no_model_calls"),
        ("support-triage", {"temperature": 0}, "unknown_provider"),
    ],
)
def test_what_cannot_be_done_is_an_error(plan, name, body, code):
    assert codes(plan(name, **body)) == [code]


def test_a_missing_key_is_an_error(plan, monkeypatch):
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    made = plan("order-status-chat", models=["anthropic:b"])
    assert codes(made) == ["no_key"]
    assert "ANTHROPIC_API_KEY" in made["errors"][0]["message"]


def test_several_recorded_models_ask_for_a_choice(plan, read_log):
    log = read_log("order-status-chat")
    log["records"][2]["outcome"]["Ok"]["origin"]["model"] = "gpt-5"
    log["records"][2]["outcome"]["Ok"]["origin"]["response_model"] = "gpt-5"
    assert codes(plan("two", log, temperature=0)) == ["several_models"]


def test_a_long_run_says_how_much_of_it_was_tried(plan):
    made = plan("bulk-tagger-2000", models=["openai:b"])
    assert made["calls"]["total"] == 667
    assert made["warnings"][0]["message"] == "Tried out on the first 100 of 667 calls."


def test_an_error_of_the_plan_is_the_answer(store, read_log):
    from replay import jobs
    from replay.start import start

    run = store(read_log("order-status-chat"), "r")
    question = read_question({"run": "r", "models": ["nobody:b"]})
    with pytest.raises(Refused) as caught:
        start(run, question, jobs.Asker())
    assert (caught.value.code, caught.value.field) == ("unknown_provider", "models")


def test_notes_that_differ_in_a_name_only_are_told_once(plan):
    made = plan("night-shift-300", models=["anthropic:a"])
    [orphans] = [note for note in made["warnings"] if note["code"] == "orphan_result"]
    assert orphans["message"].startswith("the result of n0a answers no call before it")
    assert orphans["effects"] == sorted(set(orphans["effects"]))
    assert len(orphans["rest"]) == 227 and "the result of n0b" in orphans["rest"][0]


def test_notes_of_different_matters_are_told_apart(plan):
    made = plan("options-schema", models=["openai:b"])
    left = [note["message"] for note in made["notes"] if note["code"] == "param_left_out"]
    assert [message.split()[2] for message in left] == ["penalty", "big", "tiny"]


def test_what_redaction_took_out_of_a_prompt_is_told(store, provider):
    """The model is not asked what it was: a mark stands where the secret was."""
    provider()
    secret = "sk-proj-a1b2c3d4e5f6a7b8c9d0a1b2c3d4e5f6a7b8c9d0"
    asked = factories.completion(1, f"My key is {secret}")
    told = factories.completion(2, "And now?", f"It was {secret}")
    store(factories.log(asked, told, factories.completion(3)), "r")
    question = read_question({"run": "r", "models": ["openai:gpt-4o"]})
    [made] = plans(Run.objects.get(external_id="r"), question)
    [warning] = [one for one in made.plan["warnings"] if one["code"] == "redacted"]
    assert warning["effects"] == [1]
