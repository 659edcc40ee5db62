"""A page of a run that is going on is told what is new, and only that."""

import re

import pytest
from factories import batch, body, completion, tool

from runs import ingest

PAGE = "/p/acme/runs/run"
HTMX = {"HX-Request": "true", "HX-Target": "grow"}


@pytest.fixture
def send(project):
    """send(first, …) -> the run goes on with these effects from that position."""
    ingest.accept_run(project, body({"run": {"id": "run", "status": "running"}}))

    def append(first: int, *records: dict) -> None:
        places = list(range(first, first + len(records)))
        ingest.append_effects(project, "run", batch(*records, positions=places))

    append(1, completion(1, "First?", "One."), tool(2))
    return append


def question(client, query: str = "") -> str:
    page = client.get(f"{PAGE}?at=1{query}").text
    return re.search(r'hx-get="([^"]*/steps/new[^"]*)"', page)[1].replace("&amp;", "&")


def rows(text: str) -> list[str]:
    return re.findall(r'class="step [^>]*id="s(\d+)"', text)


def test_nothing_new_is_no_content(member_client, send) -> None:
    assert member_client.get(question(member_client), headers=HTMX).status_code == 204


def test_new_effects_come_alone_with_the_figures(member_client, send) -> None:
    asked = question(member_client)
    send(3, tool(3), completion(4, "Next?", "Two."))
    news = member_client.get(f"{asked}&at=1", headers=HTMX).text
    assert rows(news) == ["3", "4"]
    assert 'hx-swap-oob="beforeend:#steps"' in news
    assert "/ 4</form>" in news
    assert "after=4&amp;count=4" in news
    assert 'id="way-last" href="?at=4"' in news


def test_new_effects_keep_to_what_the_list_is_narrowed_to(member_client, send) -> None:
    asked = question(member_client)
    send(3, tool(3), completion(4))
    assert rows(member_client.get(f"{asked}&at=1&family=model", headers=HTMX).text) == ["4"]


def test_an_effect_that_comes_late_brings_the_list_anew(member_client, send) -> None:
    send(4, completion(4))
    asked = question(member_client)
    send(3, tool(3))
    news = member_client.get(f"{asked}&at=1", headers=HTMX).text
    assert rows(news) == ["1", "2", "3", "4"]
    assert '<div id="list" class="list" hx-swap-oob="true">' in news


def test_the_effect_a_page_waits_for_comes_with_its_pane(member_client, send) -> None:
    asked = question(member_client)
    send(3, completion(3, "Next?", "Two."))
    at_it = member_client.get(f"{asked}&at=3&missing=on", headers=HTMX).text
    assert '<div id="effect" class="panes" data-at="3" hx-swap-oob="true"' in at_it
    assert "Two." in at_it
    assert '<div id="effect"' not in member_client.get(f"{asked}&at=3", headers=HTMX).text
    still = member_client.get(f"{asked}&at=9&missing=on", headers=HTMX).text
    assert 'data-at="9" data-missing' in still


def test_the_heading_follows_what_the_run_was_asked(member_client, project) -> None:
    ingest.accept_run(project, body({"run": {"id": "run", "status": "running"}}))
    asked = question(member_client)
    ingest.append_effects(project, "run", batch(completion(1, "First?", "One.")))
    news = member_client.get(f"{asked}&at=1", headers=HTMX).text
    assert re.search(r'<h1 id="run-heading"[^>]*hx-swap-oob="true">First\?</h1>', news)


def test_a_run_that_is_over_is_asked_no_more(member_client, send, project) -> None:
    asked = question(member_client)
    ingest.finish_run(project, "run", body({"status": "failed"}))
    news = member_client.get(asked, headers=HTMX).text
    assert "steps/new" not in news
    assert ">failed<" in news
    assert "steps/new" not in member_client.get(PAGE).text


def test_many_new_effects_come_as_parts_to_be_fetched(member_client, send) -> None:
    asked = question(member_client)
    send(3, *[tool(n) for n in range(3, 603)])
    news = member_client.get(asked, headers=HTMX).text
    assert len(rows(news)) == 125
    parts = [("128", "252"), ("253", "377"), ("378", "502"), ("503", "602")]
    assert re.findall(r'at=(\d+)&amp;until=(\d+)"', news) == parts


def test_asking_costs_little_while_nothing_is_new(
    member_client, send, django_assert_max_num_queries
) -> None:
    asked = question(member_client)
    with django_assert_max_num_queries(6):
        member_client.get(asked, headers=HTMX)


@pytest.mark.parametrize("query", ["", "?after=x", "?after=1&count=-1&seen=x", "?seen=%00"])
def test_a_question_nobody_asked_is_answered_with_all(member_client, send, query) -> None:
    answer = member_client.get(f"{PAGE}/steps/new{query}", headers=HTMX)
    assert rows(answer.text) == ["1", "2"]
