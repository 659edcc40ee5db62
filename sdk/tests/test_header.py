import json

import pytest

from rewyn_sdk import EffectLog, HeaderError, check_header

FAMILY = {"family": "completion", "model": "m", "capabilities": {}}
HANDLER = {"key": "m", "family": FAMILY}


def refuse(*records, **header):
    log = EffectLog.loads(json.dumps({"header": header, "records": list(records)}))
    with pytest.raises(HeaderError) as caught:
        check_header(log)
    return caught.value.kind, str(caught.value)


def check(*records, **header):
    return check_header(EffectLog.loads(json.dumps({"header": header, "records": list(records)})))


def stream(number, items):
    kind = {"effect": "completion", "stream": True}
    return {"id": number, "key": "m", "kind": kind, "events": [{}] * items}


def errors(*places):
    return {"stream_errors": {"1": [{"item": place, "error": {}} for place in places]}}


def message(log):
    try:
        check_header(log)
    except HeaderError as error:
        return str(error)
    return None


def test_the_message_is_rigs(decoded, mutated):
    """Rows of later stages pass the header check without a word."""
    here = decoded["stage"] == "check_header"
    says = decoded["rig_says"]["message"] if here else None
    assert message(EffectLog.loads(json.dumps(mutated(decoded)))) == says


@pytest.mark.parametrize("places", [(0,), (2,), (3,), (0, 3), (0, 1, 4)])
def test_errors_may_stand_anywhere_among_all_items(places):
    check(stream(1, 3), **errors(*places))


@pytest.mark.parametrize("places", [(4,), (1, 1), (2, 1), (-1,), ("x",), (True,)])
def test_errors_must_rise_and_fit(places):
    assert refuse(stream(1, 3), **errors(*places)) == (
        "divergence",
        "invalid stream error positions for effect:1",
    )


def test_errors_before_anything_came():
    check(stream(1, 0), **errors(0))


@pytest.mark.parametrize("place", ["signature", "required"])
def test_one_key_has_one_family(place):
    kind, says = refuse(handlers=[HANDLER], **{place: {"m": "tool"}})
    assert kind == "internal"
    assert says == "replay refused: conflicting families for `m`: tool_call and completion"


def test_the_families_of_programs_count():
    programs = {"p": {"required": {"m": "memory"}, "policy": 1}}
    assert refuse(handlers=[HANDLER], programs=programs)[0] == "internal"


def test_the_same_descriptor_twice_is_one():
    check(handlers=[HANDLER, dict(reversed(HANDLER.items()))])


def test_two_descriptors_of_a_key_conflict():
    other = {"key": "m", "family": {**FAMILY, "model": "n"}}
    assert refuse(handlers=[HANDLER, other]) == (
        "internal",
        "replay refused: conflicting descriptors for `m`",
    )


def test_programs_need_descriptors():
    kind, says = refuse(programs={"p": {"required": {"m": "completion"}, "policy": 1}})
    assert kind == "handler_unavailable"
    assert "scope `p` requires `m`" in says


def test_a_header_of_odd_values_is_no_crash():
    check(signature=[], required=3, handlers="x", programs=[1], stream_errors="y")
