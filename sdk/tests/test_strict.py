"""What Rig 0.44 refuses, against its measured answers (refusals.json) and the format."""

import json

import pytest

from rewyn_sdk import DecodeError, EffectLog, EffectRecord, HeaderError, check_header
from rewyn_sdk.canonical import canonical_json
from rewyn_sdk.r44 import RECORD

# What the newest recorder may add; Rig 0.44 reads over it.
NEWER = {"started_ms", "finished_ms"}


def refused_by(text):
    """(stage, kind) of the refusal, as refusals.json has them."""
    try:
        check_header(EffectLog.loads(text, strict=True))
    except DecodeError as error:
        return "decode", error.kind
    except HeaderError as error:
        return "check_header", error.kind
    return None


def expected(row):
    early = row["stage"] in ("decode", "check_header")
    return (row["stage"], row["rig_says"]["kind"]) if early else None


def test_mutated_logs_are_refused_as_rig_refuses_them(refusal, mutated):
    assert refused_by(json.dumps(mutated(refusal))) == expected(refusal)


def test_real_logs_are_taken(real_log):
    assert refused_by(real_log.read_bytes()) is None


def test_rig_would_write_real_records_as_they_are(real_log):
    for record in EffectLog.loads(real_log.read_bytes()).records:
        known = {name: one for name, one in record.value.items() if name not in NEWER}
        assert canonical_json(RECORD(record.value)) == canonical_json(known)


@pytest.fixture
def base(log_bytes):
    return json.loads(log_bytes("refund-memory"))


def put(document, path, value):
    *steps, last = path.split(".")
    for step in steps:
        document = document[int(step)] if step.isdigit() else document[step]
    document[last] = value


FIRST = "records.1.kind.request"


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (f"{FIRST}.max_tokens", 301.0),
        (f"{FIRST}.max_tokens", True),
        (f"{FIRST}.max_tokens", 2**64),
        (f"{FIRST}.temperature", "0.2"),
        (f"{FIRST}.temperature", True),
        (f"{FIRST}.tool_choice", "any"),
        (f"{FIRST}.tool_choice", {"specific": {}}),
        (f"{FIRST}.documents", None),
        (f"{FIRST}.documents", [{"id": "d", "text": "t", "page": 3}]),
        (f"{FIRST}.chat_history", [{"role": "tool", "content": []}]),
        (f"{FIRST}.chat_history", [{"role": "user", "content": "text"}]),
        (f"{FIRST}.chat_history", [{"role": "user", "content": [{"type": "picture"}]}]),
        (f"{FIRST}.output_schema", "schema"),
        (f"{FIRST}.options", {"reasoning": "on"}),
        ("records.1.outcome.Ok.usage", {"input_tokens": -1}),
        ("records.1.outcome.Ok.usage", {"cost": {"input": 0.1}}),
        ("records.1.outcome.Ok.finish_reason", "pause_turn"),
        ("records.1.outcome", {"Ok": {}, "Err": {}}),
        ("records.1.id", 1.0),
        ("records.1.parent", -1),
        ("records.1.tool_output", []),
        ("records.1.events", [{"event": "start"}]),
        ("header.hooks", None),
        ("header.signature", {"x": "tool_call"}),
        ("header.stream_errors", {"one": []}),
        ("header.programs", {"p": {"required": {}, "policy": 1, "more": 1}}),
        ("header.bus", {"command_capacity": 16}),
        ("header.handlers", [{"key": "x", "family": {"family": "model"}}]),
        ("header.deliveries", [{"batch": 1, "id": 1, "kind": {"delivery": "late"}}]),
    ],
)
def test_wrong_types_are_refused(base, path, value):
    put(base, path, value)
    assert refused_by(json.dumps(base)) == ("decode", "decode")


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (f"{FIRST}.temperature", 1),
        (f"{FIRST}.tool_choice", {"specific": {"function_names": []}}),
        (f"{FIRST}.documents", [{"id": "d", "text": "t", "page": "3"}]),
        (f"{FIRST}.documents", []),
        (f"{FIRST}.options", {"reasoning": {"budget": {"tokens": 5}}, "new": 1}),
        ("records.1.outcome.Ok.finish_reason", {"other": "pause_turn"}),
        ("records.1.outcome.Ok.usage", {"cost": {"total": 1}}),
        ("records.1.outcome.Ok.choice", []),
        ("records.1.tool_output", {"app": [1]}),
        ("records.1.events", []),
        ("records.1.id", 2**64 - 1),
        ("header.deliveries", [{"batch": 1, "id": 1, "kind": {"delivery": "stream", "items": 2}}]),
    ],
)
def test_right_types_are_taken(base, path, value):
    put(base, path, value)
    assert refused_by(json.dumps(base)) is None


def test_a_doubled_known_field_is_refused(log_bytes):
    text = log_bytes("support-triage").decode()
    assert refused_by(text.replace('"stream": false', '"stream": false, "stream": false', 1))
    assert refused_by(text.replace('"hooks": [', '"hooks": [], "hooks": [', 1))


def test_a_doubled_key_of_opaque_json_is_taken(log_bytes):
    text = log_bytes("support-triage").decode()
    assert refused_by(text.replace('"raw": {', '"raw": {"x": 1, "x": 2, ', 1)) is None


@pytest.mark.parametrize(("levels", "taken"), [(120, True), (121, False)])
def test_nesting_counts_from_the_top(base, levels, taken):
    """records, the list, outcome, Ok and raw are open around the value: 128 in all is too much."""
    put(base, "records.1.outcome.Ok.raw", "DEEP")
    text = json.dumps(base).replace('"DEEP"', '{"a":' * 2 + "[" * levels + "]" * levels + "}" * 2)
    assert (refused_by(text) is None) is taken


def test_a_refusal_names_the_value(base):
    put(base, f"{FIRST}.chat_history", [{"role": "user", "content": [{"type": "text"}]}])
    with pytest.raises(DecodeError) as caught:
        EffectLog.loads(json.dumps(base), strict=True)
    assert caught.value.path == "records[1].kind.request.chat_history[0].content[0]"
    assert str(caught.value).startswith("missing field `text` at records[1].kind")


@pytest.mark.parametrize("old", ["d0", "f1", "f1-system", "r43"])
def test_older_shapes_are_refused(fixtures, old):
    assert refused_by((fixtures / f"{old}-v1/log.effects.json").read_bytes()) == (
        "decode",
        "decode",
    )


def test_one_record_can_be_strict_too(base):
    assert EffectRecord.loads(json.dumps(base["records"][0]), strict=True).id == 1
    del base["records"][0]["tool_output"]
    with pytest.raises(DecodeError, match="missing field `tool_output`"):
        EffectRecord.loads(json.dumps(base["records"][0]), strict=True)


@pytest.mark.parametrize(
    ("given", "arguments", "invalid"),
    [
        (None, {}, None),
        ('{"x":1}', {"x": 1}, None),
        ("", {}, None),
        ('{"x":', {}, '{"x":'),
        ("[1]", {}, "[1]"),
        (3, {}, "3"),
    ],
)
def test_arguments_are_read_as_an_object(base, given, arguments, invalid):
    put(base, "records.1.outcome.Ok.choice.1.function.arguments", given)
    function = RECORD(base["records"][1])["outcome"]["Ok"]["choice"][1]["function"]
    assert (function["arguments"], function.get("invalid_arguments")) == (arguments, invalid)
