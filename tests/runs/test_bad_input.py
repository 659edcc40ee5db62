"""Everything odd a client can send has an answer with a name, and what can be kept is kept."""

import json
import re
from urllib.parse import quote

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from factories import batch, body, completion, log, record, run, tool
from sent import error, send

from runs.models import Effect, Run


def raw_log(*records: str) -> bytes:
    return b'{"header":{},"records":[' + ",".join(records).encode() + b"]}"


def recorded(api, seq: int = 1, run_id: str = "r1") -> bytes:
    """The bytes of one record as they come back."""
    whole = api("GET", f"/api/v1/runs/{run_id}/effects/{seq}").content
    return whole[whole.index(b'"record":') + 9 : whole.rindex(b',"wire":')]


def stored(api, run_id: str = "r1") -> dict:
    return api("GET", f"/api/v1/runs/{run_id}").json()


def effect(api, seq: int = 1) -> dict:
    return api("GET", f"/api/v1/runs/r1/effects?after={seq - 1}").json()["results"][0]


ODD_TEXTS = ["\\u0000", "\\ud83d", "\\ude00\\ud83d", "a\\uD800b\\\\ud800", "\\ud83d\\ude00"]


@pytest.mark.parametrize("text", ODD_TEXTS)
def test_nul_and_lone_surrogates_keep_their_bytes(api, text):
    sent = json.dumps(completion(1, "ASKED", "SAID")).replace("ASKED", text).replace("SAID", text)
    assert send(api, raw_log(sent)).status_code == 201
    assert recorded(api) == sent.encode()
    assert send(api, raw_log(sent)).status_code == 200


@pytest.mark.parametrize(("text", "shown"), [("\\u0000", "a␀b"), ("\\ud83d", "a\ufffdb")])
def test_derived_text_shows_a_replacement(api, text, shown):
    sent = json.dumps(completion(1, "aXb", "aXb")).replace("aXb", f"a{text}b")
    send(api, raw_log(sent))
    kept = stored(api)
    assert (kept["title"], kept["output_text"], effect(api)["summary"]) == (shown, shown, shown)


@pytest.mark.parametrize("text", ["\\u0000", "\\udfff"])
def test_nul_and_surrogates_reach_no_column(api, text):
    names = {"agent": "aXb", "metadata": {"aXb": "aXb"}, "tags": ["aXb"], "input": "aXb"}
    sent = run("r1", tool(1, name="aXb", scope="aXb"), **names).replace(b"aXb", text.encode())
    assert api("POST", "/api/v1/runs", sent).status_code == 201
    assert text.encode() in b"".join(api("GET", "/api/v1/runs/r1/export").streaming_content)


def test_invalid_utf8_is_named_with_its_place(api):
    answer = send(api, raw_log('{"id":1,"x":"\xff"}').replace(b"\xc3\xbf", b"\xff"))
    assert error(answer) == (400, "invalid_utf8", None)
    assert answer.json()["error"]["byte"] == 37


def test_a_byte_order_mark_is_skipped(api):
    assert send(api, b"\xef\xbb\xbf" + body(log(tool(1)))).status_code == 201


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "01", "1.", ".5", "+1", "0x1"])
def test_what_is_no_json_number_is_named_with_its_place(api, number):
    answer = send(api, raw_log(f'{{"id":1,"n":{number}}}'))
    assert error(answer)[:2] == (400, "malformed")
    assert 36 <= answer.json()["error"]["byte"] <= 38
    assert not Run.objects.exists()


@pytest.mark.parametrize("cut", [1, 20, 60, 200])
def test_truncated_json_is_named_with_its_place(api, cut):
    sent = body(log(completion(1)))[:cut]
    answer = send(api, sent)
    assert error(answer)[:2] == (400, "malformed")
    assert answer.json()["error"]["byte"] == cut


@pytest.mark.parametrize("sent", [b"", b" ", b"null", b"[]", b"7", b'"x"', b"{}", b"nonsense"])
def test_what_is_no_log_is_named(api, sent):
    assert error(send(api, sent))[0] in (400, 422)


