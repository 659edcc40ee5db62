"""Every real log comes out as it went in; the server's parser means what the SDK's does."""

import json
import re

import pytest
from factories import HEADER, body, completion, log, record, tool
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from rewyn_sdk.errors import DecodeError
from rewyn_sdk.log import EffectLog
from runs.formats import body as bodies
from runs.formats import jsonbytes, shape
from runs.formats import record as records
from runs.refusals import Refused


def text_of(response) -> bytes:
    return b"".join(response.streaming_content)


def record_texts(document: bytes) -> list[str]:
    """The exact text of each record of a log, by the standard library's scanner."""
    decoder, space = json.JSONDecoder(), re.compile(r"[ \t\r\n]*")
    text = document.decode()
    place = space.match(text, text.index('"records"') + 9).end() + 1
    place = space.match(text, space.match(text, place).end() + 1).end()
    found = []
    while text[place] != "]":
        _, end = decoder.raw_decode(text, place)
        found.append(text[place:end])
        place = space.match(text, end).end()
        if text[place] == ",":
            place = space.match(text, place + 1).end()
    return found


def real_logs(shared):
    files = sorted((shared / "data").glob("rig*/**/*.effects.json"))
    assert len(files) >= 42
    return files


def test_every_real_log_comes_back_byte_for_byte(api, shared):
    for file in real_logs(shared):
        sent = file.read_bytes()
        answer = api("POST", "/api/v1/effect-logs", sent)
        assert answer.status_code == 201, file.name
        got = text_of(api("GET", f"/api/v1/runs/{answer.json()['run_id']}/log"))
        assert json.loads(got) == json.loads(sent), file.name
        assert record_texts(got) == record_texts(sent), file.name


def test_every_real_log_sent_again_is_known(api, shared):
    for file in real_logs(shared):
        sent = file.read_bytes()
        statuses = [api("POST", "/api/v1/effect-logs", sent).status_code for _ in range(2)]
        assert statuses == [201, 200], file.name


def test_a_header_comes_back_as_it_was(api):
    header = b'{ "hooks" : [ ], "run_spec": 18446744073709551615 ,"x":1.0 }'
    api("POST", "/api/v1/effect-logs?run_id=r1", b'{"header":' + header + b',"records":[]}')
    assert header in text_of(api("GET", "/api/v1/runs/r1/log"))


# --- JSON Lines ----------------------------------------------------------------------------------


def test_lines_come_back_as_the_same_lines(api, shared):
    sent = (shared / "data/rig/newer/nova-tools-timed.effects.jsonl").read_bytes()
    run_id = api("POST", "/api/v1/effect-logs", sent).json()["run_id"]
    assert text_of(api("GET", f"/api/v1/runs/{run_id}/log?format=jsonl")) == sent


def test_a_continuation_line_is_stored_as_the_whole_record(api, shared):
    folder = shared / "data/rig/newer"
    lines = (folder / "nova-tools-timed.effects.jsonl").read_bytes()
    whole = json.loads((folder / "nova-tools-timed.effects.json").read_bytes())
    run_id = api("POST", "/api/v1/effect-logs?run_id=r1", lines).json()["run_id"]
    last = api("GET", f"/api/v1/runs/{run_id}/effects/5").json()["record"]
    assert last["kind"] == whole["records"][4]["kind"]


def test_lines_and_document_of_one_log_are_one_run(api, shared):
    folder = shared / "data/rig/newer"
    first = api(
        "POST", "/api/v1/effect-logs", (folder / "nova-tools-timed.effects.jsonl").read_bytes()
    )
    second = api(
        "POST", "/api/v1/effect-logs", (folder / "nova-tools-timed.effects.json").read_bytes()
    )
    assert (second.status_code, second.json()["run_id"]) == (200, first.json()["run_id"])


def test_a_document_can_be_read_as_lines(api):
    sent = json.dumps(log(completion(1), tool(2)), indent=2).replace('"42"', '"4 2"')
    api("POST", "/api/v1/effect-logs?run_id=r1", sent.encode())
    lines = text_of(api("GET", "/api/v1/runs/r1/log?format=jsonl")).splitlines()
    assert json.loads(lines[0]) == {"header": HEADER}
    assert json.loads(lines[2])["outcome"]["Ok"]["result"]["value"][0]["text"] == "4 2"
    assert len(lines) == 3


