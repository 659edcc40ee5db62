import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewyn_sdk import DecodeError, EffectLog, EffectRecord
from rewyn_sdk.canonical import canonical_json

EMPTY = {"handlers": [], "signature": {}, "hooks": [], "required": {}}
CALL = {"effect": "tool_call", "name": "add", "args": "{}"}


def record(**fields):
    return {"tool_output": None, "id": 1, "key": "a/tool:add#0", "kind": CALL, **fields}


def document(*records, **header):
    return json.dumps({"header": {**EMPTY, **header}, "records": list(records)})


def codes(text):
    return [warning.code for warning in EffectLog.loads(text).warnings]


def test_real_logs_are_read_without_a_word(real_log):
    log = EffectLog.loads(real_log.read_bytes())
    assert (log.source, log.warnings, log.extra) == ("json", [], {})
    assert len(log.records) == len(json.loads(real_log.read_bytes())["records"])


def test_real_logs_have_the_newest_shapes(real_log):
    timed = real_log.name.startswith("nova-tools-timed")
    assert EffectLog.loads(real_log.read_bytes()).shape == ("R45+" if timed else "R44")


def test_raw_is_the_exact_slice(real_log):
    data = real_log.read_bytes()
    place = data.index(b'"records"')
    for one in EffectLog.loads(data).records:
        place = data.index(one.raw, place) + len(one.raw)
        assert json.loads(one.raw) == one.value


def test_writing_gives_the_very_bytes_of_rig(real_log):
    data = real_log.read_bytes()
    log = EffectLog.loads(data)
    assert data in (log.dumps().encode(), log.dumps(indent=None).encode())


def test_lines_hold_the_same_log(real_log):
    log = EffectLog.loads(real_log.read_bytes())
    again = EffectLog.loads(log.dumps_lines())
    assert again.source == "jsonl"
    assert again.header == log.header
    assert [canonical_json(r.value) for r in again.records] == [
        canonical_json(r.value) for r in log.records
    ]


def test_white_space_and_key_order_of_a_record_stay():
    text = '{"records" : [ {"id" : 7,\n"key":"x",  "é": 1.50 } ,{"id":8}], "header":{}}'
    raw = [one.raw.decode() for one in EffectLog.loads(text).records]
    assert raw == ['{"id" : 7,\n"key":"x",  "é": 1.50 }', '{"id":8}']


def test_unknown_keys_are_kept_and_told():
    text = '{"header":{"colour":"red","hooks":[]},"records":[{"id":1,"new":2}],"more":[1]}'
    log = EffectLog.loads(text)
    assert (log.header["colour"], log.records[0].value["new"], log.extra) == (
        "red",
        2,
        {"more": [1]},
    )
    assert {"unknown_header_key", "unknown_key"} <= {warning.code for warning in log.warnings}


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (document(record(tool_output=None), record()), "doubled_id"),
        ('{"records":[],"header":{}}', "missing_header_key"),
        (document(format=7), "newer_format"),
        (document({"id": 1}), "missing_tool_output"),
        (document({"tool_output": None}), "missing_id"),
        ('{"records":[],"header":{},"records":[]}', "doubled_key"),
        ('{"header":{"hooks":[],"hooks":[]},"records":[]}', "doubled_key"),
        ('\ufeff{"header":{},"records":[]}', "byte_order_mark"),
        ('{"header":{},"records":[{"id":1e999}]}', "out_of_range"),
        ('{"header":{},"records":[{"key":"\\udead"}]}', "lone_surrogate"),
    ],
)
def test_what_rig_would_refuse_or_lose_is_told(text, code):
    assert code in codes(text)


def test_warnings_name_the_record():
    warnings = EffectLog.loads(document(record(), record(id=2, x=float("nan")))).warnings
    assert [(w.code, w.path) for w in warnings] == [("not_a_number", "records[1]")]


@pytest.mark.parametrize(
    "text",
    [
        *("", "[]", "{}", "null", '"log"', '{"a":1}', '{"header":{}', '{"records":{}}'),
        *(
            '{"header":[],"records":[]}',
            '{"records":[1]}',
            '{"records":[],} ',
            '{"records":[] "x"}',
        ),
        *('{"header":{},"records":[]} {}', '{"records":[{}'),
        *("\x00", "{" * 5_000, '{"records":[' + "[" * 5_000),
    ],
)
@pytest.mark.parametrize("strict", [True, False])
def test_what_is_no_log_is_refused_with_a_word(text, strict):
    with pytest.raises(DecodeError):
        EffectLog.loads(text, strict=strict)


def test_a_record_by_itself():
    text = '  {"id":3,"key":"a/tool:add#0","kind":{"effect":"tool_call","name":"add"}}\n'
    one = EffectRecord.loads(text)
    assert (one.id, one.family, one.name, one.raw.decode()) == (3, "tool", "add", text.strip())


@pytest.mark.parametrize("text", ["[]", "3", '{"id":1} {}', ""])
def test_what_is_no_record_is_refused(text):
    with pytest.raises(DecodeError):
        EffectRecord.loads(text)


def test_a_record_without_tool_output_remembers_it():
    missing, null = EffectRecord.loads('{"id":1}'), EffectRecord.loads('{"tool_output":null}')
    assert (missing.tool_output, missing.tool_output_missing) == (None, True)
    assert (null.tool_output, null.tool_output_missing) == (None, False)


def test_the_later_record_of_an_id_counts():
    log = EffectLog.loads(document(record(), record(key="b")))
    assert log.record(1).key == "b"
    assert log.record(9) is None


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists))
def test_no_odd_value_makes_a_reading_fail(odd):
    fields = ("id", "key", "kind", "outcome", "events", "parent", "scope", "tool_output")
    one = EffectRecord(dict.fromkeys(fields, odd), b"")
    inner = EffectRecord(
        {"kind": {"effect": "completion", "request": odd}, "outcome": {"Ok": odd}}, b""
    )
    names = [
        name for name in dir(EffectRecord) if isinstance(getattr(EffectRecord, name), property)
    ]
    assert [getattr(r, name) for r in (one, inner) for name in names]
