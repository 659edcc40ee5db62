"""Ways to one effect that has to be looked for: the costliest of many calls, a changed prompt."""

import pytest
from factories import body, completion, log, tool, user

from runs import ingest
from runs.views import leaps

RUN = "/p/acme/runs/run"
# gpt-4o: 2.50 USD a million tokens in; a call of 1,000 costs $0.0025


@pytest.fixture
def keep(project):
    """keep(run id, record, …) -> stores a run of these records."""

    def store(run_id: str, *records: dict, **names: str) -> None:
        ingest.accept_log(project, body(log(*records)), run_id=run_id, **names)

    return store


def call(number: int, tokens: int) -> dict:
    return completion(number, usage={"input_tokens": tokens, "output_tokens": 0})


# --- The costliest call ---------------------------------------------------------------------------


@pytest.fixture
def three_runs(keep) -> None:
    """The run that cost most has not the call that did."""
    keep("many", *(call(n, 1_000) for n in range(1, 10)), agent="a")
    keep("one", call(1, 100), call(2, 5_000), agent="a")
    keep("cheap", call(1, 200), tool(2), agent="b")


@pytest.mark.parametrize(
    ("filters", "leads_to"),
    [("", "one?at=2"), ("agent=a", "one?at=2"), ("agent=b", "cheap?at=1"),
     ("last=24h", "one?at=2"), ("sort=started&cost_max=0.02", "one?at=2"),
     ("duration_min=x", "one?at=2")],
)  # fmt: skip
def test_the_costliest_call_of_what_is_filtered(member_client, three_runs, filters, leads_to):
    answer = member_client.get(f"/p/acme/costliest?{filters}")
    assert answer["Location"] == f"/p/acme/runs/{leads_to}"


def test_the_list_leads_there_with_its_filters(member_client, three_runs) -> None:
    page = member_client.get("/p/acme/runs?agent=b&sort=-cost").text
    assert 'href="/p/acme/costliest?agent=b&amp;sort=-cost"' in page


def test_runs_of_unknown_cost_lead_back_and_say_so(member_client, keep) -> None:
    keep("run", tool(1))
    answer = member_client.get("/p/acme/costliest?agent=none", follow=True)
    assert answer.redirect_chain[0][0] == "/p/acme/runs?agent=none"
    assert "No run here has a call of known cost." in answer.text


def test_where_not_all_was_looked_at_it_says_among_what(
    member_client, three_runs, monkeypatch
) -> None:
    monkeypatch.setattr(leaps, "EFFECTS", 9)
    answer = member_client.get("/p/acme/costliest", follow=True)
    assert answer.redirect_chain[0][0] == "/p/acme/runs/many?at=1"
    assert "The costliest call of 1 run looked at, what cost most first." in answer.text


def test_runs_that_cost_less_than_the_call_are_not_read(
    member_client, keep, django_assert_max_num_queries
) -> None:
    keep("dear", call(1, 90_000))
    for number in range(12):
        keep(f"run-{number}", call(1, 1_000 + number))
    with django_assert_max_num_queries(11):
        assert member_client.get("/p/acme/costliest")["Location"].endswith("dear?at=1")


# --- A changed prompt -----------------------------------------------------------------------------


def asks(number: int, *texts: str, system: str = "", **request) -> dict:
    """A model call; its answer is `Hello`, as factories have it."""
    record = completion(number)
    turns = [{"role": "system", "content": system}] if system else []
    record["kind"]["request"]["chat_history"] = [*turns, *map(user, texts)]
    record["kind"]["request"] |= request
    return record


CHANGING = [
    asks(1, "a", system="Be kind."),
    tool(2),
    asks(3, "a", "b", system="Be kind."),
    asks(4, "a", "b", "c", system="Be brief."),
    asks(5, "a", "b", "c", "d", system="Be brief."),
    asks(6, "a", "b", "c", "d", system="Be brief.", temperature=0.5),
]


@pytest.mark.parametrize(("at", "leads_to"), [(1, 4), (3, 4), (4, 6), (5, 6), (6, 4)])
def test_the_next_changed_prompt_is_one_step_away(member_client, keep, at, leads_to) -> None:
    keep("run", *CHANGING)
    answer = member_client.get(f"{RUN}/changed?at={at}&family=model&req=json")
    assert answer["Location"] == f"{RUN}?at={leads_to}&family=model&req=changes"


def test_a_run_whose_prompts_only_grow_says_so(member_client, keep) -> None:
    keep("run", *CHANGING[:3])
    answer = member_client.get(f"{RUN}/changed?at=2", follow=True)
    assert answer.redirect_chain[0][0] == f"{RUN}?at=2"
    assert "No model call here asks otherwise than the one before it" in answer.text


def test_calls_of_another_conversation_are_not_held_against_each_other(member_client, keep) -> None:
    other = asks(2, "x", system="Something else.") | {"key": "other/model:default"}
    keep("run", CHANGING[0], other, CHANGING[2] | {"id": 3})
    assert member_client.get(f"{RUN}/changed")["Location"] == f"{RUN}?at=1"


def test_a_long_run_is_looked_through_a_stretch_at_a_time(member_client, keep, monkeypatch) -> None:
    monkeypatch.setattr(leaps, "CALLS", 2)
    keep("run", *(asks(n, *"abcdefgh"[:n]) for n in range(1, 7)), asks(7, "other"))
    answer = member_client.get(f"{RUN}/changed", follow=True)
    assert answer.redirect_chain[0][0] == f"{RUN}?at=3"
    assert "None up to #3. Ask again to look further." in answer.text
    assert member_client.get(f"{RUN}/changed?at=5")["Location"] == f"{RUN}?at=7&req=changes"


def test_the_way_is_offered_where_there_are_several_model_calls(member_client, keep) -> None:
    keep("run", *CHANGING)
    assert "/changed?at=1" in member_client.get(RUN).text
    keep("short", tool(1), completion(2))
    assert "/changed" not in member_client.get("/p/acme/runs/short").text


@pytest.mark.parametrize(("at", "is_offered"), [(1, False), (2, False), (3, True), (4, True)])
def test_changes_are_offered_where_a_model_call_came_before(
    member_client, keep, at: int, is_offered: bool
) -> None:
    keep("run", *CHANGING)
    for tab in ("", "&req=changes"):
        page = member_client.get(f"{RUN}?at={at}{tab}").text
        assert ("hanges since #" in page) == is_offered