@pytest.mark.parametrize(
    ("sent", "field"),
    [
        (b'{"header":{},"records":{}}', "records"),
        (b'{"header":[],"records":[]}', "header"),
        (b'{"header":7,"records":[]}', "header"),
        (b'{"log":7}', "log"),
        (b'{"log":{"header":{}}}', "log.records"),
        (b'{"log":{"header":{},"records":7}}', "log.records"),
        (b'{"log":{"header":[],"records":[]}}', "log.header"),
        (b'{"log":{"header":[],"records":[],"x":1}}', "log.header"),
        (b'{"log":{"header":{},"records":[null]}}', "log.records[0]"),
        (b'{"log":{"records":[{"id":[]}]}}', "log.records[0].id"),
        (b'{"records":[null]}', "records[0]"),
        (b'{"records":[{"id":1,"key":7}]}', "records[0].key"),
        (b'{"run":7,"log":{"records":[]}}', "run"),
        (b'{"run":{"id":7}}', "run.id"),
        (b'{"run":{"id":"a/b"}}', "run.id"),
        (b'{"run":{"id":"x","status":"odd"}}', "run.status"),
        (b'{"run":{"id":"x","agent":{}}}', "run.agent"),
        (b'{"run":{"id":"x","tags":"a"}}', "run.tags"),
        (b'{"run":{"id":"x","tags":[{}]}}', "run.tags[0]"),
        (b'{"run":{"id":"x","metadata":[]}}', "run.metadata"),
        (b'{"run":{"id":"x","started_at":"soon"}}', "run.started_at"),
        (b'{"run":{"id":"x","ended_at":5}}', "run.ended_at"),
        (b'{"run":{"agent":"x"}}', "run.id"),
        (b'{"times":{}}', "log"),
    ],
)
def test_a_field_of_another_type_is_named(api, sent, field):
    answer = api("POST", "/api/v1/runs", sent)
    assert (answer.status_code, answer.json()["error"]["field"]) == (422, field)


FILES = [b"[]", b"7", b'{"records":12,"hashes":{}}', b'{"a":1}']


@pytest.mark.parametrize("sent", FILES)
def test_a_file_that_is_no_log_is_told_in_words(member_client, sent):
    file = SimpleUploadedFile("hashes.json", sent)
    page = member_client.post("/p/acme/import", {"files": [file]}, headers={"HX-Request": "true"})
    assert "not taken: This is no effect log" in page.text


@pytest.mark.parametrize(
    ("times", "member"),
    [
        (7, ""),
        ({"started_at": "x"}, ".started_at"),
        ({"duration_ms": "x"}, ".duration_ms"),
        ({"first_token_ms": 1e300}, ".first_token_ms"),
    ],
)
def test_times_that_are_none_are_named_and_the_record_is_kept(api, times, member):
    answer = api("POST", "/api/v1/runs", run("r1", tool(1), times={"1": times}))
    [refused] = answer.json()["effects"]["rejected"]
    assert (answer.status_code, refused["id"], refused["code"]) == (201, "1", "invalid")
    assert refused["field"] == f"times.1{member}"


@pytest.mark.parametrize(("name", "shown"), [("\\ud800", "\ufffd"), ("\\u0000", "␀")])
def test_what_a_sender_named_oddly_is_shown_alike_everywhere(api, name, shown):
    records, times = b'[{"id":"aX"},{"id":1}]', b'{"bX":7}'
    sent = b'{"records":%b,"times":%b,"wire":{"cX":{}},"run":{"id":"r1"}}' % (records, times)
    answer = api("POST", "/api/v1/runs", sent.replace(b"X", name.encode()))
    told = [(one["id"], one["field"]) for one in answer.json()["effects"]["rejected"]]
    assert told == [
        (f"b{shown}", f"times.b{shown}"),
        (f"a{shown}", "records[0].id"),
        (f"c{shown}", f"wire.c{shown}"),
    ]


def test_a_lone_surrogate_in_the_name_of_a_member_comes_back(api):
    sent = b'{"log":{"records":[{"id":1}],"x\\ud800y":"\\udc00"},"run":{"id":"r1","n\\udfff":1}}'
    assert api("POST", "/api/v1/runs", sent).status_code == 201
    again = b'{"run":{"id":"r1","name":"a","n\\udfff":1}}'
    assert api("POST", "/api/v1/runs", again).status_code == 200
    back = b"".join(api("GET", "/api/v1/runs/r1/export").streaming_content)
    assert b'"x\\ud800y":"\\udc00"' in back
    assert back.count(b'"n\\udfff":1') == 1


