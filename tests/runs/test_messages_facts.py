"""What a call was set to, cost and knew: read from the record, nothing guessed."""

import html
import json
import re

import pytest

from runs import ingest
from runs.messages import request_view
from runs.messages.knew import Hit, knew


@pytest.fixture
def page_of(member_client, project, shared):
    """page_of(log, seq, **beside) -> what a person reads on the page of a real log's effect."""

    def show(name: str, seq: int, **beside: object) -> str:
        log = json.loads((shared / "data" / "rig" / f"{name}.effects.json").read_bytes())
        ingest.accept_run(project, json.dumps({"run": {"id": "run"}, "log": log} | beside).encode())
        page = member_client.get(f"/p/acme/runs/run?at={seq}", headers={"HX-Request": "true"})
        return " ".join(html.unescape(re.sub("<[^>]*>", " ", page.text)).split())

    return show


def test_parameters_that_were_set_and_those_left_to_the_default(page_of) -> None:
    page = page_of("support-triage", 1)
    assert "Temperature 0.2" in page
    assert "Left to the default Model, Max tokens, Tool choice" in page


def test_hits_that_fed_a_call_are_linked_with_their_scores(page_of) -> None:
    page = page_of("kb-retrieval-strings", 2)
    assert "What the agent knew here #1 “My VPN token is expired" in page
    assert "2 documents, all in this request" in page
    assert "kb-4 0.6123724356957946 kb-1 0.5547001962252293" in page


def test_memory_that_fed_a_call_is_linked(page_of) -> None:
    page = page_of("refund-memory", 8)
    assert "#7 memory of cust-5521 4 messages, all in this request" in page
    assert "What the agent knew here" not in page_of("refund-memory", 5)


def test_cost_says_of_what_day_its_price_is(page_of) -> None:
    times = {"1": {"started_at": "2026-03-05T12:00:00Z", "duration_ms": 900}}
    page = page_of("reviewer-anthropic", 1, times=times)
    assert "at prices of 5 Mar 2026" in page


def test_cost_without_a_time_is_at_the_prices_of_the_day_it_came(page_of) -> None:
    page = page_of("reviewer-anthropic", 1)
    assert "the day it came in" in page
    assert "as the log says" not in page


def search(*hits: list) -> dict:
    query = {"query": "top_n", "req": {"query": "q", "samples": 9}}
    ok = {"outcome": "documents", "retrieved": "scored", "results": list(hits)}
    return {"kind": {"effect": "retrieve", "query": query}, "outcome": {"Ok": ok}}


def asked(text: str) -> dict:
    request = {"chat_history": [{"role": "user", "content": text}]}
    return {"kind": {"effect": "completion", "request": request}, "outcome": None}


def test_a_hit_the_request_does_not_hold_is_said_not_to_be_there() -> None:
    request = request_view(asked("Context: refunds take five days. Well?"))
    hits = ([0.9, "a", "refunds take five days"], [0.5, "b", "shoes are red"], [0.1, "c", "R"])
    (source,) = knew(request, [(3, search(*hits), True)])
    assert source.hits == (Hit("a", "0.9", True), Hit("b", "0.5", False), Hit("c", "0.1", False))
    assert source.said == "3 documents, 1 in this request"


def test_an_older_search_counts_only_where_the_request_holds_it() -> None:
    request = request_view(asked("Well?"))
    old = (1, search([0.5, "b", "shoes are red, mostly"]), False)
    assert knew(request, [old]) == []
    assert [source.said for source in knew(request, [(2, search(), True)])] == ["no documents"]


def test_a_call_that_asks_the_failed_one_again_is_its_retry(page_of) -> None:
    assert "Retry of #2, which failed" in page_of("dunning-provider-errors", 3)
