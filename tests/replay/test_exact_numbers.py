"""JSON is exact to the digit: other numbers are never the same, one spelled otherwise always."""

from __future__ import annotations

import json
import re
import time
from decimal import Decimal
from typing import Any

import factories
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from replay import recording
from replay.comparison import answers
from replay.comparison.compare import compare, value_difference
from replay.comparison.comparing import compared
from replay.comparison.sides import side_by_side
from replay.dialects.answer import Answer
from replay.dialects.answers import call_of, read_answer
from replay.dialects.loose import parsed, read_value
from replay.ignore_rules.rule import made_of
from replay.models import ReplayEffect
from replay.review.baselines import answer_hash, request_hash
from replay.two_runs import kept
from rewyn_sdk.exact import as_written
from runs.storage import segments

ALIKE = ("same", "equivalent")
DIGITS = st.text("0123456789", min_size=1, max_size=40)


@st.composite
def numbers(draw) -> str:
    """A JSON number of any length and spelling."""
    whole = draw(DIGITS).lstrip("0") or "0"
    fraction = draw(st.just("") | DIGITS.map(".{}".format))
    exponent = draw(st.just("") | st.integers(-500, 500).map("e{}".format))
    return f"{draw(st.sampled_from(['', '-']))}{whole}{fraction}{exponent}"


@st.composite
def pairs(draw) -> tuple[str, str]:
    """Two numbers: any, one that is near the other, or one spelled otherwise."""
    one = draw(numbers())
    mantissa, _, exponent = one.partition("e")
    point = "" if "." in mantissa else "."
    respelled = f"{mantissa}{point}{'0' * draw(st.integers(1, 30))}e{exponent or 0}"
    near = f"{mantissa}{point}{draw(DIGITS)}e{exponent or 0}"
    moved = f"{mantissa}e{int(exponent or 0) + draw(st.integers(-2, 2))}"
    return one, draw(st.sampled_from([respelled, near, moved]) | numbers())


def arguments(text: str) -> Answer:
    return Answer(calls=(call_of("refund", "c1", f'{{"id":{text}}}'),))


def differences(one: str, other: str) -> list[str]:
    """The class in arguments, in an answer in JSON, of values, and of what was packed between."""
    nested = [f'{{"of": [{text}, "x"]}}' for text in (one, other)]
    sides = [arguments(text) for text in (one, other)]
    packed = [answers.unpack(answers.pack(side)) for side in sides]
    return [
        compare(*sides).difference,
        compare(*packed).difference,
        compare(Answer(text=nested[0]), Answer(text=nested[1])).difference,
        value_difference(parsed(one)[1], parsed(other)[1]).difference,
        value_difference(*(parsed(text)[1] for text in nested)).difference,
    ]


@given(pairs())
def test_numbers_are_alike_exactly_when_they_are_equal(pair):
    equal = Decimal(pair[0]) == Decimal(pair[1])
    assert [found in ALIKE for found in differences(*pair)] == [equal] * 5


@st.composite
def told(draw) -> tuple[str, str]:
    """Two numbers as a text has them, without an exponent; the second may be the first with zeros
    behind its point. `1.000` may be a thousand, so that it is left out."""
    one = draw(numbers()).partition("e")[0]
    more = "0" * draw(st.integers(1, 5))
    zeros = one + (more if "." in one else f".{more}")
    other = draw(st.just(zeros) | numbers().map(lambda text: text.partition("e")[0]))
    assume(not any(re.fullmatch(r"-?[1-9]\d{0,2}\.\d{3}", text) for text in (one, other)))
    return one, other


@given(told())
def test_numbers_in_a_text_are_alike_exactly_when_they_are_equal(pair):
    one, other = (Answer(text=f"It is {text} now.") for text in pair)
    equal = Decimal(pair[0]) == Decimal(pair[1])
    assert (compare(one, other).difference in ALIKE) == equal