@pytest.mark.parametrize("digits", ["1e400", "-1E+999", "9" * 5000])
def test_a_number_no_float_holds_keeps_its_digits_in_metadata(api, digits):
    sent = b'{"run":{"id":"r1","metadata":{"a":[%b],"b":1.5,"c":12}}}' % digits.encode()
    assert api("POST", "/api/v1/runs", sent).status_code == 201
    assert stored(api)["metadata"] == {"a": [digits], "b": 1.5, "c": 12}


def test_the_last_of_a_doubled_key_wins_with_a_warning(api):
    sent = json.dumps(tool(1)).replace('"id": 1', '"id": 9, "id": 1, "x": {"a": 1, "a": 2}')
    send(api, raw_log(sent))
    assert (effect(api)["id"], recorded(api)) == ("1", sent.encode())
    assert [w["code"] for w in stored(api)["warnings"]] == ["doubled_key"]


def test_a_colon_in_a_text_is_no_doubled_key(api):
    send(api, body(log(tool(1, result='{"a": 1, "a": 2}', args='{"b":1}'))))
    assert stored(api)["warnings"] == []


def test_a_doubled_key_of_the_header_or_run_is_warned_of(api):
    sent = (
        b'{"run":{"id":"r1","agent":"a","agent":"b"},"log":{"header":{"x":1,"x":2},"records":[]}}'
    )
    api("POST", "/api/v1/runs", sent)
    kept = stored(api)
    assert kept["agent"] == "b"
    assert [w["code"] for w in kept["warnings"]] == ["doubled_key", "doubled_key"]


@pytest.mark.parametrize("number", ["1" + "0" * 30, "-" + "9" * 40, "9" * 5000, "1e400", "-0"])
def test_numbers_of_any_size_keep_their_digits(api, number):
    sent = json.dumps(tool(1, extra="N")).replace('"N"', number)
    assert send(api, raw_log(sent)).status_code == 201
    assert recorded(api) == sent.encode()


def test_huge_numbers_as_usage_are_unknown(api):
    usage = {"input_tokens": 10**30, "output_tokens": -5}
    send(api, body(log(completion(1, usage=usage))))
    assert effect(api)["usage"]["input_tokens"] is None
    assert stored(api)["usage"]["complete"] is False


@pytest.mark.parametrize("field", ["id", "parent"])
def test_an_id_of_5000_characters_is_rejected_for_its_item(api, field):
    long = {**tool(1), field: "x" * 5000}
    answer = send(api, body(log(long, tool(2))))
    [refused] = answer.json()["effects"]["rejected"]
    assert answer.status_code == 201
    named = (refused["index"], refused["code"], refused["field"])
    assert named == (0, "too_long", f"records[0].{field}")


LONG = "x" * 5000
CUT = re.compile("x{187}…[0-9a-f]{12}")


@pytest.mark.parametrize("field", ["key", "scope"])
def test_a_name_of_5000_characters_is_kept_whole_and_cut_with_a_mark(api, field):
    sent = json.dumps({**tool(1), field: LONG})
    assert send(api, raw_log(sent)).json()["effects"]["rejected"] == []
    assert recorded(api) == sent.encode()
    assert CUT.fullmatch(effect(api)[field])


def test_tools_of_5000_characters_stay_two_where_they_differ_at_the_end(api):
    kinds = [{"effect": "tool_call", "name": LONG + end, "args": "{}"} for end in "ab"]
    sent = [{**tool(n), "kind": kind} for n, kind in enumerate(kinds, 1)]
    assert send(api, body(log(*sent))).json()["effects"]["stored"] == 2
    tools = stored(api)["tools"]
    assert len(tools) == 2 and all(map(CUT.fullmatch, tools))
    found = api("GET", f"/api/v1/runs?tool={quote(effect(api)['name'])}").json()["results"]
    assert len(found) == 1


def test_a_long_search_is_shown_by_its_start(api):
    kind = {"effect": "retrieve", "query": {"query": "where " * 1000, "samples": 1}}
    send(api, body(log(record(1, "k", kind, {"Ok": {"outcome": "documents"}}))))
    assert effect(api)["name"] == ("where " * 34)[:199] + "…"


def test_a_model_of_5000_characters_is_named_and_priced_by_nobody(api):
    answer = send(api, body(log(completion(1, model=LONG, usage={"input_tokens": 5}))))
    assert answer.json()["effects"]["stored"] == 1
    assert CUT.fullmatch(effect(api)["name"])
    assert effect(api)["cost"] is None


