"""What the body of a replay may say, and the field that is named where it may not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replay.questions import Candidate, Controls, read_question
from runs.refusals import Refused


@pytest.mark.parametrize(
    ("body", "mode"),
    [
        ({"run": "r"}, "reconstruct"),
        ({"run": "r", "models": ["openai:gpt-5"]}, "prompt"),
        ({"run": "r", "temperature": 0}, "prompt"),
        ({"run": "r", "system": ""}, "prompt"),
        ({"run": "r", "effects": [2]}, "prompt"),
        ({"run": "r", "mode": "prompt"}, "prompt"),
    ],
)
def test_the_mode_follows_from_what_is_changed(body, mode):
    assert read_question(body).mode == mode


def test_everything_asked_for_is_read():
    question = read_question(
        {"run": "r", "mode": "prompt", "models": ["openai:a", "ollama:llama3:8b", "openai:a"],
         "temperature": 0, "system": "Be terse.", "effects": [5, 2, 5], "strict": True,
         "plan_only": True}
    )  # fmt: skip
    assert question.candidates == (Candidate("openai", "a"), Candidate("ollama", "llama3:8b"))
    assert question.controls == Controls(0.0, "Be terse.", (2, 5), True)
    assert question.plan_only is True


def test_controls_survive_the_row():
    controls = Controls(0.0, "", (2,), True)
    assert Controls.of_json(controls.as_json()) == controls
    assert Controls.of_json({}) == Controls()


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ([], None),
        ({}, "run"),
        ({"run": 7}, "run"),
        ({"run": "r" * 201}, "run"),
        ({"run": "r\x00"}, "run"),
        ({"run": "r", "mode": "magic"}, "mode"),
        ({"run": "r", "mode": "execute"}, "mode"),
        ({"run": "r", "mode": "reconstruct", "temperature": 0}, "temperature"),
        ({"run": "r", "mode": "reconstruct", "models": ["a:b"]}, "models"),
        ({"run": "r", "models": []}, "models"),
        ({"run": "r", "models": "openai:a"}, "models"),
        ({"run": "r", "models": ["gpt"]}, "models"),
        ({"run": "r", "models": [":gpt"]}, "models"),
        ({"run": "r", "models": ["openai:"]}, "models"),
        ({"run": "r", "models": ["openai:\x00"]}, "models"),
        ({"run": "r", "models": ["a:b"] * 21}, "models"),
        ({"run": "r", "model": 3}, "model"),
        ({"run": "r", "temperature": True}, "temperature"),
        ({"run": "r", "temperature": "0"}, "temperature"),
        ({"run": "r", "temperature": 2.1}, "temperature"),
        ({"run": "r", "temperature": 10**400}, "temperature"),
        ({"run": "r", "temperature": float("nan")}, "temperature"),
        ({"run": "r", "system": ["a"]}, "system"),
        ({"run": "r", "dangling": "supply"}, "dangling_result"),
        ({"run": "r", "system": "a\x00"}, "system"),
        ({"run": "r", "system": "a\ud800"}, "system"),
        ({"run": "r", "effects": []}, "effects"),
        ({"run": "r", "effects": [0]}, "effects"),
        ({"run": "r", "effects": [True]}, "effects"),
        ({"run": "r", "strict": "yes"}, "strict"),
        ({"run": "r", "plan_only": 1}, "plan_only"),
        ({"run": "r", "colour": 1}, "colour"),
    ],
)
def test_the_field_at_fault_is_named(body, field):
    with pytest.raises(Refused) as caught:
        read_question(body)
    assert caught.value.field == field


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


NAMES = ["run", "mode", "models", "temperature", "system", "effects", "strict", "plan_only"]


@given(st.dictionaries(st.sampled_from(NAMES), JSON) | JSON)
def test_any_body_is_a_question_or_refused(body):
    try:
        assert read_question(body).run
    except Refused as refusal:
        assert refusal.message
