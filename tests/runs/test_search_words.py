"""What a word is: the same in a text and in a question, in any script."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from runs.search import words
from runs.search.query import MAX_LENGTH, QueryProblem, parse
from runs.search.rows import PIECE_WORDS, rows

TEXTS = st.text(
    st.one_of(
        st.characters(exclude_categories=["Cs"]),
        st.sampled_from(
            "abc ABC éü-_.,東京都サーバかが한국어สวัสดีکتابкниὙ👍🏽👩\u200d\u0301\u0327\u3099"
        ),
    ),
    max_size=60,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Order_8812, f3a9-b1 & 12.50", ["order", "8812", "f3a9", "b1", "12", "50"]),
        ("Café CAFE\u0301 naïve Straße İstanbul", ["cafe", "cafe", "naive", "strasse", "istanbul"]),
        ("東京都 ｶﾞｽ", ["東京", "京都", "都", "ガス", "ス"]),
        ("Ёлка Йод", ["елка", "иод"]),
        ("كِتَاب ٤٢", ["كتاب", "42"]),
        ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),
        ("ok👍🏽!", ["ok", "👍"]),
    ],
)
def test_words_of_a_text(text, expected):
    assert words.words(text) == expected


@given(TEXTS)
def test_places_are_those_of_the_same_words(text):
    assert words.placed(text).words == words.words(text)


@example("0\u20290")
@given(TEXTS)
def test_a_text_is_found_by_itself(text):
    asked, is_start = words.asked(text)
    there = words.words(words.one_text(text))[: len(asked)]
    assert there[:-1] == asked[:-1]
    assert not asked or there[-1] == asked[-1] or (is_start and there[-1].startswith(asked[-1]))


@given(TEXTS, TEXTS)
def test_what_stands_on_two_sides_of_a_break_is_in_no_row(before, after):
    both = words.words(before + words.BETWEEN + after)
    apart = [words.words(before), words.words(after)]
    assert both == [*apart[0], *([words.BREAK] if all(apart) else []), *apart[1]] or not all(apart)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('"damaged', "quotation mark is not closed"),
        ("--- ***", "no letter, digit or emoji"),
        ("", "no letter, digit or emoji"),
        ("\x00", "holds NUL"),
        ("x" * (MAX_LENGTH + 1), "at most 1,000 characters"),
        ("a*", "at least two letters"),
        (" ".join(map(str, range(17))), "at most 16 words"),
        (f'"{"a " * 65}"', "at most 64 words"),
    ],
)
def test_a_broken_query_says_what_is_wrong(text, message):
    with pytest.raises(QueryProblem, match=message):
        parse(text)


@given(st.text(max_size=200))
def test_any_query_is_understood_or_refused_by_name(text):
    try:
        assert parse(text).clauses
    except QueryProblem as problem:
        assert str(problem)


def test_a_long_text_is_cut_into_pieces_that_share_the_longest_phrase():
    text = " ".join(f"w{n}" for n in range(5000))
    *pieces, head = rows(text)
    assert [piece.part for piece in pieces] == [1, 2, 3]
    assert pieces[0].words[-63:] == pieces[1].words[:63]
    assert (head.part, head.is_long, len(head.words)) == (0, True, 5000)
    assert max(len(piece.words) for piece in pieces) == PIECE_WORDS


def test_a_word_that_comes_too_often_for_one_row_starts_another():
    assert all(row.words.count("la") <= 250 for row in rows("la " * 3000))
