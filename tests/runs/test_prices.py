"""The one rule for cost. Expected prices are Rig's own, or published rates worked out by hand."""

import json
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from factories import batch, completion, run
from genai_prices import Usage as Tokens
from genai_prices import data_snapshot

from runs import curate, prices
from runs.accounts.models import Project
from runs.usage import Usage

NOW = datetime(2026, 11, 29, tzinfo=UTC)


def cost(usage: Usage, model: str = "gpt-4o", provider: str = "openai", **more) -> Decimal | None:
    more = {"family": "completion", "when": NOW, **more}
    return prices.cost_of(usage, models=(model,), provider=provider, **more)


def test_real_logs_cost_what_rig_says(api, shared):
    api_costs, rig_costs = [], []
    for name in ("reviewer-anthropic", "order-status-chat", "sql-analyst-responses"):
        sent = (shared / "data" / "rig" / f"{name}.effects.json").read_bytes()
        api("POST", f"/api/v1/effect-logs?run_id={name}", sent)
        effects = api("GET", f"/api/v1/runs/{name}/effects").json()["results"]
        api_costs += [e["cost"] for e in effects if e["cost"] is not None]
        oks = [r["outcome"]["Ok"] for r in json.loads(sent)["records"]]
        rig_costs += [ok["usage"]["cost"]["total"] for ok in oks if "cost" in ok.get("usage", {})]
    assert len(rig_costs) >= 6
    assert api_costs == pytest.approx(rig_costs)


def test_cached_tokens_are_priced_apart():
    # gpt-4o: $2.50 a million in, $1.25 cached, $10 out.
    assert cost(Usage(1_000_000, 0)) == Decimal("2.5")
    assert cost(Usage(1_000_000, 100_000, cache_read=400_000)) == Decimal("3.0")


@pytest.mark.parametrize(
    ("model", "provider"),
    [("mock-model", "mock"), ("no-such-model", "openai"), ("gpt-4o", "my-own-box"), ("", "")],
)
def test_a_model_the_table_does_not_know_costs_an_unknown_amount(model, provider):
    assert cost(Usage(10, 10), model, provider) is None


@pytest.mark.parametrize("usage", [Usage(), Usage(input=5), Usage(output=5), Usage(total=77)])
def test_unknown_tokens_cost_an_unknown_amount(usage):
    assert cost(usage) is None


def test_no_tokens_cost_nothing():
    assert cost(Usage(0, 0)) == 0


def test_the_answering_model_is_looked_up_before_the_asked_one():
    both = prices.cost_of(
        Usage(1_000_000, 0),
        family="completion",
        models=("gpt-4o-mini-2024-07-18", "gpt-4o"),
        provider="openai",
        when=NOW,
    )
    assert both == Decimal("0.15")


def test_what_the_log_says_is_used_only_where_the_table_does_not_know():
    said = Decimal("7.5")
    assert cost(Usage(10, 10, recorded_cost=said), "mock-model", "mock") == said
    assert cost(Usage(1_000_000, 0, recorded_cost=said)) == Decimal("2.5")


def test_an_embedding_has_no_output():
    model = "text-embedding-3-small"
    assert cost(Usage(input=1_000_000), model, family="embed") == Decimal("0.02")
    assert cost(Usage(total=1_000_000), model, family="embed") == Decimal("0.02")


def test_our_arithmetic_is_the_librarys_for_every_model_of_the_table():
    for provider in data_snapshot.get_snapshot().providers:
        for model in provider.models:
            price = model.get_prices(NOW)
            for tokens in ((2444, 133, 0, 1024), (300_000, 10, 1000, 0)):
                ours = prices._at_price(Usage(*tokens), price)
                names = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")
                theirs = price.calc_price(Tokens(**dict(zip(names, tokens, strict=True))))
                assert ours in (None, theirs["total_price"]), model.id


# --- A project's own prices ----------------------------------------------------------------------

OWN = {
    "gpt-4o*": {"input": 1, "output": 2, "cache_read": 0.5},
    "gpt-4o-mini": {"input": 10, "output": 20},
    "free:*": {"input": 0, "output": 0},
    "broken": {"input": "x"},
}


@pytest.mark.parametrize(
    ("model", "provider", "expected"),
    [
        ("gpt-4o", "openai", "1.5"),
        ("gpt-4o-mini", "openai", "20"),
        ("llama", "free", "0"),
        ("broken", "openai", None),
    ],
)
def test_the_longest_pattern_of_a_project_wins(model, provider, expected):
    usage = Usage(1_000_000, 500_000, cache_read=1_000_000)
    found = cost(usage, model, provider, overrides=OWN)
    assert found == (None if expected is None else Decimal(expected))


def test_a_free_model_costs_zero_not_unknown(api, project):
    Project.objects.update(price_overrides={"mock-*": {"input": 0, "output": 0}})
    sent = completion(1, model="mock-1", usage={"input_tokens": 5, "output_tokens": 5})
    api("POST", "/api/v1/runs", run("r1", sent))
    kept = api("GET", "/api/v1/runs/r1").json()
    assert (kept["cost"], kept["cost_complete"]) == (0, True)


def test_repricing_follows_a_projects_new_price(api, project):
    sent = completion(1, usage={"input_tokens": 1_000_000, "output_tokens": 0})
    api("POST", "/api/v1/runs", run("r1", sent, completion(2)))
    project.price_overrides = {"gpt-4o": {"input": 4, "output": 1}}
    assert curate.reprice(project) == 1
    kept = api("GET", "/api/v1/runs/r1").json()
    assert (kept["cost"], kept["cost_complete"]) == (4, False)


def test_a_sum_with_an_unknown_part_is_at_least(api):
    known = completion(1, usage={"input_tokens": 1_000_000, "output_tokens": 0})
    api("POST", "/api/v1/runs", run("r1", known))
    assert api("GET", "/api/v1/runs/r1").json()["cost_complete"] is True
    api("POST", "/api/v1/runs/r1/effects", batch(completion(2)))
    kept = api("GET", "/api/v1/runs/r1").json()
    assert (kept["cost"], kept["cost_complete"]) == (2.5, False)


def test_a_late_time_dates_the_price(api, monkeypatch):
    usage = {"input_tokens": 1_000_000, "output_tokens": 0}
    api("POST", "/api/v1/runs", run("r1", completion(1, usage=usage)))
    dated = []
    monkeypatch.setattr(prices, "cost_of_row", lambda row, when, own: dated.append(when) or 9)
    times = {"1": {"started_at": "2025-03-01T00:00:00Z"}}
    api("POST", "/api/v1/runs/r1/effects", batch(times=times))
    assert dated == [datetime(2025, 3, 1, tzinfo=UTC)]
    assert api("GET", "/api/v1/runs/r1").json()["cost"] == 9
