import json
from collections.abc import Iterator

import pytest

from rewyn_sdk import LogError, fingerprint, run_spec
from rewyn_sdk.canonical import canonical_json
from rewyn_sdk.identity import citation_fingerprint, run_spec_fields, value_fingerprint
from rewyn_sdk.jsontext import parse

EXAMPLE = (
    '{"accept_unknown_finish_reasons":false,"additional_params":null,'
    '"augment_output_preamble":true,"max_consecutive_malformed_tool_calls":null,'
    '"max_invalid_tool_call_retries":0,"max_tokens":null,"max_turns":1,"output_mode":"Auto",'
    '"output_schema":null,"output_tool_description":null,"output_tool_name":null,'
    '"preamble":"You answer in one short sentence.","static_context":[],"temperature":0.0,'
    '"tool_choice":null,"unhandled_invalid_tool_call":"fail"}'
)


def objects(value) -> Iterator[dict]:
    children = value if isinstance(value, list) else []
    if isinstance(value, dict):
        yield value
        children = list(value.values())
    for child in children:
        yield from objects(child)


def test_the_example_of_the_format():
    config = {"preamble": "You answer in one short sentence.", "temperature": 0}
    assert canonical_json(run_spec_fields(config)) == EXAMPLE
    assert run_spec(config) == 15468038639154648206


def test_every_recorded_run_spec(real_log):
    beside = real_log.with_name(real_log.name.replace(".effects.", ".meta."))
    meta = json.loads(beside.read_bytes()) if beside.exists() else {}
    recorded = meta.get("run_spec_json")
    assert (run_spec(recorded) if recorded else None) == meta.get("run_spec")


def test_defaults_may_be_written_or_left_out():
    assert run_spec({"options": {"seed": None}, "provider_options": {}}) == run_spec({})


def test_options_are_written_whole_once_one_is_set():
    options = run_spec_fields({"options": {"top_p": 1, "stop": ["END"]}})["options"]
    assert len(options) == 8 and options["top_p"] == 1.0 and options["seed"] is None


def test_a_field_that_is_none_is_named():
    with pytest.raises(LogError, match="not a field of a run spec: modle"):
        run_spec({"modle": "x"})


def with_native(files) -> list[dict]:
    parts = [part for file in files for part in objects(json.loads(file.read_bytes()))]
    return [part for part in parts if "type" in part and "native" in part]


def test_every_recorded_fingerprint(shared):
    parts = with_native(shared.glob("rig*/**/*.effects.json"))
    marks = [part["native"]["fingerprint"] for part in parts]
    assert len(marks) > 50
    assert [fingerprint(part) for part in parts] == marks


def test_citations_have_the_fingerprint_of_their_text():
    assert citation_fingerprint("run") == "3420c155a1fa9df8"


@pytest.mark.parametrize(
    ("part", "mark"),
    [
        ({"type": "text", "text": "42"}, "23f07d1922e80d53"),
        (
            {
                "type": "toolcall",
                "id": {"local": "00000000-0000-4000-8000-000000000000"},
                "function": {"name": "add", "arguments": {"b": 2.0, "a": 1}},
            },
            "59bae47e8e0f61bf",
        ),
    ],
)
def test_fingerprint_examples_of_the_format(part, mark):
    assert fingerprint(part) == mark


def test_the_fingerprint_of_a_bare_value(hash_row):
    assert value_fingerprint(parse(hash_row["text"])) == hash_row["fingerprint"]


def test_a_part_without_fingerprint_is_refused():
    with pytest.raises(LogError, match="'opaque'"):
        fingerprint({"type": "opaque", "item": {}, "replay": True})
