"""What the step list is narrowed to: families, errors, folds, and what was found in the run."""

import re

import pytest
from factories import body, completion, log, tool

from runs import ingest
from runs.search import indexing

PAGE = "/p/acme/runs/run"
LIST = {"HX-Request": "true", "HX-Target": "list"}


def rows(answer) -> list[int]:
    return [int(seq) for seq in re.findall(r'class="step [^>]*id="s(\d+)"', answer.text)]


def way(answer, name: str) -> str | None:
    found = re.search(rf'id="way-{name}" href="([^"]*)"', answer.text)
    return found and found[1].replace("&amp;", "&")


@pytest.fixture
def nested(project) -> None:
    """1 model, 2 tool ⊃ (3 model, 4 tool ⊃ 5 model), 6 tool that fails, 7 model."""
    records = [
        completion(1, "First?", "One."),
        tool(2, "delegate"),
        completion(3, "inner", "two", parent=2),
        tool(4, "search", parent=2),
        completion(5, "innermost", "a quokka in the zoo", parent=4),
        tool(6, "look_up", result="quokka"),
        completion(7, "Last?", "It is a quokka."),
    ]
    records[5]["outcome"]["Ok"]["result"]["status"] = "failed"
    ingest.accept_log(project, body(log(*records)), run_id="run")


def test_a_family_alone_is_listed_and_the_buttons_follow_it(member_client, nested) -> None:
    page = member_client.get(f"{PAGE}?at=3&family=model")
    assert rows(page) == [1, 3, 5, 7]
    ways = {name: way(page, name) for name in ("first", "back", "forward", "last", "model")}
    assert ways == {
        "first": "?at=1&family=model",
        "back": "?at=1&family=model",
        "forward": "?at=5&family=model",
        "last": "?at=7&family=model",
        "model": "?at=5&family=model",
    }


def test_families_add_up_and_nonsense_asks_nothing(member_client, nested) -> None:
    both = member_client.get(f"{PAGE}?family=model&family=tool")
    assert rows(both) == [1, 2, 3, 4, 5, 6, 7]
    assert rows(member_client.get(f"{PAGE}?family=nonsense&fold=x,,&after=-1")) == rows(both)


def test_what_an_effect_made_folds_and_says_how_much_that_is(member_client, nested) -> None:
    page = member_client.get(f"{PAGE}?at=2&fold=2")
    assert rows(page) == [1, 2, 6, 7]
    assert (way(page, "forward"), way(page, "model")) == ("?at=6&fold=2", "?at=7&fold=2")
    fold = re.search(
        r'<a class="fold-it" id="f2" href="([^"]*)" aria-expanded="false".*?>(.*?)<', page.text
    )
    assert fold and (fold[1], fold[2]) == ("?at=2", "▸ 3")


def test_an_inner_fold_leaves_the_rest(member_client, nested) -> None:
    assert rows(member_client.get(f"{PAGE}?fold=4")) == [1, 2, 3, 4, 6, 7]
    assert rows(member_client.get(f"{PAGE}?fold=4,2")) == [1, 2, 6, 7]
    assert rows(member_client.get(f"{PAGE}?fold=2&family=model")) == [1, 7]


def test_the_list_by_itself_comes_with_the_buttons(member_client, nested) -> None:
    part = member_client.get(f"{PAGE}?at=1&family=tool", headers=LIST)
    assert part.text.lstrip().startswith('<div id="list"')
    assert way(part, "forward") == "?at=2&family=tool"
    assert "<main" not in part.text


def test_only_errors_are_those_of_the_log(member_client, project, shared) -> None:
    sent = (shared / "data/rig/sql-tool-errors.effects.json").read_bytes()
    ingest.accept_log(project, sent, run_id="run")
    failed = member_client.get(f"{PAGE}?errors_only=on")
    assert rows(failed) == [2, 3, 4, 5, 6, 7]


def test_what_is_found_in_a_run_is_listed_with_its_place(member_client, nested) -> None:
    indexing.index_pending()
    page = member_client.get(f"{PAGE}?at=6&q=quokka&family=tool")
    assert re.findall(r'data-hit="(\d+)"', page.text) == ["5", "6", "7"]
    assert "a <mark>quokka</mark> in the zoo" in page.text
    on = re.search(r'data-hits="on"[^>]*href="([^"]*)"', page.text)
    assert on and on[1] == "?at=7&amp;family=tool&amp;q=quokka"


def test_what_cannot_be_looked_for_is_said(member_client, nested) -> None:
    assert "A quotation mark is not closed" in member_client.get(f'{PAGE}?q="open').text
    assert "Not found" in member_client.get(f"{PAGE}?q=unicorn").text


def test_a_list_with_nothing_in_it_says_so(member_client, nested) -> None:
    assert "No effect of this run is like that" in member_client.get(f"{PAGE}?family=memory").text


def test_a_part_of_a_narrowed_list_has_its_rows(member_client, project) -> None:
    many = [completion(n) if n % 2 else tool(n) for n in range(1, 2401)]
    ingest.accept_log(project, body(log(*many)), run_id="run")
    page = member_client.get(f"{PAGE}?at=1500&family=model")
    waiting = re.findall(r'data-first="(\d+)" data-last="(\d+)" hx-get="([^"]*)"', page.text)
    firsts = [1, 251, 501, 751, 1001, 1251, 1751, 2001, 2251]
    assert [int(first) for first, _, _ in waiting] == firsts
    part = member_client.get(waiting[-1][2].replace("&amp;", "&"))
    assert rows(part) == list(range(2251, 2401, 2))


def test_a_narrowed_list_costs_few_queries(
    member_client, nested, django_assert_max_num_queries
) -> None:
    member_client.get(f"{PAGE}?at=3&family=model&fold=2")
    with django_assert_max_num_queries(10):
        member_client.get(f"{PAGE}?at=3&family=model&fold=2")
