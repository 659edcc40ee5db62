"""docs/replay.md says what the code does."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from replay.compare import compare
from replay.dialects.answer import Answer
from replay.differences import Difference
from replay.questions import read_question

TEXT = (Path(__file__).resolve().parents[2] / "docs" / "replay.md").read_text()
ROWS = re.findall(r"^\| (.+?) \| (.+?) \| (\w+) \|$", TEXT, re.MULTILINE)
BODIES = [
    json.loads(body) for body in re.findall(r"-d ('\{.+?\}')", TEXT) for body in shlex.split(body)
]


def test_every_class_is_told_in_order():
    assert re.findall(r"^\| `(\w+)` \|", TEXT, re.MULTILINE) == [d.value for d in Difference]


@pytest.mark.parametrize(("recorded", "replayed", "expected"), ROWS[1:])
def test_each_example_has_its_class(recorded, replayed, expected):
    sides = (Answer(text=text.strip("`")) for text in (recorded, replayed))
    assert compare(*sides).difference == expected


def test_the_calls_are_questions():
    assert [read_question(body).mode for body in BODIES] == ["reconstruct", "prompt"]
