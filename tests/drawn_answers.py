"""Answers for tests of their comparison: made by hand, and drawn by hypothesis."""

from __future__ import annotations

import json

from hypothesis import strategies as st

from replay.dialects.answer import Answer, AnswerCall


def call(name: str, written: str = "{}", id: str = "c1") -> AnswerCall:
    try:
        return AnswerCall(id, name, json.loads(written), written)
    except ValueError:
        return AnswerCall(id, name, None, written)


WORDS = st.text(alphabet="ab 1.,€'\"-/#_\n:5", max_size=30)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=5,
)
CALLS = st.builds(
    lambda name, arguments: AnswerCall("id", name, arguments, json.dumps(arguments)),
    st.sampled_from(["get", "put"]),
    JSON,
)
FINISH = st.sampled_from([None, "stop", "length", "tool_calls"])
ANSWERS = st.builds(
    Answer,
    text=WORDS,
    calls=st.lists(CALLS, max_size=3).map(tuple),
    refusal=st.none() | WORDS,
    finish_reason=FINISH,
)