def test_many_models_are_listed_as_far_as_there_is_room(api):
    send(api, body(log(*(completion(n, model=f"model-{n:04}-{'m' * 60}") for n in range(1, 9)))))
    listed = api("GET", "/api/v1/runs").json()["results"][0]["models"]
    assert listed[-1] == "…"
    assert set(listed[:-1]) < set(stored(api)["models"])


@pytest.mark.parametrize(
    ("name", "shown"),
    [("agent", "agent"), ("environment", "environment"), ("session_id", "session_id")],
)
def test_a_run_field_of_5000_characters_is_kept_whole_and_cut_with_a_mark(api, name, shown):
    api("POST", "/api/v1/runs", run("r1", tool(1), tags=[LONG], **{name: LONG}))
    kept = stored(api)
    assert CUT.fullmatch(kept[shown]) and CUT.fullmatch(kept["tags"][0])
    exported = json.loads(api("GET", "/api/v1/runs/r1/export").getvalue())["run"]
    assert (exported[name], exported["tags"]) == (LONG, [LONG])


def test_a_name_beside_a_log_that_nothing_keeps_whole_is_refused(api):
    answer = api("POST", f"/api/v1/effect-logs?agent={LONG}", body(log(tool(1))))
    assert error(answer) == (422, "too_long", "agent")
    assert answer.json()["error"]["limit"] == 200


def test_a_run_id_of_5000_characters_is_422(api):
    assert error(api("POST", "/api/v1/runs", run("x" * 5000)))[:2] == (422, "too_long")
    assert error(send(api, body(log()), run_id="x" * 5000)) == (422, "too_long", "run_id")


def test_an_unknown_family_is_kept_and_shown(api):
    send(api, body(log(record(1, "k", {"effect": "telepathy"}, {"Ok": {"outcome": "felt"}}))))
    assert (effect(api)["family"], effect(api)["name"]) == ("unknown", "telepathy")


@pytest.mark.parametrize(
    "odd",
    [
        {"id": 1},
        {"id": 1, "kind": None, "outcome": None},
        {"id": 1, "kind": [], "outcome": 7, "events": {}, "tool_output": "x"},
        {"id": 1, "kind": {"effect": "completion", "request": []}, "outcome": {"Ok": []}},
        {"id": 1, "kind": {"effect": "completion"}, "outcome": {"Ok": {"usage": [], "choice": 7}}},
        {"id": 1, "kind": {"effect": "tool_call", "name": {}}, "outcome": {"Err": "text"}},
        {"id": 1, "kind": {"effect": "memory", "op": []}, "outcome": {"Ok": {"result": []}}},
        {"id": 1, "kind": {"effect": 5}, "outcome": {"Ok": {"result": {"status": "odd"}}}},
    ],
)
def test_a_record_of_no_known_form_is_kept(api, odd):
    assert send(api, body(log(odd))).status_code == 201
    assert json.loads(recorded(api)) == odd


@pytest.mark.parametrize(
    "odd", ["5", "null", "[]", '"x"', "{}", '{"id":null}', '{"id":1.5}', '{"id":true}', '{"id":""}']
)
def test_a_record_without_an_id_is_rejected(api, odd):
    answer = send(api, raw_log(odd, json.dumps(tool(2))))
    [refused] = answer.json()["effects"]["rejected"]
    assert (answer.status_code, refused["index"], refused["code"]) == (201, 0, "invalid")


@pytest.mark.parametrize("field", ["key", "scope"])
def test_a_name_that_is_no_text_is_rejected(api, field):
    answer = send(api, body(log({**tool(1), field: 5})))
    assert error(answer) == (422, "invalid", f"records[0].{field}")


def test_a_missing_parent_is_kept_and_warned_of(api):
    send(api, body(log(tool(1, parent=99), tool(2, parent=1))))
    assert [effect(api, n)["depth"] for n in (1, 2)] == [0, 1]
    [warning] = stored(api)["warnings"]
    assert (warning["code"], warning["message"][-1]) == ("missing_parent", "1")


def test_parents_in_a_circle_are_kept_and_warned_of(api):
    records = [tool(1, parent=2), tool(2, parent=1), tool(3, parent=3), tool(4, parent=1)]
    send(api, body(log(*records)))
    assert [effect(api, n)["depth"] for n in (1, 2, 3, 4)] == [0, 0, 0, 1]
    assert [w["code"] for w in stored(api)["warnings"]] == ["parent_cycle"] * 3