@given(pairs(), st.sampled_from(["It is {} now.", "It is {}.", "{}", "It is {} EUR, or {} km."]))
def test_other_numbers_in_a_text_are_never_alike(pair, text):
    if Decimal(pair[0]) != Decimal(pair[1]):
        one, other = (Answer(text=text.replace("{}", number)) for number in pair)
        assert compare(one, other).difference == "facts"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("111111111111111111111", "111111111111111111112"),
        ("0.1234567890123456781", "0.1234567890123456782"),
        ("1e400", "2e400"),
        ("1e400", "-1e400"),
        ("1e-400", "0"),
        ("9007199254740993.0", "9007199254740992.0"),
        ("1" * 5000, "1" * 4999 + "2"),
        ("1e999999999", "1e999999998"),
        ("1e-99999999999999999999999", "0"),
        ("1e" + "9" * 5000, "1e" + "9" * 4999 + "8"),
        ("0." + "0" * 5000 + "1", "0." + "0" * 5000 + "2"),
    ],
)
def test_other_numbers_are_told_apart_shown_and_soon(one, other):
    start = time.process_time()
    assert differences(one, other) == ["arguments", "arguments", "facts", "facts", "facts"]
    assert differences(one, one) == ["same"] * 5
    sides = arguments(one), arguments(other)
    for before, after in (sides, (Answer(text=f"[{one}]"), Answer(text=f"[{other}]"))):
        found = compared(compare(before, after), before, after)["changes"]
        assert [str(c["recorded"]) == str(c["replayed"]) for c in found] == [False]
        assert answer_hash(before) != answer_hash(after)
    shown = side_by_side(*sides, "lines")
    assert [block.body for block in shown.recorded] != [block.body for block in shown.replayed]
    assert time.process_time() - start < 2


@pytest.mark.parametrize(
    ("one", "other"),
    [("1", "1.0"), ("1e2", "100"), ("1e400", "10e399"), ("-0", "0"), ("1e-400", "0.1e-399"),
     ("111111111111111111111", "111111111111111111111.0"), ("0e999999999", "0"),
     ("1" + "0" * 5000, "1e5000")],
)  # fmt: skip
def test_one_number_spelled_otherwise_is_equivalent(one, other):
    assert set(differences(one, other)) <= set(ALIKE)
    found = compare(Answer(text=f"[{one}]"), Answer(text=f"[{other}]"))
    assert found.difference == "equivalent" and found.changes


def test_long_texts_are_shown_from_where_they_differ():
    before, after = (Answer(text=f"{'word ' * 300}{word}{' more' * 300}") for word in ("5", "6"))
    (change,) = compared(compare(before, after), before, after)["changes"]
    assert change["recorded"].startswith("…") and change["recorded"].endswith(" characters)")
    assert " 5 more" in change["recorded"] and " 6 more" in change["replayed"]


def test_parallel_calls_match_to_the_digit():
    one, other = (call_of("refund", "c", f'{{"id":1{"0" * 20}{n}}}') for n in (1, 2))
    found = compare(Answer(calls=(one, other)), Answer(calls=(other, one)))
    assert found.difference == "equivalent"


@pytest.mark.parametrize(
    ("schema", "fits", "breaks"),
    [
        ({"const": 0.1}, "0.10", "0.1000000000000000000001"),
        ({"enum": [1]}, "1.0", "1.00000000000000000000001"),
        ({"type": "integer"}, "1e400", "9007199254740993.5"),
        ({"maximum": 1}, "1.0", "1.00000000000000000000001"),
        ({"exclusiveMinimum": 0}, "1e-400", "-1e-400"),
    ],
)
def test_a_schema_is_held_to_the_digit(schema, fits, breaks):
    whole = {"type": "object", "properties": {"v": schema}}
    before, more, after = (
        Answer(text=f'{{"v": {member}}}') for member in (fits, f'{fits}, "w": 1', breaks)
    )
    assert compare(before, more, whole).difference == "facts"
    assert compare(before, after, whole).difference == "structure"


