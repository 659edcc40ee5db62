"""What an experiment is held to where parts are unknown, free, failed or stopped, and its order."""

from __future__ import annotations

import csv
import io

import factories
import pytest

from replay import jobs
from replay.models import Cell, Replay
from runs import curate
from runs.models import Run

A, B = "openai:gpt-4o", "openai:gpt-4o-mini"
USED = {"input_tokens": 1000, "output_tokens": 100, "total_tokens": 1100}

pytestmark = pytest.mark.usefixtures("rung")


def work() -> None:
    while (queued := Replay.objects.filter(status="queued").order_by("pk").first()) is not None:
        jobs.run_job(queued.public_id)


@pytest.fixture
def ended(store, provider, call):
    """ended(rules, runs, …) -> the experiment of runs of two priced calls, when it is over."""

    def do(*rules, names=("r1",), asked=None, gate=None):
        for name in names:
            said = [factories.completion(n, f"{name} {n}", usage=USED) for n in (1, 2)]
            store(factories.log(*said), name)
        provider(*rules)
        body = asked or {"models": [A]}
        _, made = call("POST", "experiments", runs=[*names], gate=gate or {}, **body)
        work()
        return call("GET", f"experiments/{made['id']}")[1]

    return do


def passed(experiment) -> dict[str, bool]:
    return {one["check"]: one["passed"] for one in experiment["gate"]["checks"]}


# --- The gate -------------------------------------------------------------------------------------

SAME = {"answer": {"text": "Hello", "usage": {"input": 500, "output": 50}}}
BREAKS = {"answer": {"error": {"status": 400, "message": "no"}}}
SECOND_BREAKS = {"when": {"contains": " 2"}, **BREAKS}


def test_a_gate_does_not_pass_on_part_of_the_runs(ended, call, admin):
    told = ended(SAME, names=("r1", "r2", "r3"), gate={"no_errors": True})
    assert told["gate"]["passed"] and told["deleted_runs"] == 0
    run = Run.objects.get(external_id="r3")  # the last: no place is empty before another
    for take_away in (curate.mark_deleted, lambda _: curate.delete_run(run)):
        take_away(Run.objects.filter(pk=run.pk))
        _, left = call("GET", f"experiments/{told['id']}")
        assert (left["gate"]["passed"], left["deleted_runs"]) == (False, 1)
        [failed] = [one for one in left["gate"]["checks"] if not one["passed"]]
        assert (failed["check"], failed["value"], failed["limit"]) == ("runs", 2, 3)
        page = admin.get(told["url"]).content.decode()
        assert "1 of its 3 runs was deleted since." in page and ">2 of 3 runs<" in page


@pytest.mark.parametrize(
    ("limit", "expected"), [(0.4, False), (0.6, True), (1, True)], ids=["under", "over", "all"]
)
def test_a_cost_is_held_against_the_recorded_one_of_the_same_calls(ended, limit, expected):
    """Half the tokens are half the cost, and of a call that failed neither side counts."""
    for rules in ((SAME,), (SECOND_BREAKS, SAME)):
        told = ended(*rules, gate={"max_cost_ratio": limit})
        [column] = told["candidates"]
        assert column["cost_ratio"] == pytest.approx(0.5)
        assert (told["gate"]["passed"], passed(told)["max_cost_ratio"]) == (expected, expected)


def test_a_call_that_failed_is_not_the_same_and_is_an_error(ended):
    told = ended(SECOND_BREAKS, SAME, gate={"min_same": 0.5, "no_errors": True})
    assert passed(told) == {"finished": True, "min_same": True, "no_errors": False}
    assert told["candidates"][0]["same_share"] == 0.5


def test_one_unknown_part_makes_the_ratio_unknown(store, provider, call):
    store(factories.log(factories.completion(1, usage=USED), factories.completion(2)), "partly")
    provider(SAME)
    gate = {"max_cost_ratio": 1000}
    _, made = call("POST", "experiments", runs=["partly"], models=[A], gate=gate)
    work()
    told = call("GET", f"experiments/{made['id']}")[1]
    [column] = told["candidates"]
    assert (column["original_cost"] > 0, column["original_cost_complete"]) == (True, False)
    assert (column["cost_ratio"], passed(told)["max_cost_ratio"]) == (None, False)


def test_free_beside_free_costs_no_more(ended, call):
    told = ended(SAME)
    Cell.objects.update(cost=0, original_cost=0)
    gate = call("GET", f"experiments/{told['id']}?max_cost_ratio=0")[1]["gate"]
    assert (gate["passed"], gate["checks"][1]["value"]) == (True, 0)
    Cell.objects.update(cost=1)
    gate = call("GET", f"experiments/{told['id']}?max_cost_ratio=5")[1]["gate"]
    assert (gate["passed"], gate["checks"][1]["value"]) == (False, None)


def test_where_nothing_was_answered_nothing_passes(ended):
    told = ended(BREAKS)
    assert (told["status"], told["gate"]["passed"]) == ("failed", False)
    assert passed(told) == {"finished": True, "answers": False}


