"""The one rule for tokens, on real logs of each source API and by hand."""

import json

import pytest
from factories import batch, body, completion, log, run, tool

from runs.usage import UNKNOWN, Usage, of_rig, repeats


def recorded(shared, name: str, effect_id: int) -> tuple[dict, dict]:
    """A real record's usage, and what the provider itself said."""
    document = json.loads((shared / "data" / "rig" / f"{name}.effects.json").read_bytes())
    ok = next(r for r in document["records"] if r["id"] == effect_id)["outcome"]["Ok"]
    return ok["usage"], ok["raw"]["usage"]


@pytest.mark.parametrize("effect_id", [1, 3])
def test_anthropic_messages_input_is_recorded_with_its_cache(shared, effect_id):
    said, raw = recorded(shared, "reviewer-anthropic", effect_id)
    cache = raw["cache_read_input_tokens"] + raw["cache_creation_input_tokens"]
    used = of_rig(said, has_origin=True)
    assert cache == 1024
    assert used.input == raw["input_tokens"] + cache
    assert used.cache_read == raw["cache_read_input_tokens"]
    assert used.cache_write == raw["cache_creation_input_tokens"]
    assert used.output == raw["output_tokens"]


def test_openai_chat_input_is_recorded_with_its_cache(shared):
    said, raw = recorded(shared, "order-status-chat", 3)
    used = of_rig(said, has_origin=True)
    assert (used.input, used.cache_read) == (raw["prompt_tokens"], 256)
    assert used.output == raw["completion_tokens"]


def test_openai_responses_output_is_recorded_with_its_reasoning(shared):
    said, raw = recorded(shared, "travel-responses-stream", 1)
    used = of_rig(said, has_origin=True)
    assert (used.input, used.output) == (raw["input_tokens"], raw["output_tokens"])
    assert used.reasoning == raw["output_tokens_details"]["reasoning_tokens"] == 121


@pytest.mark.parametrize(
    "said",
    [
        {"input_tokens": 10, "output_tokens": 2, "total_tokens": 112, "cached_input_tokens": 100},
        {"input_tokens": 10, "output_tokens": 2, "cached_input_tokens": 100},
        {
            "input_tokens": 10,
            "output_tokens": 2,
            "cached_input_tokens": 60,
            "cache_creation_input_tokens": 40,
        },
    ],
)
def test_an_input_that_came_without_its_cache_is_completed(said):
    used = of_rig(said, has_origin=False)
    assert (used.input, used.total) == (110, 112)


@pytest.mark.parametrize(
    ("said", "used"),
    [
        (None, UNKNOWN),
        ({}, UNKNOWN),
        ([], UNKNOWN),
        ({"total_tokens": 77}, Usage(total=77)),
        ({"input_tokens": 21}, Usage(input=21, total=21)),
        ({"input_tokens": 4, "output_tokens": 0}, Usage(input=4, output=0, total=4)),
        ({"input_tokens": "4", "output_tokens": True}, UNKNOWN),
        ({"input_tokens": 4.0, "output_tokens": 0.5}, Usage(input=4, total=None)),
        ({"input_tokens": -1, "output_tokens": 10**13}, UNKNOWN),
    ],
)
def test_what_was_not_reported_is_unknown(said, used):
    assert of_rig(said, has_origin=True).input == used.input
    assert of_rig(said, has_origin=True).output == used.output


def test_zeros_of_an_old_shape_are_unknown_those_of_a_new_one_are_zero():
    zeros = {"input_tokens": 0, "output_tokens": 0, "total_tokens": 0}
    assert of_rig(zeros, has_origin=False) == UNKNOWN
    assert of_rig(zeros, has_origin=True).input == 0


def test_a_parent_repeats_its_children_only_when_the_sums_are_theirs():
    children = [Usage(input=3, output=1), Usage(input=4, output=2)]
    assert repeats(Usage(input=7, output=3), children)
    assert not repeats(Usage(input=8, output=3), children)
    assert not repeats(Usage(input=7, output=3), [])


