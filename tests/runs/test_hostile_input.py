"""What is sent to hurt: bodies that take long, positions far out, and texts that fit no column."""

import json
import time

import pytest
import zstandard
from factories import batch, body, log, run, tool

from runs.formats import jsonbytes
from runs.formats.body import read_log
from runs.ingest.nesting import depths
from runs.refusals import Refused
from runs.steps.timeline import windows

SECONDS = 3
"""Far above what linear work takes on a slow machine, far below what quadratic work does."""


@pytest.fixture
def swift():
    started = time.process_time()
    yield
    assert time.process_time() - started < SECONDS


def test_doubled_keys_are_found_in_one_pass(swift):
    data = b"{" + b",".join(b'"k%d":1' % n for n in range(60_000)) + b',"k7":2}'
    assert jsonbytes.doubled_key(data, jsonbytes.read(data)) == "k7"


DEEP_AND_LONG = [
    (b"[" * 3_000_000 + b"]" * 3_000_000, True),
    (b"[" * 250 + b"[],[[]]," * 700_000 + b"0" + b"]" * 250, False),
    ((b"[" * 250 + b"]" * 250 + b",") * 12_000, False),
    (b"[" * 250 + b'"[[[[[[[[[[",' * 400_000 + b"0" + b"]" * 250, False),
]


@pytest.mark.parametrize(("data", "expected"), DEEP_AND_LONG, ids=["deep", "wide", "waves", "text"])
def test_nesting_is_measured_in_one_pass(swift, data, expected):
    assert jsonbytes.depth_exceeds(data, 256) is expected


@pytest.mark.parametrize("limit", [255, 256, 257])
@pytest.mark.parametrize("inside", [b"", b"[],{}", b"[[]]," * 300 + b"0"])
def test_nesting_is_measured_exactly(limit, inside):
    deepest = 256 - (2 if b"[[" in inside else 1 if inside else 0)
    data = b"[" * deepest + inside + b"]" * deepest
    assert jsonbytes.depth_exceeds(data, limit) is (limit < 256)


@pytest.mark.parametrize("tail", [b'"' + b"a" * 60, b'"' + b'\\"' * 500_000])
def test_a_deep_text_that_never_ends_is_refused_at_once(swift, tail):
    with pytest.raises(Refused) as refused:
        jsonbytes.Document(b'{"a":' + b"[" * 5000 + tail).members()
    assert refused.value.code == "malformed"


def test_a_chain_of_parents_is_measured_in_one_pass(swift):
    parents = {str(n): str(n - 1) for n in range(50_000, 0, -1)} | {"0": ""}
    found, circle = depths(parents, {})
    assert (found["50000"], circle) == (50_000, set())


def test_a_ring_of_parents_is_found_in_one_pass(swift):
    parents = {str(n): str((n + 1) % 50_000) for n in range(50_000)} | {"child": "7"}
    found, circle = depths(parents, {})
    assert (len(circle), found["child"]) == (50_000, 1)


@pytest.mark.parametrize("position", [1_000_001, 2**31 - 1, 2**31, 10**30])
def test_a_position_far_out_is_rejected_alone(api, position):
    api("POST", "/api/v1/runs", run("r1", tool(1)))
    sent = batch(tool(2), tool(3), positions=[2, position])
    answer = api("POST", "/api/v1/runs/r1/effects", sent).json()["effects"]
    refused = answer["rejected"][0]
    assert answer["stored"] == 1
    assert (refused["id"], refused["code"], refused["field"]) == ("3", "invalid", "positions[1]")


def test_what_follows_a_far_position_has_as_much_room_again(api, settings):
    settings.INGEST_MAX_POSITION = 3
    api("POST", "/api/v1/runs", run("r1", tool(1)))
    api("POST", "/api/v1/runs/r1/effects", batch(tool(2), positions=[3]))
    taken = batch(*(tool(n) for n in (3, 4, 5)))
    assert api("POST", "/api/v1/runs/r1/effects", taken).json()["effects"]["stored"] == 3
    answer = api("POST", "/api/v1/runs/r1/effects", batch(tool(6)))
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, "invalid")


def test_position_zero_refuses_the_request_and_stores_nothing(api):
    api("POST", "/api/v1/runs", run("r1", tool(1)))
    answer = api("POST", "/api/v1/runs/r1/effects", batch(tool(2), tool(3), positions=[2, 0]))
    assert (answer.status_code, answer.json()["error"]["field"]) == (422, "positions[1]")
    assert api("GET", "/api/v1/runs/r1").json()["effects"]["total"] == 1


def test_a_run_with_far_positions_has_few_windows():
    found = windows(1_000_000, 999_999)
    assert len(found) <= 400
    assert (found[0].first, found[-1].last, found[-1].loaded) == (1, 1_000_000, True)


def test_the_header_of_json_lines_keeps_its_digits(api):
    header = b'{"f":1e2,"g":1.50,"big":1E400}'
    line = b'{"header":' + header + b"}\n" + body(tool(1))
    api("POST", "/api/v1/effect-logs?run_id=r1", line)
    log_of = b"".join(api("GET", "/api/v1/runs/r1/log").streaming_content)
    assert header in log_of


def test_headers_of_json_lines_are_merged_with_their_digits():
    data = b'{"header":{"f":1e2,"g":1}}\n' + body(tool(1)) + b'\n{"header":{"g":1.50}}\n'
    assert read_log(data).header == b'{"f":1e2,"g":1.50}'


