import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runs.messages.summary import brief, summarise

words = st.text("ab \n\x00\ud800é", max_size=8)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | words,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(words, inner, max_size=4),
    max_leaves=12,
)
MEMBERS = ["args", "op", "query", "inputs", "request", "results", "choice", "result"]
EFFECTS = ["completion", "tool_call", "memory", "retrieve", "embed", "rerank", "custom", "new"]


def lines_of(shared: Path, name: str) -> list[str]:
    log = json.loads((shared / "data" / name).read_bytes())
    return [summarise(record) for record in log["records"]]


def test_each_family_is_told_in_its_own_words(shared: Path) -> None:
    assert lines_of(shared, "rig-examples/02-two-tools-memory.effects.json") == [
        "load conversation trip-7 → 2 messages",
        "calls 2 tools: weather, opening_hours",
        "city Oslo, part afternoon",
        "place Munch museum",
        "Ada, walk by the fjord at 14 degrees, then visit the Munch museum, open until 21:00.",
        "append 4 messages to conversation trip-7",
    ]


def test_searches_say_the_query_and_how_many_hits(shared: Path) -> None:
    assert lines_of(shared, "rig/host-desk-families.effects.json")[3:7] == [
        "3 texts → 3 vectors of 4 numbers",
        "“bike” over 3 documents → best is 2",
        "“Rad kaufen” → 1 document",
        "“bike” → 1 id",
    ]


def test_a_failed_call_shows_what_was_asked_and_why_it_failed(shared: Path) -> None:
    assert lines_of(shared, "rig-examples/04-retrieval-failing-tool.effects.json")[2] == (
        "a 12, b 2 → error: calculator backend did not answer in 2 s"
    )
    assert lines_of(shared, "rig/radio-stream-error.effects.json")[0] == (
        "Headlines at 7 → provider: ProviderError: upstream closed the connection"
    )


def test_an_effect_without_an_answer_yet_shows_its_request() -> None:
    history = [{"role": "user", "content": [{"type": "text", "text": "Hello\nthere"}]}]
    kind = {"effect": "completion", "request": {"chat_history": history}}
    assert summarise({"kind": kind}) == "Hello there"


def test_whole_numbers_are_not_taken_for_booleans() -> None:
    assert brief({"a": 1, "b": 0, "c": True, "d": None}) == "a 1, b 0, c true, d null"


def test_text_unfit_for_a_column_is_replaced_visibly() -> None:
    kind = {"effect": "custom", "kind": "x", "payload": "a\x00b\ud800c"}
    assert summarise({"kind": kind}) == "x a␀b�c"


@pytest.mark.parametrize("effect", EFFECTS)
@settings(max_examples=50)  # of each
@given(parts=st.dictionaries(st.sampled_from(MEMBERS), json_values))
def test_no_shape_breaks_it_and_no_line_is_too_long(effect: str, parts: dict[str, Any]) -> None:
    record = {"kind": {"effect": effect, **parts}, "outcome": {"Ok": parts}}
    assert len(summarise(record)) <= 200


@given(record=st.dictionaries(st.sampled_from(["kind", "outcome", "id"]), json_values))
def test_any_record_at_all_has_a_line(record: dict[str, Any]) -> None:
    summarise(record).encode()