# --- In a run ------------------------------------------------------------------------------------


def used(inp: int, out: int) -> dict:
    return {"input_tokens": inp, "output_tokens": out}


def stored(api) -> dict:
    return api("GET", "/api/v1/runs/r1").json()


def counted(api) -> list[bool]:
    effects = api("GET", "/api/v1/runs/r1/effects").json()["results"]
    return [effect["counted"] for effect in effects]


def test_only_models_embeddings_and_reranks_count(api):
    embed = {"effect": "embed", "inputs": {"modality": "texts", "inputs": ["a"]}}
    response = {"embeddings": [], "provider": "openai", "model": "e", "usage": used(5, 0)}
    answer = {"Ok": {"outcome": "embeddings", "modality": "texts", "response": response}}
    records = [
        completion(1, usage=used(10, 2)),
        {**tool(2), "usage": used(99, 99)},
        {**tool(3), "kind": embed, "outcome": answer},
    ]
    api("POST", "/api/v1/runs", run("r1", *records))
    assert (stored(api)["usage"]["input_tokens"], counted(api)) == (15, [True, False, True])


def test_a_nested_call_counts_and_its_tool_does_not(api, shared):
    sent = (shared / "data" / "rig" / "nested-critic.effects.json").read_bytes()
    api("POST", "/api/v1/effect-logs?run_id=r1", sent)
    usages = [r["outcome"]["Ok"].get("usage", {}) for r in json.loads(sent)["records"]]
    total = sum(usage.get("input_tokens", 0) for usage in usages)
    assert stored(api)["usage"]["input_tokens"] == total == 60


def test_a_parent_that_repeats_its_children_does_not_count(api):
    records = [
        completion(1, usage=used(7, 3)),
        completion(2, parent=1, usage=used(3, 1)),
        completion(3, parent=1, usage=used(4, 2)),
    ]
    api("POST", "/api/v1/runs", run("r1", *records))
    assert (stored(api)["usage"]["input_tokens"], counted(api)) == (7, [False, True, True])


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 0, 2)])
def test_it_does_not_count_whenever_its_children_come(api, order):
    records = [
        completion(1, usage=used(7, 3)),
        completion(2, parent=1, usage=used(3, 1)),
        completion(3, parent=1, usage=used(4, 2)),
    ]
    api("POST", "/api/v1/runs", body({"run": {"id": "r1"}}))
    for place in order:
        sent = batch(records[place], positions=[place + 1])
        api("POST", "/api/v1/runs/r1/effects", sent)
    assert (stored(api)["usage"]["input_tokens"], counted(api)) == (7, [False, True, True])


def test_a_call_without_usage_makes_the_sum_at_least(api):
    records = [completion(1, usage=used(7, 3)), completion(2), completion(3, error="429")]
    api("POST", "/api/v1/runs", run("r1", *records))
    usage = stored(api)["usage"]
    assert (usage["input_tokens"], usage["complete"]) == (7, False)


def test_no_usage_at_all_is_null(api):
    api("POST", "/api/v1/effect-logs?run_id=r1", body(log(completion(1), tool(2))))
    kept = stored(api)
    assert (kept["usage"]["input_tokens"], kept["usage"]["total_tokens"]) == (None, None)
    assert (kept["cost"], kept["cost_complete"]) == (None, False)


@pytest.mark.parametrize("records", [[], [tool(1)]])
@pytest.mark.parametrize("status", ["running", "succeeded"])
def test_without_a_model_call_nothing_is_missing_and_nothing_is_added_up(api, records, status):
    api("POST", "/api/v1/runs", run("r1", *records, status=status))
    kept = stored(api)
    assert (kept["usage"]["total_tokens"], kept["usage"]["complete"]) == (None, True)
    assert (kept["cost"], kept["cost_complete"]) == (None, True)
