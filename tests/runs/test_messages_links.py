from runs.messages.links import ToolEffect, answered_in
from runs.messages.parts import Call


def call(name: str, arguments: object) -> Call:
    return Call("", name, arguments, "")


def test_calls_of_one_tool_are_told_apart_by_arguments() -> None:
    calls = [call("roll", {"sides": 6}), call("roll", {"sides": 20})]
    effects = [ToolEffect(4, "roll", {"sides": 20}), ToolEffect(5, "roll", {"sides": 6})]
    assert answered_in(calls, effects) == {0: 5, 1: 4}


def test_equal_calls_take_equal_effects_in_order() -> None:
    calls = [call("roll", {}), call("roll", {})]
    effects = [ToolEffect(4, "roll", {}), ToolEffect(5, "roll", {})]
    assert answered_in(calls, effects) == {0: 4, 1: 5}


def test_a_denied_call_has_no_effect_and_no_link() -> None:
    calls = [call("close", {"id": 1}), call("balance", {"id": 2})]
    assert answered_in(calls, [ToolEffect(3, "balance", {"id": 2})]) == {1: 3}


def test_a_sole_pair_belongs_together_though_a_hook_changed_the_arguments() -> None:
    assert answered_in([call("pay", {"a": 1})], [ToolEffect(3, "pay", {"a": 2})]) == {0: 3}


def test_two_that_fit_neither_way_are_not_guessed() -> None:
    calls = [call("pay", {"a": 1}), call("pay", {"a": 2})]
    effects = [ToolEffect(3, "pay", {"a": 3}), ToolEffect(4, "pay", {"a": 4})]
    assert answered_in(calls, effects) == {}
