"""What Chat Completions refuses, in its words: shapes, roles, and calls without their results."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from replay.fake_provider.refusal import refuse

ROLES = ("system", "assistant", "user", "function", "tool", "developer")
USER_PARTS = ("text", "image_url", "input_audio", "file")
TEXT_PARTS = ("text", "refusal")
_KNOWN = (
    "model messages audio frequency_penalty function_call functions logit_bias logprobs"
    " max_completion_tokens max_tokens metadata modalities moderation n parallel_tool_calls"
    " prediction presence_penalty prompt_cache_key prompt_cache_options prompt_cache_retention"
    " reasoning_effort response_format safety_identifier seed service_tier stop store stream"
    " stream_options temperature tool_choice tools top_logprobs top_p user verbosity"
    " web_search_options"
)
KNOWN = frozenset(_KNOWN.split())
_REASONING = re.compile(r"^(o\d|gpt-[5-9])")


def check_chat(body: Mapping[str, Any]) -> None:
    """Raises ``Refused`` where the real API answers 400."""
    _check_top(body)
    messages = body.get("messages")
    if messages is None:
        raise refuse(
            "Missing required parameter: 'messages'.",
            param="messages",
            code="missing_required_parameter",
        )
    if not isinstance(messages, list) or not messages:
        raise refuse(
            "Invalid 'messages': empty array. Expected an array with minimum length 1, "
            "but got an empty array instead.",
            param="messages",
            code="empty_array",
        )
    for index, message in enumerate(messages):
        _check_message(message, index)
    _check_pairs(messages)
    _check_tools(body)


def check_numbers(body: Mapping[str, Any]) -> None:
    """Ranges both OpenAI APIs hold: temperature and top_p."""
    for name, top in (("temperature", 2), ("top_p", 1)):
        value = body.get(name)
        if value is None:
            continue
        if not isinstance(value, int | float) or isinstance(value, bool):
            raise refuse(f"Invalid type for '{name}': expected a decimal.", param=name)
        if not 0 <= value <= top:
            bound = f"Expected a value <= {top}, but got {value} instead."
            raise refuse(f"Invalid '{name}': decimal above maximum value. {bound}", param=name)


def _check_top(body: Mapping[str, Any]) -> None:
    if not body.get("model"):
        raise refuse("you must provide a model parameter")
    for key in body:
        if key not in KNOWN:
            raise refuse(f"Unrecognized request argument supplied: {key}")
    check_numbers(body)
    if "max_tokens" in body and _REASONING.match(str(body["model"])):
        raise refuse(
            "Unsupported parameter: 'max_tokens' is not supported with this model. "
            "Use 'max_completion_tokens' instead.",
            param="max_tokens",
            code="unsupported_parameter",
        )


def _check_message(message: object, index: int) -> None:
    where = f"messages[{index}]"
    if not isinstance(message, dict):
        raise refuse(f"Invalid type for '{where}': expected an object.", param=where)
    role = message.get("role")
    if role not in ROLES:
        supported = ", ".join(f"'{name}'" for name in ROLES[:-1]) + f", and '{ROLES[-1]}'"
        raise refuse(
            f"Invalid value: '{role}'. Supported values are: {supported}.",
            param=f"{where}.role",
            code="invalid_value",
        )
    if message.get("content") is None:
        if role != "assistant" or not (message.get("tool_calls") or message.get("refusal")):
            raise refuse("Invalid value for 'content': expected a string, got null.", param=where)
        return
    allowed = USER_PARTS if role == "user" else TEXT_PARTS
    _check_content(message["content"], f"{where}.content", allowed)


def _check_content(content: object, where: str, allowed: tuple[str, ...]) -> None:
    if isinstance(content, str):
        return
    if not isinstance(content, list) or not content:
        raise refuse(f"Invalid value for '{where}': expected a string or an array.", param=where)
    for index, part in enumerate(content):
        kind = part.get("type") if isinstance(part, dict) else None
        if kind not in allowed:
            supported = ", ".join(f"'{name}'" for name in allowed)
            raise refuse(
                f"Invalid value: '{kind}'. Supported values are: {supported}.",
                param=f"{where}[{index}].type",
                code="invalid_value",
            )
        if kind == "text" and not isinstance(part.get("text"), str):
            raise refuse(f"Missing required parameter: '{where}[{index}].text'.", param=where)


def _check_pairs(messages: list[Mapping[str, Any]]) -> None:
    open_ids: set[str] = set()
    for index, message in enumerate(messages):
        if message["role"] == "tool":
            if not open_ids or message.get("tool_call_id") not in open_ids:
                raise refuse(
                    "Invalid parameter: messages with role 'tool' must be a response to a "
                    "preceeding message with 'tool_calls'.",
                    param=f"messages.[{index}].role",
                )
            open_ids.discard(message["tool_call_id"])
            continue
        _check_answered(open_ids, index)
        open_ids = _call_ids(message, index)
    _check_answered(open_ids, len(messages))


def _check_answered(open_ids: set[str], index: int) -> None:
    if open_ids:
        raise refuse(
            "An assistant message with 'tool_calls' must be followed by tool messages responding "
            "to each 'tool_call_id'. The following tool_call_ids did not have response messages: "
            + ", ".join(sorted(open_ids)),
            param=f"messages.[{index - 1}].role",
        )


def _call_ids(message: Mapping[str, Any], index: int) -> set[str]:
    ids: list[str] = []
    for number, call in enumerate(message.get("tool_calls") or []):
        where = f"messages[{index}].tool_calls[{number}]"
        function = call.get("function") or {}
        if not call.get("id") or call.get("type") not in ("function", "custom"):
            raise refuse(f"Missing required parameter: '{where}.id'.", param=f"{where}.id")
        if call["type"] == "function" and not (
            isinstance(function.get("name"), str) and isinstance(function.get("arguments"), str)
        ):
            raise refuse(
                f"Invalid type for '{where}.function.arguments': expected a string.",
                param=f"{where}.function.arguments",
                code="invalid_type",
            )
        ids.append(call["id"])
    if len(set(ids)) != len(ids):
        raise refuse(f"Duplicate value for 'tool_call_id' in message {index}.")
    return set(ids)


def _check_tools(body: Mapping[str, Any]) -> None:
    tools = body.get("tools")
    if tools is None:
        if body.get("tool_choice") is not None:
            raise refuse(
                "Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' "
                "are specified.",
                param="tool_choice",
            )
        return
    if not tools:
        raise refuse("Invalid 'tools': empty array.", param="tools", code="empty_array")
    for index, tool in enumerate(tools):
        function = tool.get("function") if isinstance(tool, dict) else None
        if tool.get("type") != "function" or not isinstance(function, dict):
            raise refuse(
                f"Missing required parameter: 'tools[{index}].function'.",
                param=f"tools[{index}].function",
                code="missing_required_parameter",
            )
        check_schema(function.get("name"), function.get("parameters"), f"tools[{index}].function")
    _check_choice(body.get("tool_choice"), {tool["function"]["name"] for tool in tools})


def check_schema(name: object, schema: object, where: str) -> None:
    """A function needs a name, and its parameters, if given, the schema of an object."""
    if not isinstance(name, str) or not name:
        raise refuse(f"Missing required parameter: '{where}.name'.", param=f"{where}.name")
    if schema is None:
        return
    kind = schema.get("type") if isinstance(schema, dict) else None
    if kind != "object":
        raise refuse(
            f"Invalid schema for function '{name}': schema must be a JSON Schema of "
            f"'type: \"object\"', got 'type: \"{kind}\"'.",
            param=f"{where}.parameters",
            code="invalid_function_parameters",
        )


def _check_choice(choice: object, names: set[str]) -> None:
    if choice is None or choice in ("auto", "none", "required"):
        return
    if not isinstance(choice, dict) or choice.get("type") not in ("function", "allowed_tools"):
        raise refuse(f"Invalid value for 'tool_choice': {choice!r}.", param="tool_choice")
    function = choice.get("function")
    if choice["type"] == "function" and (function or {}).get("name") not in names:
        raise refuse(
            f"Invalid value for 'tool_choice': no function named {function!r}.",
            param="tool_choice",
        )
