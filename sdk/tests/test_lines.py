import json

import pytest

from rewyn_sdk import DecodeError, EffectLog
from rewyn_sdk.canonical import canonical_json

HEADER = {"handlers": [], "signature": {}, "hooks": [], "required": {}}


@pytest.fixture
def twins(shared):
    file = shared / "rig/newer/nova-tools-timed.effects.json"
    return file.read_bytes(), file.with_suffix(".jsonl").read_bytes()


def completion(number, history, *, key="m", choice=(), tools=()):
    request = {"chat_history": history, "documents": [], "tools": list(tools)}
    ok = {"outcome": "completion", "choice": list(choice), "origin": {"api": "a"}}
    kind = {"effect": "completion", "request": request, "stream": False}
    return {"id": number, "key": key, "kind": kind, "outcome": {"Ok": ok}, "tool_output": None}


def tool(number, text):
    value = [{"type": "text", "text": text}]
    ok = {"outcome": "tool_result", "result": {"status": "success", "value": value}}
    return {"id": number, "key": "t", "kind": {"effect": "tool_call"}, "outcome": {"Ok": ok}}


def continuation(number, after, history, *, key="m", **pieces):
    held = completion(number, history, key=key)
    del held["id"], held["kind"]["request"]["tools"]
    return {"id": number, "after": after, "record": held, "same_tools": True, **pieces}


def lines(*values):
    return "\n".join(json.dumps(value) for value in values) + "\n"


def histories(*values):
    return [record.history for record in EffectLog.loads(lines(*values)).records]


def user(text):
    return {"role": "user", "content": [{"type": "text", "text": text}]}


def test_lines_say_what_the_document_says(twins):
    document, written = map(EffectLog.loads, twins)
    assert written.header == document.header
    assert [canonical_json(r.value) for r in written.records] == [
        canonical_json(r.value) for r in document.records
    ]


def test_strict_takes_them_too(twins):
    assert EffectLog.loads(twins[1], strict=True).shape == "R45+"


def test_a_restored_record_keeps_its_line(twins):
    records = EffectLog.loads(twins[1]).records
    source = twins[1].splitlines()
    assert [record.raw for record in records[:4]] == source[1:5]
    assert records[4].source_line == source[5]
    assert json.loads(records[4].raw) == records[4].value


def test_blank_lines_and_a_missing_end_do_not_matter(twins):
    text = b"\n\r\n" + twins[1].replace(b"\n", b"\n\n").rstrip()
    assert len(EffectLog.loads(text).records) == 5


def test_pieces_follow_one_another():
    base = completion(1, [user("a"), user("b"), user("c")], choice=[{"type": "text", "text": "r"}])
    then = [{"base": [2, 3]}, {"new": 1}, {"reply": 1}]
    held = [user("n"), {"role": "assistant", "stop": "stop"}]
    _, history = histories(base, continuation(2, 1, held, keep=1, then=then))
    assert history[:3] == [user("a"), user("c"), user("n")]
    assert list(history[3]) == ["role", "content", "origin", "stop"]


def test_without_pieces_all_held_messages_follow():
    _, history = histories(completion(1, [user("a")]), continuation(2, 1, [user("b")], keep=1))
    assert history == [user("a"), user("b")]


def test_results_come_back_into_their_parts():
    part = {"type": "toolresult", "call": {"provider": "c"}, "name": "t", "is_error": False}
    own = {**part, "content": [{"type": "text", "text": "kept"}]}
    held = [{"role": "user", "content": [part, own]}]
    line = continuation(3, 1, held, keep=0, then=[{"results": [2]}])
    found = histories(completion(1, []), tool(2, "42"), line)[2][0]["content"]
    assert [one["content"][0]["text"] for one in found] == ["42", "kept"]
    assert list(found[0]) == ["type", "call", "name", "content", "is_error"]


def test_same_tools_are_those_of_the_base():
    base = completion(1, [], tools=[{"name": "add"}])
    log = EffectLog.loads(lines(base, continuation(2, 1, [], keep=0)))
    assert log.records[1].request["tools"] == [{"name": "add"}]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (continuation(9, 7, [], keep=0), "effect:7 is no completion"),
        (continuation(9, 1, [], keep=5), "no messages 0..5"),
        (continuation(9, 1, [], keep=0, then=[{"new": 1}]), "too few"),
        (continuation(9, 1, [user("x")], keep=0, then=[]), "left over"),
        (continuation(9, 1, [], keep=0, then=[{"odd": 1}]), "unknown piece"),
        (continuation(9, 1, [], keep=0, extra=1), "unknown field `extra`"),
        (continuation(9, 1, [user("x")], keep=0, then=[{"results": [7]}]), "more results"),
        ({"colour": "red"}, "not an effect log"),
        ([1], "must be an object"),
        ({"header": 3}, "must be an object"),
    ],
)
def test_a_line_that_cannot_be_taken_names_itself(line, message):
    with pytest.raises(DecodeError, match=message) as caught:
        EffectLog.loads(lines({"header": HEADER}, completion(1, []), line))
    assert caught.value.line == 3


def test_a_base_may_be_one_of_the_last_four_of_its_chain():
    chain = [completion(number, [user(str(number))]) for number in range(1, 6)]
    other = completion(6, [user("other")], key="n")
    assert histories(*chain, other, continuation(7, 2, [], keep=1))[-1] == [user("2")]
    with pytest.raises(DecodeError, match="effect:1 is no completion"):
        histories(*chain, other, continuation(7, 1, [], keep=1))


def test_a_result_may_be_one_of_the_last_64():
    part = {"role": "user", "content": [{"type": "toolresult"}]}
    calls = [tool(number, str(number)) for number in range(2, 67)]
    line = continuation(99, 1, [part], keep=0, then=[{"results": [3]}])
    assert histories(completion(1, []), *calls, line)
    line["then"] = [{"results": [2]}]
    with pytest.raises(DecodeError, match="effect:2 is no tool call"):
        histories(completion(1, []), *calls, line)


def test_header_lines_add_up():
    first = {
        **HEADER,
        "handlers": [{"key": "a", "v": 1}],
        "signature": {"a": "tool"},
        "hooks": ["H"],
    }
    second = {
        **HEADER,
        "handlers": [{"key": "b"}, {"key": "a", "v": 2}],
        "signature": {"a": "embed", "b": "tool"},
        "run_spec": 7,
        "deliveries": [1],
        "delivery_limitations": ["x"],
        "programs": {"p": 1},
    }
    third = {**HEADER, "deliveries": [2], "delivery_limitations": ["x", "y"], "programs": {"p": 2}}
    header = EffectLog.loads(lines(*({"header": h} for h in (first, second, third)))).header
    assert header == {
        "handlers": [{"key": "a", "v": 2}, {"key": "b"}],
        "signature": {"a": "tool", "b": "tool"},
        "hooks": ["H"],
        "required": {},
        "run_spec": 7,
        "deliveries": [1, 2],
        "delivery_limitations": ["x", "y"],
        "programs": {"p": 2},
    }


def test_a_damaged_line_is_named(twins):
    with pytest.raises(DecodeError) as caught:
        EffectLog.loads(twins[1][:-40])
    assert caught.value.line == 6