def test_ignore_rules_leave_and_take_numbers_to_the_digit():
    rules = [made_of({"name": "ids", "path": "/text/id"})]
    texts = ['{"id": 1e400, "eur": 2e400}', '{"id": 3e400, "eur": 2e400}',
             '{"id": 3e400, "eur": 4e400}']  # fmt: skip
    one, two, three = (Answer(text=text) for text in texts)
    silenced = compare(one, two, rules=rules)
    assert (silenced.difference, silenced.ignored) == ("equivalent", "facts")
    assert compare(one, three, rules=rules).difference == "facts"


def test_requests_that_differ_in_a_digit_share_no_baseline():
    def asked(number: str) -> str:
        parts = {"type": "tool_call", "id": {"local": "x"}, "arguments": parsed(number)[1]}
        kind = {"effect": "completion", "request": {"chat_history": [parts]}}
        return request_hash({"kind": kind})

    texts = ("1" * 21, "1" * 20 + "2", "1e400", "2e400")
    assert len({asked(text) for text in texts}) == len(texts)


@pytest.mark.parametrize(
    ("model", "stream"),
    [("openai:gpt-4o", False), ("openai:gpt-4o", True), ("anthropic:claude-haiku-4-5", True)],
)
@pytest.mark.parametrize(
    ("one", "other"),
    [("0.1234567890123456781", "0.1234567890123456782"), ("1" * 21, "1" * 20 + "2")],
)
def test_a_replay_tells_them_apart_and_the_api_shows_it(
    project, provider, replay, call, model, stream, one, other
):
    effect = factories.completion(1)
    effect["outcome"]["Ok"]["choice"] = [
        {"type": "tool_call", "id": "c1", "function": {"name": "refund", "arguments": {"id": "N"}}}
    ]
    effect["kind"]["stream"] = stream
    recorded_as(project, "run-1", one, effect)
    provider({"answer": {"tool": {"name": "refund", "arguments": f'{{"id":{other}}}'}}})
    done = replay(models=[model])
    status, told = call("GET", f"replays/{done.public_id}/effects")
    assert (status, done.status) == (200, "succeeded")
    (row,) = told["results"]
    assert (row["class"], row["summary"]) == ("arguments", "refund: other id")
    change = {"path": "/calls/0/arguments/id", "recorded": one, "replayed": other}
    assert row["changes"] == [change]


def test_the_api_gives_samples_whatever_numbers_they_have(store, provider, replay, call):
    store(factories.log(factories.completion(1)))
    written = '{"ids":[1e400,0.1234567890123456781,1.5,NaN]}'
    provider({"answer": {"tool": {"name": "refund", "arguments": written}}})
    done = replay(models=["openai:gpt-4o"], samples=2)
    status, told = call("GET", f"replays/{done.public_id}/effects/1/samples")
    assert status == 200
    (first, _) = told["results"]
    ids = ["1e400", "0.1234567890123456781", 1.5, "NaN"]
    assert first["answer"]["calls"] == [{"name": "refund", "arguments": {"ids": ids}}]


def test_arguments_that_came_as_an_object_keep_their_digits():
    block = b'{"type": "tool_use", "id": "c1", "name": "refund", "input": {"id": [1e400, 1.50]}}'
    answer = read_answer(read_value(b'{"content": [' + block + b"]}"))
    assert answer.calls[0].arguments_text == '{"id":[1e400,1.5]}'


def recorded_as(project, name: str, number: str, *effects: dict) -> Any:
    """A run whose log has the number where the effects say `"N"`."""
    from runs import ingest
    from runs.models import Run

    log = json.dumps(factories.log(*effects)).replace('"N"', number)
    ingest.accept_log(project, log.encode(), run_id=name, agent="demo")
    return Run.objects.select_related("project").get(project=project, external_id=name)


def test_a_log_that_spells_a_number_as_rig_read_it_is_faithful(project, reconstruct):
    """The document's text has the digits of its source, its value those of Rig's float."""
    said, read = "0.1234567890123456781", "0.12345678901234568"
    hit = [0.5, "doc-1", "N"]
    kind = {"effect": "retrieve", "op": "top_n", "request": {"query": "Hi", "samples": 1}}
    found = {"Ok": {"outcome": "retrieval", "retrieved": "documents", "results": [hit]}}
    search = factories.record(1, "agent/retrieve:context#0", kind, found)
    asked = factories.completion(2)
    asked["kind"]["request"]["documents"] = [{"id": "doc-1", "text": said}]
    for name, number in (("as-read", read), ("as-said", said)):
        run = recorded_as(project, name, number, search, asked)
        assert reconstruct(run).faithful
    row = run.effects.order_by("seq").first()
    assert said in (as_written(recording.record(row).value) or "")