def test_lines_that_refer_to_nothing_are_named(api):
    line = body({"id": 2, "after": 1, "keep": 1, "record": {"kind": {}}})
    answer = api("POST", "/api/v1/effect-logs", line)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "malformed")


def test_a_damaged_line_is_named_with_its_line(api):
    sent = body({"header": HEADER}) + b"\n" + body(tool(1)) + b'\n{"id": 2, "ki'
    answer = api("POST", "/api/v1/effect-logs", sent)
    assert answer.status_code == 400
    assert "line 3" in answer.json()["error"]["message"]


def test_not_a_number_in_a_line_is_refused(api):
    sent = body(tool(1)) + b'\n{"id":2,"kind":{},"outcome":{},"n":NaN}'
    assert api("POST", "/api/v1/effect-logs", sent).status_code == 400


def continuation(**record) -> bytes:
    """Two lines: a model call, and one that repeats it."""
    request = {"chat_history": [{"role": "user", "content": []}]}
    held = {"key": "agent/model:default", "kind": {"effect": "completion", "request": request}}
    line = {"id": 2, "after": 1, "keep": 1, "record": {**held, **record}}
    return body(completion(1)) + b"\n" + body(line)


def test_a_restored_record_may_hold_a_lone_surrogate_and_huge_numbers(api):
    sent = continuation(x="X").replace(b'"X"', b'["\\ud800", 1000000000000000000000000000001]')
    assert api("POST", "/api/v1/effect-logs?run_id=r1", sent).status_code == 201
    restored = api("GET", "/api/v1/runs/r1/effects/2").content
    assert b'["\\ud800",1000000000000000000000000000001]' in restored


def test_a_restored_record_cannot_hold_an_infinite_number(api):
    sent = continuation(x="X").replace(b'"X"', b"1e400")
    answer = api("POST", "/api/v1/effect-logs", sent)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "malformed")


# --- Two parsers, one meaning --------------------------------------------------------------------

CORPUS = [
    '{"id":1,"kind":{},"a":1,"a":2}',
    '{"id":1,"kind":{},"a":"\\ud800"}',
    '{"id":1,"kind":{},"a":"\\ude00\\ud83d"}',
    '{"id":1,"kind":{},"a":"\\ud83d\\ude00"}',
    '{"id":1,"kind":{},"a":"\\u0000"}',
    '{"id":1,"kind":{},"a":1000000000000000000000000000000}',
    '{"id":18446744073709551615,"kind":{},"a":[1,1.0,1e0,-0,1e400]}',
    '{"id":1,"kind":{},"a":"\\/\\b\\f"}',
    ' {"id" : 1 , "kind":{ } , "a":[ ] } ',
    '{"id":1,"kind":{},"a":' + "[" * 250 + "]" * 250 + "}",
]


def one(text: str) -> bytes:
    return ('{"header":{},"records":[' + text + "]}").encode()


@pytest.mark.parametrize("text", CORPUS)
def test_both_parsers_keep_the_same_bytes(text):
    [ours] = bodies.read_log(one(text)).records
    [theirs] = EffectLog.loads(one(text)).records
    assert ours == theirs.raw == text.strip().encode()


@pytest.mark.parametrize("text", CORPUS)
def test_both_parsers_read_the_same_value(text):
    [ours] = bodies.read_log(one(text)).records
    [theirs] = EffectLog.loads(one(text)).records
    value, same = jsonbytes.read_exactly(ours), theirs.value
    assert json.dumps(value).replace("-0.0", "0") == json.dumps(same).replace("-0.0", "0")
    assert records.read(ours).effect_id == str(theirs.id)


@pytest.mark.parametrize("text", CORPUS)
def test_both_parsers_see_a_doubled_key(text):
    [ours] = bodies.read_log(one(text)).records
    theirs = [w.code for w in EffectLog.loads(one(text)).warnings]
    assert (records.read(ours).doubled_key is not None) == ("doubled_key" in theirs)


