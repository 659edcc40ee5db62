"""docs/replay.md says what the code does."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from replay.comparison.compare import compare
from replay.comparison.differences import Difference
from replay.dialects.answer import Answer, AnswerCall
from replay.ignore_rules.rule import made_of
from replay.questions import read_question

TEXT = (Path(__file__).resolve().parents[2] / "docs" / "replay.md").read_text()
ROWS = re.findall(r"^\| (.+?) \| (.+?) \| (\w+) \|$", TEXT, re.MULTILINE)
BODIES = [
    json.loads(body) for body in re.findall(r"-d ('\{.+?\}')", TEXT) for body in shlex.split(body)
]


RULED = re.findall(
    r"^\| ((?:pattern|path) .+?) \| (.+?) \| (.+?) \| (\w+) \| `(\w+)` \|$", TEXT, re.M
)
SENT = [
    json.loads(body)
    for found in re.findall(r"--data ('\{.*?\}')", TEXT)
    for body in shlex.split(found)
]


def test_every_class_is_told_in_order():
    assert re.findall(r"^\| `(\w+)` \|", TEXT, re.MULTILINE) == [d.value for d in Difference]


@pytest.mark.parametrize(("recorded", "replayed", "expected"), ROWS[1:])
def test_each_example_has_its_class(recorded, replayed, expected):
    sides = (Answer(text=text.strip("`")) for text in (recorded, replayed))
    assert compare(*sides).difference == expected


def answer_of(written: str) -> Answer:
    """`tool(arguments); …` as calls, anything else as a text."""
    calls = re.findall(r"(\w+)\((\{.*?\})\)", written)
    made = (AnswerCall("", name, json.loads(said), said) for name, said in calls)
    return Answer(calls=tuple(made)) if calls else Answer(text=written.strip("`"))


@pytest.mark.parametrize(("rule", "recorded", "replayed", "otherwise", "expected"), RULED)
def test_each_ignore_rule_has_the_effect_it_is_told_to_have(
    rule, recorded, replayed, otherwise, expected
):
    made = made_of({"name": "n", **dict(re.findall(r"(\w+) `(.+?)`", rule))})
    sides = answer_of(recorded), answer_of(replayed)
    assert compare(*sides).difference == otherwise
    assert compare(*sides, rules=[made]).difference == expected


def test_the_ignore_rules_that_are_sent_are_taken(api):
    rules, tried, application = (json.dumps(body).encode() for body in SENT)
    assert api("PUT", "/api/v1/ignore-rules", rules).status_code == 200
    assert api("POST", "/api/v1/ignore-rules/preview", tried).status_code == 200
    assert api("POST", "/api/v1/ignore-rules/application", application).status_code == 200
    assert len(RULED) == 9


def test_the_calls_are_questions():
    assert [read_question(body).mode for body in BODIES] == ["reconstruct", "prompt"]
