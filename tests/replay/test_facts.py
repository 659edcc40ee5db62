"""Facts are found in any text, in time that grows with its length and no faster."""

import time

import pytest

from replay.comparison.facts import facts


def values(text: str) -> set[tuple[str, str]]:
    return {(fact.kind, fact.value) for fact in facts(text)}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("write to ada.b+c@mail.example.org", {("link", "ada.b+c@mail.example.org")}),
        ("order_8812 and AB-12/x", {("identifier", "order_8812"), ("identifier", "AB-12/x")}),
        ("call __init__ or max_tokens", {("identifier", "__init__"), ("identifier", "max_tokens")}),
        ("in all 1.234,50", {("number", "1234.5")}),
        ("49.90 EUR", {("amount", "49.9 EUR")}),
        ("just words, and some more", set()),
    ],
)
def test_facts_of_a_text(text: str, found: set) -> None:
    assert values(text) == found


HOSTILE = ["x", "a.", "-", "1,", "_", "a@", "a@a.", "jan ", "'a", "#a/", "USD ", "é1-", "\n  ", '"',
           "1 k", "5 million ", "$1", "a.com", "Mon", "1e9", "‘a", "aB", "1 pm", "5-"]  # fmt: skip


@pytest.mark.parametrize("piece", HOSTILE)
def test_no_text_stalls(piece: str) -> None:
    start = time.process_time()
    facts(piece * (200_000 // len(piece)))
    assert time.process_time() - start < 5