@pytest.mark.parametrize("cut", [1, 5, 40])
def test_a_zstd_body_cut_short_is_incomplete(api, cut):
    data = zstandard.ZstdCompressor(write_checksum=True).compress(body(log(tool(1))) + b" " * 9000)
    url = "/api/v1/effect-logs?run_id=r1"
    answer = api("POST", url, data[:-cut], **{"Content-Encoding": "zstd"})
    assert answer.json()["error"]["code"] == "incomplete"


def test_zstd_frames_may_follow_one_another(api):
    whole = body(log(tool(1)))
    data = b"".join(map(zstandard.ZstdCompressor().compress, (whole[:50], whole[50:])))
    url = "/api/v1/effect-logs?run_id=r1"
    assert api("POST", url, data, **{"Content-Encoding": "zstd"}).status_code == 201


def test_a_duration_of_thousands_of_digits_is_refused(api):
    sent = run("r1", tool(1), times={"1": {"duration_ms": "LONG"}})
    answer = api("POST", "/api/v1/runs", sent.replace(b'"LONG"', b"9" * 4299))
    assert answer.json()["effects"]["rejected"][0]["code"] == "invalid"


def test_a_conflict_changes_nothing_of_the_run(api):
    api("POST", "/api/v1/runs", run("r1", tool(1), agent="a", status="succeeded"))
    before = api("GET", "/api/v1/runs/r1").json()
    sent = run("r1", tool(1, result="other"), agent="b", status="failed", metadata={"x": 1})
    assert api("POST", "/api/v1/runs", sent).status_code == 409
    assert api("GET", "/api/v1/runs/r1").json() == before


def test_another_header_for_the_same_records_is_named_and_the_first_stays(api):
    url = "/api/v1/effect-logs?run_id=r1"
    api("POST", url, body({"header": {"v": 1}, "records": [tool(1)]}))
    answer = api("POST", url, body({"header": {"v": 2}, "records": [tool(1)]})).json()
    refused = answer["effects"]["rejected"][0]
    assert (refused["field"], refused["code"]) == ("header", "conflict")
    assert None not in (refused["stored_hash"], refused["sent_hash"])
    assert b'{"v": 1}' in b"".join(api("GET", "/api/v1/runs/r1/log").streaming_content)


def test_an_unknown_member_with_a_nul_in_its_name_is_kept(api):
    sent = body({"log": {"a\0": 1, "records": [tool(1)]}, "run": {"id": "r1"}})
    assert api("POST", "/api/v1/runs", sent).status_code == 201
    assert [*api("GET", "/api/v1/runs/r1").json()["warnings"][0]] == ["code", "message", "seq"]


@pytest.mark.parametrize("member", ["times", "wire"])
@pytest.mark.parametrize("effect_id", ["a\0", "\ud800"])
def test_an_id_no_effect_can_have_is_unknown(api, member, effect_id):
    api("POST", "/api/v1/runs", run("r1", tool(1)))
    answer = api("POST", "/api/v1/runs/r1/effects", body({member: {effect_id: {}}}))
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, "unknown_effect")


def test_another_wire_exchange_as_long_is_a_conflict(api):
    api("POST", "/api/v1/runs", run("r1", tool(1), wire={"1": {"a": 1}}))
    same = api("POST", "/api/v1/runs/r1/effects", body({"wire": {"1": {"a": 1}}}))
    other = api("POST", "/api/v1/runs/r1/effects", body({"wire": {"1": {"a": 2}}}))
    assert (same.status_code, other.status_code) == (200, 409)


@pytest.mark.parametrize("place", ['"wire":{"1":DEEP},"log":LOG', '"log":{"x":DEEP,"records":[]}'])
def test_nesting_is_bounded_everywhere(api, place):
    sent = place.replace("DEEP", "[" * 257 + "]" * 257).replace("LOG", json.dumps(log(tool(1))))
    answer = api("POST", "/api/v1/runs", b"{%b}" % sent.encode())
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, "too_deep")


CROWDS = {
    "elements": b'{"header":{},"records":[' + b"[]," * 3_000_000 + b"[]]}",
    "never ended": b'{"header":{},"records":[' + b"[]," * 3_000_000,
    "inside a record": b'{"header":{},"records":[{"id":1,"x":[' + b"1," * 3_000_000 + b"1]}]}",
    "strings": b'{"records":[' + b'"",' * 3_000_000 + b'""]}',
    "lines": b"[]\n" * 3_000_000,
    "depth": b'{"header":{},"records":[{"id":1,"x":' + b"[" * 600_000 + b"]" * 600_000 + b"}]}",
}


def test_one_record_in_an_abyss_takes_no_other_down_in_a_large_log(api):
    deep = b'{"id":1,"x":' + b"[" * 9_000 + b"]" * 9_000 + b"}"
    wide = b'{"id":2,"x":[' + b",".join([b"[0]"] * 500_000) + b"]}"
    answer = api("POST", "/api/v1/effect-logs", b'{"records":[' + deep + b"," + wide + b"]}")
    told = answer.json()["effects"]
    assert (told["stored"], [one["code"] for one in told["rejected"]]) == (1, ["too_deep"])


@pytest.mark.parametrize("kind", CROWDS)
def test_what_would_become_millions_of_values_is_refused_at_once(api, kind):
    start = time.process_time()
    answer = api("POST", "/api/v1/effect-logs", CROWDS[kind])
    assert answer.status_code == 422
    assert answer.json()["error"]["code"] == ("too_deep" if kind == "depth" else "too_many")
    assert time.process_time() - start < 3


def test_a_table_of_a_million_cells_in_a_text_is_taken(api):
    cells = "1,22," * 600_000
    answer = api("POST", "/api/v1/runs", run("r1", tool(1, result=cells)))
    assert answer.json()["effects"]["stored"] == 1
