"""Whatever order batches come in, and however often: one run, the same row, the same log."""

import json
from itertools import pairwise, permutations

import pytest
from factories import batch, body, completion, failed, record, run, tool
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from runs import ingest
from runs.models import Effect, Run, RunLabel

RUN_VARIES = {"id", "external_id", "received_at", "updated_at", "sort_at", "bytes_stored"}
EFFECT_VARIES = {"id", "run_id", "segment_id", "offset", "wire_segment_id", "wire_offset"}

EFFECTS = [
    completion(1, "First?", error="429", error_kind="provider_response"),
    completion(2, "First?", "One.", usage={"input_tokens": 10, "output_tokens": 5}),
    tool(3, "search"),
    completion(4, "inner", "x", parent=3, usage={"input_tokens": 7, "output_tokens": 2}),
    completion(5, "Last?", "Two.", model="gpt-4o-mini", usage={"input_tokens": 3}),
    record(6, "agent/memory", {"effect": "memory", "op": {"op": "load"}}, failed("lost")),
    tool(7, "search", parent=3),
]
TIMES: dict[str, dict] = {
    str(n): {"started_at": f"2026-11-29T10:00:0{n}Z", "duration_ms": 10 * n} for n in range(8)
}
del TIMES["4"]["duration_ms"]


def piece(*places: int) -> bytes:
    records = [EFFECTS[place] for place in places]
    times = {str(r["id"]): TIMES[str(r["id"])] for r in records}
    return batch(*records, positions=[place + 1 for place in places], times=times)


def state(project, run_id: str) -> dict:
    """Everything stored of a run, but for what tells when and where it was stored."""
    row = Run.objects.values().get(project=project, external_id=run_id)
    effects = Effect.objects.filter(run=row["id"]).order_by("seq").values()
    labels = RunLabel.objects.filter(run=row["id"]).values_list("kind", "value")
    return {
        "run": {name: value for name, value in row.items() if name not in RUN_VARIES},
        "effects": [{k: v for k, v in e.items() if k not in EFFECT_VARIES} for e in effects],
        "labels": sorted(labels),
    }


def take(project, run_id: str, pieces: list[bytes]) -> dict:
    ingest.accept_run(project, body({"run": {"id": run_id, "started_at": "2026-11-29T10:00:00Z"}}))
    for sent in pieces:
        ingest.append_effects(project, run_id, sent)
    kept = state(project, run_id)
    kept["run"].pop("bytes_received")
    return kept


def test_any_order_of_batches_gives_the_same_run(project):
    pieces = [piece(0, 1), piece(2), piece(3, 4), piece(5, 6)]
    expected = take(project, "in-order", pieces)
    for number, order in enumerate(permutations(pieces)):
        assert take(project, f"run-{number}", list(order)) == expected


@settings(
    max_examples=30,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(order=st.permutations(range(7)), cuts=st.sets(st.integers(1, 6)))
def test_any_cut_of_any_order_gives_the_same_run(project, order, cuts):
    edges = [0, *sorted(cuts), 7]
    pieces = [piece(*order[a:b]) for a, b in pairwise(edges)]
    names = f"{Run.objects.count()}"
    whole = take(project, f"whole-{names}", [piece(*range(7))])
    assert take(project, f"cut-{names}", pieces) == whole


def test_the_log_is_the_same_in_any_order(api):
    for name, order in (("a", (0, 1, 2)), ("b", (2, 0, 1))):
        api("POST", "/api/v1/runs", body({"run": {"id": name}}))
        for place in order:
            api("POST", f"/api/v1/runs/{name}/effects", piece(place))
    logs = [b"".join(api("GET", f"/api/v1/runs/{n}/log").streaming_content) for n in "ab"]
    assert logs[0] == logs[1]
    assert [r["id"] for r in json.loads(logs[0])["records"]] == [1, 2, 3]


def test_the_same_batch_five_times_is_one(api):
    api("POST", "/api/v1/runs", body({"run": {"id": "r1"}}))
    answers = [api("POST", "/api/v1/runs/r1/effects", piece(0, 1, 2)) for _ in range(5)]
    assert [a.status_code for a in answers] == [201, 200, 200, 200, 200]
    assert [a.json()["effects"]["duplicate"] for a in answers] == [0, 3, 3, 3, 3]
    assert Effect.objects.count() == 3


def test_a_batch_without_positions_sent_twice_is_one(api):
    api("POST", "/api/v1/runs", run("r1", completion(1)))
    for _ in range(2):
        api("POST", "/api/v1/runs/r1/effects", batch(tool(2), tool(3)))
    assert list(Effect.objects.order_by("seq").values_list("seq", flat=True)) == [1, 2, 3]


def test_a_position_may_be_any_from_one(api):
    api("POST", "/api/v1/runs", body({"run": {"id": "r1"}}))
    sent = batch(completion(1), tool(2), positions=[1, 1_000_000])
    assert api("POST", "/api/v1/runs/r1/effects", sent).status_code == 201


def test_two_effects_cannot_have_one_position(api):
    api("POST", "/api/v1/runs", run("r1", completion(1), tool(2)))
    answer = api("POST", "/api/v1/runs/r1/effects", batch(tool(3), tool(4), positions=[2, 3]))
    [refused] = answer.json()["effects"]["rejected"]
    assert answer.status_code == 201
    assert (refused["index"], refused["id"], refused["code"]) == (0, "3", "position_taken")


def test_two_effects_of_one_batch_cannot_have_one_position(api):
    api("POST", "/api/v1/runs", body({"run": {"id": "r1"}}))
    answer = api("POST", "/api/v1/runs/r1/effects", batch(tool(3), tool(4), positions=[2, 2]))
    assert [r["id"] for r in answer.json()["effects"]["rejected"]] == ["4"]


def test_a_known_effect_cannot_move(api):
    api("POST", "/api/v1/runs", run("r1", completion(1), tool(2)))
    answer = api("POST", "/api/v1/runs/r1/effects", batch(tool(2), positions=[9]))
    [refused] = answer.json()["effects"]["rejected"]
    assert (answer.status_code, refused["code"]) == (409, "position_taken")


@pytest.mark.parametrize("positions", [[1], [1, -1], [1, 1.5], [1, "2"], [1, 0], "12"])
def test_positions_that_are_none_are_named(api, positions):
    api("POST", "/api/v1/runs", body({"run": {"id": "r1"}}))
    sent = body({"records": [tool(1), tool(2)], "positions": positions})
    answer = api("POST", "/api/v1/runs/r1/effects", sent)
    assert answer.status_code == 422
    assert answer.json()["error"]["field"].startswith("positions")


def test_a_late_parent_deepens_its_children(api):
    api("POST", "/api/v1/runs", body({"run": {"id": "r1"}}))
    inner, middle, outer = tool(3, parent=2), tool(2, parent=1), tool(1)
    for position, sent in ((3, inner), (2, middle), (1, outer)):
        api("POST", "/api/v1/runs/r1/effects", batch(sent, positions=[position]))
    assert list(Effect.objects.order_by("seq").values_list("depth", flat=True)) == [0, 1, 2]
    assert api("GET", "/api/v1/runs/r1").json()["warnings"] == []


def test_a_known_effect_inside_a_body_twice_is_one(api):
    answer = api("POST", "/api/v1/runs", run("r1", completion(1), tool(2), tool(2)))
    assert answer.json()["effects"] == {"stored": 2, "duplicate": 1, "rejected": []}