@pytest.mark.parametrize(
    "text",
    [
        '{"header":{},"records":[{"id":1,]}',
        '{"header":{},"records":[{"id":01}]}',
        '{"header":{},"records":[{"id":"\t"}]}',
        '{"header":{},"records":[{"id":"\\x"}]}',
        '{"header":{},"records":[{id:1}]}',
        '{"header":{},"records":[]',
        '{"header":{},"records":[]} x',
        '{"header":{},"records":7}',
        '{"header":7,"records":[]}',
        "[]",
        "",
    ],
)
def test_both_parsers_refuse_the_same(text):
    with pytest.raises(DecodeError):
        EffectLog.loads(text)
    with pytest.raises(Refused):
        bodies.read_log(text.encode())


def test_both_name_every_shape_alike(shared):
    for file in real_logs(shared):
        data = file.read_bytes()
        theirs = EffectLog.loads(data)
        bits = 0
        for raw in bodies.read_log(data).records:
            bits |= records.read(raw).shape
        assert shape.name_of(bits, is_f1=theirs.header.get("format") == 1) == theirs.shape


def answer(**ok) -> dict:
    kind = {"effect": "completion", "request": {"chat_history": []}, "stream": False}
    return record(1, "k", kind, {"Ok": {"outcome": "completion", "choice": [], **ok}})


@pytest.mark.parametrize(
    ("header", "sent"),
    [
        ({"format": 1}, answer()),
        ({}, answer()),
        ({}, {**answer(), "started_ms": 5}),
        ({}, answer(origin={})),
        ({}, answer(choice=[{"type": "text", "native": {"fingerprint": 5}}])),
        ({}, answer(choice=[{"type": "text", "native": {"fingerprint": "5"}}])),
        ({}, answer(choice=[{"type": "toolcall", "id": {"local": "x"}}])),
        ({}, {**answer(), "events": [{"item": "event", "value": {}}]}),
        ({}, tool(1)),
    ],
)
def test_both_name_the_shape_of_older_logs_alike(api, header, sent):
    data = body({"header": header, "records": [sent]})
    api("POST", "/api/v1/effect-logs?run_id=r1", data)
    assert api("GET", "/api/v1/runs/r1").json()["shape"] == EffectLog.loads(data).shape


# --- JSON as bytes -------------------------------------------------------------------------------

calmly = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@calmly
@given(JSON, st.sampled_from([None, 0, 3]))
def test_minified_is_the_same_value_on_one_line(value, indent):
    data = json.dumps(value, indent=indent).encode()
    assert jsonbytes.minified(data) == json.dumps(value, separators=(",", ":")).encode()


@calmly
@given(st.lists(JSON, max_size=5))
def test_a_list_is_cut_into_its_very_bytes(values):
    texts = [json.dumps(value).encode() for value in values]
    document = jsonbytes.Document(b"[ " + b" ,\n".join(texts) + b" ]")
    assert [document.original(raw) for raw in document.items(document.data)] == texts


@calmly
@given(JSON)
@example("[")
def test_depth_is_that_of_the_value(value):
    def depth(v) -> int:
        inner = v.values() if isinstance(v, dict) else v if isinstance(v, list) else None
        return 0 if inner is None else 1 + max(map(depth, inner), default=0)

    data = json.dumps(value).encode()
    assert not jsonbytes.depth_exceeds(data, depth(value))
    assert depth(value) == 0 or jsonbytes.depth_exceeds(data, depth(value) - 1)


@calmly
@given(JSON)
def test_no_doubled_key_is_seen_where_there_is_none(value):
    data = json.dumps(value).encode()
    assert jsonbytes.doubled_key(data, jsonbytes.read(data)) is None


@calmly
@given(st.text(), JSON)
def test_a_doubled_key_is_seen_at_any_depth(key, value):
    member = json.dumps(key) + ": " + json.dumps(value)
    data = f'[{{"x": {{{member}, {member}}}}}]'.encode()
    assert jsonbytes.doubled_key(data, jsonbytes.read(data)) is not None
