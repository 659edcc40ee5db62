"""Lists of any length on a page: a portion of each, how many there are, and the way to the rest."""

import html
import json
import re

import pytest
from factories import completion, log, user

from runs import ingest
from runs.messages.knew import knew
from runs.messages.links import ToolEffect, answered_in
from runs.messages.parts import Call, Message, Request, Text
from runs.messages.portions import FEW, Room

MANY = 3_000


@pytest.fixture
def page(member_client, project):
    """page(query, record) -> the pane of the one effect of a run of this record."""

    def show(query: str, record: dict) -> str:
        ingest.accept_log(project, json.dumps(log(record)).encode(), run_id="run")
        answer = member_client.get(f"/p/acme/runs/run{query}", headers={"HX-Request": "true"})
        assert answer.status_code == 200
        assert len(answer.content) < 400_000
        return answer.text

    return show


def asked(**request) -> dict:
    record = completion(1)
    record["kind"]["request"] |= request
    return record


def parts(count: int) -> list[dict]:
    return [{"type": "text", "text": f"part {n}."} for n in range(1, count + 1)]


def way(page: str, word: str) -> str:
    """Where the link of that name leads."""
    found = re.search(rf'<a href="(\?[^"]*)">{re.escape(word)}</a>', page)
    return html.unescape(found[1]) if found else ""


MESSAGES = asked(chat_history=[user(f"part {n}.") for n in range(1, MANY + 1)])
PARTS = asked(chat_history=[{"role": "user", "content": parts(MANY)}])
ANSWER = completion(1)
ANSWER["outcome"]["Ok"]["choice"] = parts(MANY)
DOCUMENTS = asked(documents=[{"id": f"part {n}.", "text": "x"} for n in range(1, MANY + 1)])
TOOLS = asked(
    tools=[{"name": f"part {n}.", "description": "", "parameters": {}} for n in range(1, MANY + 1)]
)
LISTS = {
    "messages": (MESSAGES, ""),
    "parts": (PARTS, ""),
    "answer": (ANSWER, ""),
    "documents": (DOCUMENTS, ""),
    "tools": (TOOLS, "&req=tools"),
}


@pytest.mark.parametrize("name", LISTS)
def test_a_long_list_shows_a_portion_and_leads_on(page, member_client, name: str) -> None:
    record, tab = LISTS[name]
    first = page(f"?at=1{tab}", record)
    assert "1 to 200 of 3,000" in first
    assert "part 200." in first and "part 201." not in first
    second = member_client.get(f"/p/acme/runs/run{way(first, 'show more →')}").text
    assert "201 to 400 of 3,000" in second
    assert "part 201." in second and "part 400." in second
    back = member_client.get(f"/p/acme/runs/run{way(second, '← before')}").text
    assert "1 to 200 of 3,000" in back


def test_the_last_portion_leads_nowhere_further(page) -> None:
    last = page("?at=1&more=2900.messages", MESSAGES)
    assert "messages 2,901 to 3,000 of 3,000" in last
    assert "part 3000." in last and way(last, "show more →") == ""


def test_many_long_lists_have_one_page_between_them(page) -> None:
    turns = [{"role": "user", "content": parts(100)} for _ in range(100)]
    shown = page("?at=1", asked(chat_history=turns))
    assert shown.count(">part 1.<") == 100
    assert shown.count("parts 1 to 3 of 100") > 80


@pytest.mark.parametrize(
    "more", ["x", "-1.messages", "99999999999.messages", "5000.messages", "1."]
)
def test_a_portion_that_is_not_there_is_the_first(page, more: str) -> None:
    assert "messages 1 to 200 of 3,000" in page(f"?at=1&more={more}", MESSAGES)


def test_texts_past_what_a_page_holds_are_heads_that_lead_to_the_whole(
    member_client, project
) -> None:
    record = asked(chat_history=[user(f"{n} {'lorem ipsum ' * 1300}") for n in range(1, 190)])
    ingest.accept_log(project, json.dumps(log(record)).encode(), run_id="run")
    page = member_client.get("/p/acme/runs/run").text
    assert page.count("characters, up to 2,400") > 80
    assert len(page) < 2_300_000


def test_a_room_always_shows_what_was_asked_for() -> None:
    room = Room({"far": 300}, items=0)
    assert len(room.take("near", range(500)).items) == FEW
    far = room.take("far", range(500))
    assert (far.first, far.end, far.previous, far.next) == (300, 500, 100, None)


def test_what_was_found_is_in_the_portion() -> None:
    found = Room().take("list", range(1000), lambda item: item == 777)
    assert (found.first, found.end) == (600, 800)


def test_calls_of_a_giant_answer_are_matched_without_looking_at_each_pair() -> None:
    calls = [Call(str(n), f"tool {n}", {"n": n}, "") for n in range(50_000)]
    effects = [ToolEffect(n, f"tool {n}", {"n": n}) for n in range(200)]
    assert answered_in(calls, effects) == {n: n for n in range(200)}


def test_a_memory_of_many_messages_is_told_apart_at_once() -> None:
    turns = [{"role": "user", "content": f"turn {n}"} for n in range(20_000)]
    request = Request(
        "completion",
        tuple(Message("user", (Text(turn["content"], ""),), "") for turn in turns[:-1]),
    )
    kind = {"effect": "memory", "op": {"op": "load", "conversation": "c"}}
    record = {"kind": kind, "outcome": {"Ok": {"outcome": "memory", "messages": turns}}}
    [source] = knew(request, [(1, record, True)])
    assert (source.count, source.held) == (20_000, 19_999)