def test_what_was_stopped_passes_nothing(ended, store, provider, call):
    for name in ("r1", "r2"):
        store(factories.log(factories.completion(1)), name)
    provider(SAME)
    _, made = call("POST", "experiments", runs=["r1", "r2"], models=[A])
    jobs.run_job(Replay.objects.order_by("pk").first().public_id)
    call("POST", f"experiments/{made['id']}/cancel")
    told = call("GET", f"experiments/{made['id']}?min_same=0")[1]
    assert (told["status"], told["finished"]) == ("cancelled", True)
    assert passed(told) == {"finished": False, "min_same": False}
    call("POST", f"experiments/{made['id']}/retry")
    work()
    assert call("GET", f"experiments/{made['id']}?min_same=0")[1]["gate"]["passed"] is True


TWO_TEXTS = {
    "candidates": [{"model": A, "system": "Be brief."}, {"model": A, "system": "Be kind."}]
}


def test_candidates_of_one_model_are_told_apart(ended, api, member_client):
    first = {"times": 2, "answer": {"text": "It costs $5."}}
    told = ended(first, SAME, asked=TWO_TEXTS, gate={"min_same": 1})
    checks = told["gate"]["checks"]
    assert [(one["place"], one["check"], one["passed"]) for one in checks] == [
        (1, "finished", True), (1, "min_same", False),
        (2, "finished", True), (2, "min_same", True),
    ]  # fmt: skip
    page = member_client.get(told["url"]).content.decode()
    columns = page.partition('class="candidates"')[2].partition("</table>")[0].split("<tr>")[2:]
    assert [column.count('">same ') for column in columns] == [1, 1]
    assert ["“Be brief.”" in columns[0], "“Be kind.”" in columns[1]] == [True, True]
    file = api("GET", f"/api/v1/experiments/{told['id']}/export?format=csv").getvalue().decode()
    labels = [row["label"] for row in csv.DictReader(io.StringIO(file))]
    assert labels == [f"{A} · system “Be brief.”", f"{A} · system “Be kind.”"]


# --- The matrix -----------------------------------------------------------------------------------


@pytest.fixture
def matrix(ended, call):
    """matrix(query) -> the ids of the runs in their order; three runs, two models."""
    rules = (
        {"when": {"model": "gpt-4o", "contains": "r2"}, "answer": {"text": "It costs $5."}},
        {"when": {"model": "gpt-4o-mini", "contains": "r3 1"}, "answer": {"text": "Hi there"}},
        SAME,
    )
    told = ended(*rules, names=("r1", "r2", "r3"), asked={"models": [A, B]})
    figures = {  # cost and latency before and after, by run and candidate
        ("r1", 1): (1, 2, 10, 50), ("r1", 2): (1, None, 10, 15),
        ("r2", 1): (1, 1, 10, 20), ("r2", 2): (1, 9, None, 90),
        ("r3", 1): (1, None, None, 9), ("r3", 2): (1, 4, 10, 10),
    }  # fmt: skip
    for (run, place), (before, after, then, now) in figures.items():
        Cell.objects.filter(row__run__external_id=run, candidate__place=place).update(
            original_cost=before, cost=after, cost_complete=after is not None,
            original_cost_complete=True, original_latency_ms=then, latency_ms=now,
        )  # fmt: skip

    def ask(query: str) -> list[str]:
        found, cursor = [], ""
        while cursor is not None:
            path = f"experiments/{told['id']}/matrix?{query}&limit=2"
            _, shown = call("GET", f"{path}&cursor={cursor}" if cursor else path)
            found += [line["run"] for line in shown["results"]]
            cursor = shown["next"]
        return found

    ask.url = told["url"]
    return ask


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("sort=place", ["r1", "r2", "r3"]),
        ("sort=worst", ["r2", "r3", "r1"]),
        ("sort=worst&candidate=2", ["r3", "r1", "r2"]),
        ("sort=changed", ["r2", "r3", "r1"]),
        ("sort=changed&candidate=2", ["r3", "r1", "r2"]),
        ("sort=cost", ["r2", "r3", "r1"]),
        ("sort=cost&candidate=1", ["r1", "r2", "r3"]),
        ("sort=latency", ["r1", "r2", "r3"]),
        ("sort=latency&candidate=2", ["r1", "r3", "r2"]),
        ("sort=cost&class=same", ["r2", "r3", "r1"]),
        ("sort=cost&class=same&candidate=1", ["r1", "r3"]),
    ],
)
def test_the_matrix_is_sorted_by_what_came_out(matrix, query, expected):
    assert matrix(query) == expected


def test_an_order_costs_two_queries_more(matrix, call, django_assert_max_num_queries):
    path = f"experiments/{matrix.url.rpartition('/')[2]}/matrix?sort=cost&candidate=1"
    with django_assert_max_num_queries(9):
        call("GET", path)


@pytest.mark.parametrize("query", ["sort=cost&cursor=9.2", "sort=worst&candidate=1&cursor=3.1"])
def test_a_place_of_another_order_is_refused(matrix, call, query):
    path = f"experiments/{matrix.url.rpartition('/')[2]}/matrix?{query}"
    assert call("GET", path)[0] == 422


def test_the_page_sorts_alike_and_its_address_says_how(matrix, member_client):
    def runs(query: str) -> list[str]:
        page = member_client.get(f"{matrix.url}?{query}").content.decode()
        return [name for name in page.split("/p/acme/runs/")[1:] for name in [name[:2]]]

    assert runs("sort=cost") == ["r2", "r3", "r1"]
    assert runs("sort=cost&candidate=1") == ["r1", "r2", "r3"]
    page = member_client.get(f"{matrix.url}?sort=cost").content.decode()
    assert '<option value="cost" selected>most added cost first</option>' in page
