"""The two identities Rig writes into a log: the run spec and the fingerprints of parts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rewyn_sdk.canonical import fnv1a, number_text, stable_hash, write
from rewyn_sdk.errors import LogError

_RUN_SPEC: dict[str, Any] = {
    "preamble": None,
    "static_context": [],
    "additional_params": None,
    "max_tokens": None,
    "temperature": None,
    "tool_choice": None,
    "max_turns": 1,
    "max_invalid_tool_call_retries": 0,
    "max_consecutive_malformed_tool_calls": None,
    "output_schema": None,
    "output_mode": "Auto",
    "output_tool_name": None,
    "output_tool_description": None,
    "augment_output_preamble": True,
    "unhandled_invalid_tool_call": "fail",
    "accept_unknown_finish_reasons": False,
}
_OPTIONS: dict[str, Any] = {
    "reasoning": None,
    "cache": None,
    "service_tier": None,
    "verbosity": None,
    "parallel_tool_calls": None,
    "top_p": None,
    "seed": None,
}
_WHEN_SET = ("provider_options", "provider_tools")


def run_spec(config: Mapping[str, Any]) -> int:
    """Rig's hash of an agent's run configuration (§6.3 of the format).

    `config` may leave out any field at its default, and may bring `options`, `provider_options`
    and (0.46) `provider_tools`; LogError for a field that is no part of a run spec.
    """
    return stable_hash(run_spec_fields(config))


def run_spec_fields(config: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that are hashed: all sixteen, and what else is not at its default."""
    unknown = sorted(set(config) - _RUN_SPEC.keys() - {"options", *_WHEN_SET})
    if unknown:
        raise LogError(f"not a field of a run spec: {', '.join(unknown)}")
    fields = {**_RUN_SPEC, **{name: config[name] for name in _RUN_SPEC if name in config}}
    fields["temperature"] = _as_float(fields["temperature"])
    options = _options(config.get("options") or {})
    if options != _OPTIONS:
        fields["options"] = options
    fields.update({name: config[name] for name in _WHEN_SET if config.get(name)})
    return fields


def _options(given: Mapping[str, Any]) -> dict[str, Any]:
    options = {**_OPTIONS, **{name: given[name] for name in _OPTIONS if name in given}}
    options["top_p"] = _as_float(options["top_p"])
    when_set = {name: given[name] for name in ("stop", "on_unsupported") if given.get(name)}
    return {**options, **when_set}


def _as_float(number: Any) -> Any:
    return float(number) if type(number) is int else number


def fingerprint(part: Mapping[str, Any]) -> str:
    """The fingerprint Rig puts beside a part's native item: 16 hex digits (§6.4).

    Takes a text, reasoning, toolcall or image part; LogError for another kind.
    """
    return value_fingerprint(["v1", *_stands_for(part)])


def citation_fingerprint(text: str) -> str:
    """The fingerprint inside `citations`: that of the text they annotate."""
    return value_fingerprint(text)


def value_fingerprint(value: Any) -> str:
    """The hash of any value by the fingerprint's rule, where a whole float is an integer."""
    return f"{fnv1a(write(value, _whole_as_integer).encode('utf-8', 'surrogatepass')):016x}"


def _stands_for(part: Mapping[str, Any]) -> list[Any]:
    match part.get("type"):
        case "text":
            return ["text", part.get("text", "")]
        case "reasoning":
            return ["reasoning", part.get("text", ""), bool(part.get("redacted"))]
        case "toolcall":
            return _call_stands_for(part)
        case "image":
            return ["image", part.get("media_type"), part.get("detail"), part.get("data")]
        case other:
            raise LogError(f"a part of type {other!r} has no fingerprint")


def _call_stands_for(part: Mapping[str, Any]) -> list[Any]:
    call, function = part.get("id"), part.get("function")
    function = function if isinstance(function, Mapping) else {}
    identity = call.get("provider", "~local") if isinstance(call, Mapping) else call
    arguments = function.get("arguments", {})
    return ["call", identity, function.get("name"), arguments, function.get("invalid_arguments")]


def _whole_as_integer(number: float) -> str:
    number = _read_by_rig(number)
    if isinstance(number, float) and number.is_integer() and -(2.0**63) <= number < 2.0**64:
        return str(int(number)) if number or str(number) == "0.0" else "-0.0"
    return number_text(number)


def _read_by_rig(number: float) -> float:
    if isinstance(number, int) and not -(2**63) <= number < 2**64:
        try:
            return float(number)
        except OverflowError:
            return number
    return number
