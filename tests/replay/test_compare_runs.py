"""Two runs beside each other: the page, its address, and what is compared."""

from __future__ import annotations

import copy
import json

import pytest

from replay.models import RunComparison
from replay.two_runs.kept import compared

COMPARE = "/p/acme/compare?a=one&b=two"


@pytest.fixture
def both(read_log, store):
    """both(change) -> the runs `one` and `two`, the second with its log changed."""

    def make(change=lambda log: None, name: str = "refund-memory"):
        log = read_log(name)
        other = copy.deepcopy(log)
        change(other)
        return store(log, "one"), store(other, "two")

    return make


def classes(a, b) -> dict[str, int]:
    return compared(a, b).counts


def test_a_run_beside_the_same_log_is_the_same_all_along(both) -> None:
    assert classes(*both()) == {"same": 9}


def test_ids_that_differ_from_run_to_run_are_no_difference(both) -> None:
    def other_ids(log) -> None:
        for record in log["records"]:
            record["id"] += 700
        text = json.dumps(log["records"]).replace('"call_1"', '"call_77"')
        log["records"] = json.loads(text)

    result = compared(*both(other_ids))
    assert result.counts == {"same": 9}
    assert result.asked_otherwise == []


def test_a_tool_with_other_arguments_and_another_answer(both) -> None:
    def dearer(log) -> None:
        record = log["records"][3]
        record["kind"]["args"] = record["kind"]["args"].replace("12900", "12000")
        record["outcome"]["Ok"]["result"]["value"][0]["text"] = "refund RF-1 booked"

    row = compared(*both(dearer)).rows[3]
    assert (row.a, row.b, row.difference, row.summary) == (4, 4, "arguments", "other args/cents")


def test_a_tool_that_answers_otherwise_is_classed_by_what_it_said(both) -> None:
    def other_number(log) -> None:
        log["records"][3]["outcome"]["Ok"]["result"]["value"][0]["text"] = "refund RF-1 booked"

    assert compared(*both(other_number)).rows[3].difference == "facts"


def test_a_model_call_is_classed_by_its_answer_and_says_what_was_asked_otherwise(both) -> None:
    def other_prompt(log) -> None:
        for record in log["records"]:
            if record["kind"]["effect"] == "completion":
                record["kind"]["request"]["chat_history"][0]["content"] = "Be brief."
                record["kind"]["request"]["temperature"] = 0.25

    result = compared(*both(other_prompt))
    assert result.counts == {"same": 9}
    assert [row.a for row in result.asked_otherwise] == [2, 5, 8]
    assert result.asked_otherwise[0].asked == "message 1, temperature"


def test_an_effect_that_is_missing_shifts_nothing(both) -> None:
    result = compared(*both(lambda log: log["records"].pop(3)))
    assert result.counts == {"same": 8, "not_asked": 1}
    assert [(r.a, r.b) for r in result.rows][3:5] == [(4, None), (5, 4)]


def test_a_tool_that_answers_in_json_says_which_member_differs(both) -> None:
    def paid_less(log) -> None:
        log["records"][2]["outcome"]["Ok"]["result"]["value"][0]["value"]["paid_cents"] = 100

    row = compared(*both(paid_less)).rows[2]
    assert (row.difference, row.summary) == ("facts", "other paid_cents")


def test_a_search_that_found_something_else(both) -> None:
    def other_score(log) -> None:
        log["records"][0]["outcome"]["Ok"]["results"][0][0] = 0.7

    row = compared(*both(other_score, "kb-retrieval-strings")).rows[0]
    assert (row.difference, row.summary) == ("facts", "other results/0/0")


def test_one_that_failed_where_the_other_answered(both) -> None:
    def fails(log) -> None:
        log["records"][2]["outcome"] = {"Err": {"kind": "timeout", "message": "30 s"}}

    row = compared(*both(fails)).rows[2]
    assert (row.difference, row.summary) == ("error", "timeout: 30 s")


def test_the_page_shows_verdict_rows_and_both_sides(both, member_client) -> None:
    both(lambda log: log["records"].pop(3))
    page = member_client.get(COMPARE).content.decode()
    assert "1 of 9" in page
    assert page.count("data-row ") + page.count("data-row>") == 9
    assert 'href="?a=one&amp;b=two&amp;at=a5"' in page
    assert "#4 | —" in page
    assert "/p/acme/runs/one?at=4" in page


