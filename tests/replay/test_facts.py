"""Facts are found in any text, in time that grows with its length and no faster."""

import time

import pytest

from replay.comparison import facts as reading
from replay.comparison.compare import compare
from replay.comparison.facts import KEPT_TEXT, facts, only_in, read, spelled_alike
from replay.dialects.answer import Answer


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
           "1 k", "5 million ", "$1", "a.com", "Mon", "1e9", "‘a", "aB", "1 pm", "5-",
           "a Ab 1.", "version 1.", "1.1", "1 to ", "5%-", "v1."]  # fmt: skip


@pytest.mark.parametrize("piece", HOSTILE)
def test_no_text_stalls(piece: str) -> None:
    start = time.process_time()
    facts(piece * (200_000 // len(piece)))
    assert time.process_time() - start < 5


def test_no_pair_of_texts_stalls() -> None:
    """Many names that the other text has not, and one that it has everywhere within words."""
    names = "".join(f'"n{n} x" ' for n in range(5_000))
    start = time.process_time()
    assert len(only_in(read(names), read("a" * 200_000))) == 5_000
    only_in(read("".join(f'"{"a" * n}" ' for n in range(1, 80))), read("a" * 200_000))
    spelled_alike("1,000 " * 30_000, "1000 " * 30_000)
    assert time.process_time() - start < 5


@pytest.mark.parametrize(
    ("name", "there", "missing"),
    [
        ('"Ann"', "Ask ann there.", 0),
        ('"Ann"', "Ask Annette.", 1),
        ('"Ann"', "Joann, Annette and Ann.", 0),
        ('"Ann"', "Ann", 0),
        ('"the  C++"', "in The C++!", 0),
    ],
)
def test_a_name_need_not_stand_in_quotes_again(name: str, there: str, missing: int) -> None:
    assert len(only_in(read(name), read(there))) == missing


def test_each_of_two_long_texts_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    real, looked_at = reading._read, []
    monkeypatch.setattr(reading, "_read", lambda text: looked_at.append(text) or real(text))
    long = "Ada pays €5 for order ch_77A1. " * (KEPT_TEXT // 20)
    one, other = f"{long}It is so.", f"{long}So it is."
    assert compare(Answer(text=one), Answer(text=other)).difference == "wording"
    assert looked_at == [one, other]
