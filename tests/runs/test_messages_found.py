"""What a search led to is on the page, marked, however much of the text the page leaves out."""

import html
import json
import re

import pytest
from factories import completion, log, tool, user

from runs import ingest
from runs.search.places import LookedFor, Window, cut, looked_for

FILLER = "lorem ipsum "


@pytest.fixture
def page(member_client, project):
    """page(query, record, …) -> the pane of effect `at` of a run of these records."""

    def show(query: str, *records: dict, at: int = 1) -> str:
        ingest.accept_log(project, json.dumps(log(*records)).encode(), run_id="run")
        answer = member_client.get(
            f"/p/acme/runs/run?at={at}{query}", headers={"HX-Request": "true"}
        )
        assert answer.status_code == 200
        return answer.text

    return show


def read(page: str) -> str:
    return html.unescape(re.sub(r"<[^>]*>", "", page))


def folded(page: str) -> list[str]:
    """The texts that are in a closed fold."""
    return re.findall(r'<details class="more">.*?</details>', page, re.DOTALL)


def test_a_hit_in_the_last_characters_of_a_long_text_is_shown_marked(page) -> None:
    said = (FILLER * 20_000)[: 176_696 - 21] + "and then “Zanzibar” ."
    shown = page("&q=zanzibar", tool(1, result=said))
    assert "<mark>Zanzibar</mark>" in shown
    assert re.search(r"characters 176,\d{3} to 176,696 of 176,696, where “zanzibar”", read(shown))
    assert "only the start of 176,696 characters, up to 16,000" in read(shown)


def test_the_words_at_a_fold_do_not_contradict_those_behind_it(page) -> None:
    shown = read(page("", tool(1, result="line of text\n" * 14_000)))
    more, end = re.search(r"([\d,]+) more characters, up to character ([\d,]+)", shown).groups()
    head = shown.partition("RequestArguments")[2] or shown
    assert end == "16,000" and int(more.replace(",", "")) < 16_000
    assert "only the start of 182,000 characters, up to 16,000" in head


def test_a_fold_with_the_hit_comes_open_and_others_stay_closed(page) -> None:
    said = FILLER * 700
    shown = page("&q=zanzibar", tool(1, result=said + "Zanzibar"), tool(2, result=said))
    assert '<details class="more" open>' in shown
    assert folded(page("&q=zanzibar", tool(3, result=said), at=1)) == []


def test_a_hit_behind_the_end_of_shown_json_is_marked(page) -> None:
    value = {"rows": [{"n": n} for n in range(9000)], "last": "one\nZanzibar"}
    shown = page("&q=zanzibar", tool(1, args=json.dumps(value)))
    assert "<mark>Zanzibar</mark>" in shown
    size = len(json.dumps(value, indent=2))
    assert re.search(rf"characters [\d,]+ to {size:,} of {size:,}", read(shown))


def test_a_hit_in_a_row_that_a_table_leaves_out_opens_its_json(page) -> None:
    rows = [{"n": n, "name": f"row {n}"} for n in range(300)]
    rows[250]["name"] = "Zanzibar"
    shown = page("&q=zanzibar", tool(1, result=json.dumps(rows)))
    assert '<details class="more" open><summary>JSON' in shown
    assert "<mark>Zanzibar</mark>" in shown or "Zanzibar" in read(shown)


def asked_again(*texts: str) -> dict:
    record = completion(2, said="Fine")
    record["kind"]["request"]["chat_history"] = [user(text) for text in texts]
    return record


def test_a_hit_in_a_message_seen_before_opens_the_fold(page) -> None:
    first = completion(1, asked="Zanzibar please")
    shown = page("&q=zanzibar", first, asked_again("Zanzibar please", "more"), at=2)
    assert '<details class="fold" open>' in shown
    assert "“zanzibar” stands in 1 of them" in read(shown)


def test_a_hit_among_very_many_messages_seen_before_is_on_the_page(page) -> None:
    many = [f"turn {n}" for n in range(500)]
    many[450] = "Zanzibar"
    first = asked_again(*many) | {"id": 1}
    shown = page("&q=zanzibar", first, asked_again(*many, "one more"), at=2)
    assert "messages 401 to 500 of 500" in read(shown)
    assert ">Zanzibar<" in shown


def test_the_fold_stays_closed_where_the_hit_is_new_as_well(page) -> None:
    first = completion(1, asked="Zanzibar please")
    shown = page("&q=zanzibar", first, asked_again("Zanzibar please", "Zanzibar!"), at=2)
    assert '<details class="fold"><summary>1 earlier message' in shown


def test_a_hit_in_the_description_of_a_tool_opens_that_tab(page) -> None:
    record = completion(1)
    offered = {"name": "t", "description": "flies to Zanzibar", "parameters": {}}
    record["kind"]["request"]["tools"] = [offered]
    assert "flies to Zanzibar" in page("&q=zanzibar", record)


def test_a_hit_behind_the_json_of_the_tab_is_marked(page) -> None:
    record = tool(1, result=FILLER * 80_000 + "Zanzibar")
    shown = page("&q=zanzibar&tab=json", record)
    assert "<mark>Zanzibar</mark>" in shown
    assert "only the first 800,000 characters of" in read(shown)


def test_the_end_of_a_long_error_is_found(page) -> None:
    record = completion(1, error=FILLER * 10_000 + "Zanzibar")
    shown = page("&q=zanzibar", record)
    assert "<mark>Zanzibar</mark>" in shown
    assert "only the start of 120,008 characters" in read(shown)


# --- Places, whatever the text ------------------------------------------------------------------


@pytest.mark.parametrize("at", [0, 30_000, 32_760, 34_810, 34_816, 200_000])
@pytest.mark.parametrize("word", ["Zanzibar", "ZÁNZIBAR", "東京都"])
def test_a_word_is_found_wherever_chunks_end(at: int, word: str) -> None:
    text = "x " * (at // 2) + word + " y" * 40_000
    [[(start, end)]] = looked_for(word).places([text])
    assert (start, text[start:end]) == (at, word)


@pytest.mark.parametrize("size", [1, 7, 5000, 40_000])
def test_pieces_of_a_text_are_read_as_the_text(size: int) -> None:
    text = FILLER * 9000 + "a damaged parcel " + FILLER * 500
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    found = looked_for('"damaged parcel"')
    [window] = found.windows(pieces, 16_000, len(text))
    assert cut(pieces, [window]) == [text[window.start : window.end]]
    assert "a damaged parcel" in cut(pieces, [window])[0]


def test_places_that_lie_together_are_one_window() -> None:
    text = FILLER * 3000 + "refund " + "was " + "damaged" + " z" * 2000
    [window] = looked_for("refund damaged").windows([text], 1000, len(text))
    assert window.end - window.start < 700


def test_what_cannot_be_looked_for_marks_nothing() -> None:
    for asked in ("", "  ", '"unclosed', "!!!", "x" * 1001):
        assert not looked_for(asked)
    assert LookedFor().windows(["text"], 0, 4) == []
    assert cut(["text"], [Window(1, 3)]) == ["ex"]