def test_a_circle_that_closes_late_is_warned_of(api):
    send(api, body(log(tool(1, parent=2))))
    api("POST", "/api/v1/runs/r1/effects", batch(tool(2, parent=1)))
    assert [w["code"] for w in stored(api)["warnings"]] == ["parent_cycle"] * 2


def test_a_run_that_ends_before_it_starts_is_marked(api):
    times = {"started_at": "2026-11-29T10:00:00Z", "ended_at": "2026-11-29T09:00:00Z"}
    api("POST", "/api/v1/runs", run("r1", tool(1), **times))
    kept = stored(api)
    assert (kept["clock_suspect"], kept["duration_ms"]) == (True, None)


@pytest.mark.parametrize(
    "times",
    [
        {"started_at": "2026-11-29T10:00:00Z", "duration_ms": -5},
        {"started_at": "1970-01-01T00:00:00Z"},
        {"started_at": "9999-12-31T23:59:59Z", "duration_ms": 1e12},
    ],
)
def test_a_clock_that_cannot_be_is_marked_and_sorts_by_receipt(api, times):
    api("POST", "/api/v1/runs", run("r1", tool(1), times={"1": times}))
    kept = Run.objects.get()
    assert kept.clock_suspect is True
    assert kept.sort_at.year >= 2026 and kept.sort_at.year < 9000


def test_a_run_whose_every_record_is_refused_is_not_made(api):
    sent = {"run": {"id": "hollow", "agent": "a"}, "log": {"header": {}, "records": [{"key": "k"}]}}
    answer = api("POST", "/api/v1/runs", json.dumps(sent).encode())
    assert (answer.status_code, answer.json()["effects"]["stored"]) == (422, 0)
    assert api("GET", "/api/v1/runs/hollow").status_code == 404


@pytest.mark.parametrize("levels", [300, 10_000, 200_000])
def test_a_record_nested_too_deeply_is_rejected_alone(api, levels):
    deep = json.dumps(tool(1, extra="X")).replace('"X"', "[" * levels + "]" * levels)
    answer = send(api, raw_log(deep, json.dumps(tool(2))))
    [refused] = answer.json()["effects"]["rejected"]
    assert (answer.status_code, refused["index"], refused["code"]) == (201, 0, "too_deep")


def test_brackets_in_a_text_are_no_nesting(api):
    assert send(api, body(log(tool(1, result="[{" * 5000)))).json()["effects"]["stored"] == 1


@pytest.mark.parametrize(
    "where", ['"run":{"id":"r1","metadata":DEEP}', '"run":{"id":"r1","input":DEEP}']
)
def test_a_run_nested_too_deeply_is_named(api, where):
    sent = "{" + where.replace("DEEP", '{"a":' * 9000 + "1" + "}" * 9000) + "}"
    assert error(api("POST", "/api/v1/runs", sent.encode()))[:2] == (422, "too_deep")


def test_a_20_mb_tool_result_has_a_segment_of_its_own(api):
    big = tool(2, result="x" * 20_000_000)
    answer = send(api, body(log(completion(1), big, completion(3))))
    assert answer.status_code == 201
    assert len(set(Effect.objects.values_list("segment_id", flat=True))) == 3
    assert json.loads(recorded(api, 2)) == big


def test_too_many_records_are_named(api, settings):
    settings.INGEST_MAX_RECORDS = 3
    answer = send(api, body(log(*(tool(n) for n in range(1, 5)))))
    assert error(answer) == (422, "too_many", "records")


@pytest.mark.parametrize(
    ("sent", "field"),
    [
        ({"log": log(tool(1)), "wire": {str(n): {} for n in range(4)}}, "wire"),
        ({"log": log(tool(1)), "times": {str(n): {} for n in range(4)}}, "times"),
        ({"log": log(tool(1)) | {f"x{n}": 1 for n in range(1001)}}, "log"),
    ],
)
def test_what_is_beside_records_is_bounded_too(api, settings, sent, field):
    settings.INGEST_MAX_RECORDS = 3
    answer = api("POST", "/api/v1/runs", body({"run": {"id": "r1"}, **sent}))
    assert error(answer) == (422, "too_many", field)
    assert not Run.objects.exists()
