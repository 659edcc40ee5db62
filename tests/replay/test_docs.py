"""docs/replay.md says what the code does."""

from __future__ import annotations

import json
import re
import shlex
from itertools import pairwise
from pathlib import Path

import pytest

from replay.comparison.compare import Failed, compare
from replay.comparison.differences import Difference
from replay.dialects.answer import Answer, AnswerCall
from replay.experiments.asked import read_asked
from replay.ignore_rules.rule import made_of
from replay.questions import read_question
from runs import demo

DOCS = Path(__file__).resolve().parents[2] / "docs"
TEXT = (DOCS / "replay.md").read_text()
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


EXAMPLES = [row for row in ROWS if row[2] != "class"]


@pytest.mark.parametrize(("recorded", "replayed", "expected"), EXAMPLES)
def test_each_example_has_its_class(recorded, replayed, expected):
    assert compare(side_of(recorded), side_of(replayed)).difference == expected


def test_every_class_has_an_example():
    assert {expected for *_, expected in EXAMPLES} == {each.value for each in Difference}


def side_of(written: str) -> Answer | Failed | None:
    """A side as the tables write it; a finish reason only where it is told."""
    said, _, ends = written.partition(" *ends with* ")
    if said == "*not there*":
        return None
    if said.startswith("*fails with* "):
        return Failed(said.removeprefix("*fails with* "))
    if said.startswith("*refuses:* "):
        return Answer("", refusal=said.removeprefix("*refuses:* "))
    answer = answer_of(said)
    return answer if answer.calls else Answer(answer.text, finish_reason=ends or "stop")


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
    of_one = [read_question(body).mode for body in BODIES if "run" in body]
    assert of_one == ["reconstruct", "prompt"]
    [of_many] = [read_asked(body) for body in BODIES if "run" not in body]
    assert [one.name for one in of_many.candidates] == ["recorded"]


SHELL = re.compile(r"^curl .*$", re.M)


@pytest.mark.parametrize("page", ["replay.md", "review.md"])
def test_each_call_of_the_pages_is_answered(page, project, api, provider, replay):
    """As they stand there, one after the other, with the demo that a first start brings."""
    demo.load(project)
    provider({"answer": {"text": "It is paid."}})
    done = replay("demo-refund-memory")
    commands = SHELL.findall((DOCS / page).read_text())
    assert commands
    for command in commands:
        words = shlex.split(command.replace("$URL", "").replace("$ID", done.public_id))
        given = dict(pairwise(words))
        body = given.get("-d", given.get("--data"))
        method = given.get("-X", "GET" if body is None else "POST")
        answer = api(method, words[-1], None if body is None else body.encode())
        said = b"".join(answer) if answer.streaming else answer.content
        assert answer.status_code in (200, 201), (command, said)