def test_any_row_is_an_address_and_a_fragment(both, member_client) -> None:
    both(lambda log: log["records"].pop(3))
    part = member_client.get(
        f"{COMPARE}&at=a5&show=json", headers={"HX-Request": "true", "HX-Target": "pair"}
    )
    text = part.content.decode()
    assert "<html" not in text and "#5 | #4" in text
    assert "/p/acme/runs/two?at=4" in text and 'data-key="p"' in text


def test_changed_only_one_class_and_the_other_way_round(both, member_client) -> None:
    both(lambda log: log["records"].pop(3))
    for narrowed in ("&changed=on", "&of=not_asked"):
        rows = member_client.get(COMPARE + narrowed).content.decode()
        assert rows.count('class="row-div two"') == 1
    swapped = member_client.get("/p/acme/compare?a=two&b=one").content.decode()
    assert "only in B" in swapped and "only in A" not in swapped


def test_two_selected_in_the_list_are_a_and_b(both, member_client) -> None:
    both()
    answer = member_client.get("/p/acme/compare?run=one&run=two&back=sort%3Dcost")
    assert answer["Location"] == COMPARE


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("", 200),
        ("a=one", 200),
        ("run=one", 302),
        ("a=one&b=none", 404),
        ("a=one&b=two&at=zz&after=x&show=y&of=z", 200),
        ("a=one&b=two&at=a999999999", 200),
        ("a=one&b=%00", 200),
    ],
)
def test_what_cannot_be_is_left_out_or_not_there(both, member_client, query, status) -> None:
    both()
    assert member_client.get(f"/p/acme/compare?{query}").status_code == status


def test_it_is_made_once_until_a_run_changes_and_goes_with_it(both, read_log, project) -> None:
    from runs import curate, ingest

    a, b = both()
    assert compared(a, b).rows == compared(a, b).rows
    made = RunComparison.objects.get()
    extra = {**read_log("refund-memory")["records"][0], "id": 900}
    ingest.append_effects(project, "two", json.dumps({"records": [extra]}).encode())
    b.refresh_from_db()
    assert classes(a, b) == {"same": 9, "not_recorded": 1}
    assert RunComparison.objects.get().state != made.state
    curate.delete_run(a)
    assert not RunComparison.objects.exists()


def test_pages_ask_few_questions_of_the_database(
    both, member_client, django_assert_max_num_queries
) -> None:
    both(lambda log: log["records"].pop(3))
    member_client.get(COMPARE)
    with django_assert_max_num_queries(16):
        member_client.get(COMPARE)


def test_what_is_too_large_to_be_classed_says_so(both, member_client) -> None:
    def longer(log) -> None:
        log["records"][3]["outcome"]["Ok"]["result"]["value"][0]["text"] = "x" * 600_000

    a, b = both(longer)
    row = compared(a, b).rows[3]
    assert row.difference == "" and "too large to be classed" in row.summary
    assert "not classed" in member_client.get(COMPARE).content.decode()


def test_the_api_tells_the_same(both, api) -> None:
    both(lambda log: log["records"].pop(3))
    found = api("GET", "/api/v1/compare?a=one&b=two&changed=true").json()
    assert (found["rows"], found["changed"], found["complete"]) == (9, 1, True)
    assert found["classes"] == {"same": 8, "not_asked": 1}
    (row,) = found["results"]
    assert (row["row"], row["class"], row["a"]["seq"], row["b"]) == (4, "not_asked", 4, None)


def test_the_api_gives_rows_a_page_at_a_time(both, api) -> None:
    both()
    first = api("GET", "/api/v1/compare?a=one&b=two&limit=5").json()
    rest = api("GET", f"/api/v1/compare?a=one&b=two&after={first['next']}").json()
    rows = [row["row"] for row in first["results"] + rest["results"]]
    assert (rows, rest["next"]) == ([1, 2, 3, 4, 5, 6, 7, 8, 9], None)


@pytest.mark.parametrize(
    ("query", "status"),
    [("a=one", 422), ("a=one&b=x", 404), ("a=one&b=two&class=z", 422), ("a=one&b=%00", 422)],
)
def test_the_api_names_what_it_cannot_compare(both, api, query, status) -> None:
    both()
    answer = api("GET", f"/api/v1/compare?{query}")
    assert (answer.status_code, set(answer.json())) == (status, {"error"})
