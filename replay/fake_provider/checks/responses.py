"""What the Responses API refuses, in its words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from replay.fake_provider.checks.chat import check_numbers, check_schema
from replay.fake_provider.refusal import refuse

_KNOWN = (
    "model input background context_management conversation include instructions"
    " max_output_tokens max_tool_calls metadata moderation parallel_tool_calls"
    " previous_response_id prompt prompt_cache_key prompt_cache_options prompt_cache_retention"
    " reasoning safety_identifier service_tier store stream stream_options temperature text"
    " tool_choice tools top_logprobs top_p truncation user"
)
KNOWN = frozenset(_KNOWN.split())
_MOVED = {
    "messages": "input",
    "max_tokens": "max_output_tokens",
    "max_completion_tokens": "max_output_tokens",
    "response_format": "text.format",
    "reasoning_effort": "reasoning.effort",
    "verbosity": "text.verbosity",
}
_ROLES = ("user", "assistant", "system", "developer")
_INPUT_PARTS = ("input_text", "input_image", "input_file")
_OUTPUT_PARTS = ("output_text", "refusal")
_ITEMS = (
    *("message", "reasoning", "function_call", "function_call_output", "item_reference"),
    *("custom_tool_call", "custom_tool_call_output", "compaction"),
)


def check_responses(body: Mapping[str, Any]) -> None:
    """Raises ``Refused`` where the real API answers 400."""
    _check_top(body)
    items = body.get("input")
    if items is None or items == []:
        raise refuse(
            "Missing required parameter: 'input'.", param="input", code="missing_required_parameter"
        )
    if not isinstance(items, str):
        for index, item in enumerate(items):
            _check_item(item, index)
        _check_pairs(items)
    _check_tools(body)


def _check_top(body: Mapping[str, Any]) -> None:
    if not body.get("model"):
        raise refuse("Missing required parameter: 'model'.", param="model")
    for key in body:
        if key in _MOVED:
            raise refuse(
                f"Unsupported parameter: '{key}'. In the Responses API, this parameter has moved "
                f"to '{_MOVED[key]}'. Try again with the new parameter.",
                param=key,
                code="unsupported_parameter",
            )
        if key not in KNOWN:
            raise refuse(f"Unknown parameter: '{key}'.", param=key, code="unknown_parameter")
    check_numbers(body)
    limit = body.get("max_output_tokens")
    if limit is not None and limit < 16:
        raise refuse(
            "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, "
            f"but got {limit} instead.",
            param="max_output_tokens",
            code="integer_below_min_value",
        )


def _check_item(item: object, index: int) -> None:
    where = f"input[{index}]"
    if not isinstance(item, dict):
        raise refuse(f"Invalid type for '{where}': expected an object.", param=where)
    kind = item.get("type", "message" if "role" in item else None)
    if kind not in _ITEMS and not str(kind).endswith("_call"):
        supported = ", ".join(f"'{name}'" for name in _ITEMS)
        raise refuse(
            f"Invalid value: '{kind}'. Supported values are: {supported}.",
            param=where,
            code="invalid_value",
        )
    if kind == "message":
        _check_message(item, where)
    if kind == "function_call" and not all(
        isinstance(item.get(key), str) for key in ("call_id", "name", "arguments")
    ):
        raise refuse(f"Missing required parameter: '{where}.call_id'.", param=where)
    if kind == "function_call_output" and not isinstance(item.get("output"), str | list):
        raise refuse(f"Missing required parameter: '{where}.output'.", param=f"{where}.output")


def _check_message(item: Mapping[str, Any], where: str) -> None:
    role, content = item.get("role"), item.get("content")
    if role not in _ROLES:
        raise refuse(
            f"Invalid value: '{role}'. Supported values are: 'assistant', 'system', 'developer', "
            "and 'user'.",
            param=f"{where}.role",
            code="invalid_value",
        )
    allowed = _OUTPUT_PARTS if role == "assistant" else _INPUT_PARTS
    for number, part in enumerate(content if isinstance(content, list) else []):
        kind = part.get("type") if isinstance(part, dict) else None
        if kind not in allowed:
            supported = " and ".join(f"'{name}'" for name in allowed)
            raise refuse(
                f"Invalid value: '{kind}'. Supported values are: {supported}.",
                param=f"{where}.content[{number}]",
                code="invalid_value",
            )


def _check_pairs(items: list[Mapping[str, Any]]) -> None:
    called: list[str] = []
    for item in items:
        if item.get("type") in ("function_call", "custom_tool_call"):
            called.append(item["call_id"])
        elif item.get("type") in ("function_call_output", "custom_tool_call_output"):
            if item.get("call_id") not in called:
                raise refuse(
                    "No tool call found for function call output with call_id "
                    f"{item.get('call_id')}.",
                    param="input",
                )
            called.remove(item["call_id"])
    if called:
        raise refuse(f"No tool output found for function call {called[0]}.", param="input")


def _check_tools(body: Mapping[str, Any]) -> None:
    names = set()
    for index, tool in enumerate(body.get("tools") or []):
        if tool.get("type") == "function":
            check_schema(tool.get("name"), tool.get("parameters"), f"tools[{index}]")
            names.add(tool["name"])
    choice = body.get("tool_choice")
    if isinstance(choice, dict) and choice.get("type") == "function":
        if choice.get("name") not in names:
            raise refuse(
                "Tool choice 'function' not found in 'tools' parameter.", param="tool_choice"
            )
    elif choice == "required" and not body.get("tools"):
        raise refuse("Tool choices other than 'none' need tools.", param="tool_choice")