def results(value: object) -> dict:
    effect = factories.tool(1)
    effect["outcome"]["Ok"]["result"]["value"] = [{"type": "json", "value": value}]
    return effect


def asks() -> dict:
    effect = factories.completion(1)
    effect["kind"]["request"]["additional_params"] = {"seed": "N"}
    return effect


@pytest.mark.parametrize(
    ("one", "other"),
    [("0.1234567890123456781", "0.1234567890123456782"), ("1" * 21, "1" * 20 + "2")],
)
def test_two_runs_are_held_to_the_digit(project, member_client, one, other):
    for place, effect in enumerate([results({"id": "N"}), results("N")]):
        a, b, same = (
            recorded_as(project, f"{name}{place}", number, effect)
            for name, number in (("a", one), ("b", other), ("c", one))
        )
        assert kept.compared(a, b).counts == {"facts": 1}
        assert kept.compared(a, same).counts == {"same": 1}
        page = member_client.get(f"/p/acme/compare?a={a.external_id}&b={b.external_id}&at=a1")
        shown = re.sub(r"<[^>]+>", "", page.content.decode())
        assert one in shown and other in shown
    runs = [
        recorded_as(project, f"given-{number}", "0", factories.tool(1, args=f'{{"id":{number}}}'))
        for number in (one, other)
    ]
    assert kept.compared(*runs).counts == {"arguments": 1}
    a, b = recorded_as(project, "a", one, asks()), recorded_as(project, "b", other, asks())
    assert [row.asked for row in kept.compared(a, b).rows] == ["additional_params"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"refund": None, "paid": True}, {"paid": True}),
        ({"of": [None]}, {"of": []}),
        ([None, 1], [1]),
        (True, False),
        (None, True),
        (None, 0),
    ],
)
def test_two_runs_tell_a_null_from_nothing(project, one, other):
    """In what a tool gave, in a model's answer in JSON, and in arguments."""
    made = ((results, "facts"), (said, "facts"), (given_to, "arguments"))
    for place, (make, expected) in enumerate(made):
        a = recorded_as(project, f"a{place}", "0", make(one))
        b = recorded_as(project, f"b{place}", "0", make(other))
        assert kept.compared(a, b).counts == {expected: 1}


def said(value: object) -> dict:
    return factories.completion(1, said=json.dumps({"of": value}))


def given_to(value: object) -> dict:
    return factories.tool(1, args=json.dumps({"of": value}))


@pytest.mark.parametrize("api", ["openai.chat", "openai.responses", "anthropic.messages"])
@pytest.mark.parametrize("model", ["openai:gpt-4o", "anthropic:claude-haiku-4-5"])
def test_what_is_sent_has_the_digits_of_the_recording(project, provider, replay, api, model):
    """Arguments that the provider's library words for OpenAI have those of a float; it is told."""
    number = "0.1234567890123456781"
    effect = factories.completion(1, api=api)
    call = {"type": "toolcall", "id": "c1", "function": {"name": "f", "arguments": {"id": "N"}}}
    given = [{"type": "json", "value": {"of": "N"}}]
    result = {"type": "toolresult", "call": "c1", "name": "f", "content": given}
    effect["kind"]["request"]["chat_history"] += [
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [result]},
    ]
    recorded_as(project, "run-1", number, effect)
    provider({"answer": {"text": "ok"}})
    done = replay(models=[model])
    assert done.status == "succeeded"
    row = ReplayEffect.objects.get(replay=done)
    sent = segments.decompress(bytes(row.sent)).decode()
    is_changed = "call_changed" in [note["code"] for note in row.notes]
    assert is_changed == (model.startswith("openai") and not api.startswith("openai.chat"))
    assert sent.count(number) == 2 - is_changed
