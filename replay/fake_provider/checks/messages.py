"""What Anthropic's Messages API refuses, in its words.

Consecutive turns of one role count as one turn, as the real API combines them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from replay.fake_provider.refusal import refuse

_KNOWN = (
    "model messages max_tokens cache_control container context_management inference_geo"
    " mcp_servers metadata output_config output_format service_tier speed stop_sequences stream"
    " system temperature thinking tool_choice tools top_k top_p"
)
KNOWN = frozenset(_KNOWN.split())
_ID = re.compile(r"^[a-zA-Z0-9_-]+$")
_IMAGES = ("image/jpeg", "image/png", "image/gif", "image/webp")
_USER = ("text", "image", "document", "tool_result", "search_result", "container_upload")
_ASSISTANT = ("text", "tool_use", "thinking", "redacted_thinking", "server_tool_use")

Block = Mapping[str, Any]


def check_messages(body: Mapping[str, Any]) -> None:
    """Raises ``Refused`` where the real API answers 400."""
    for key in ("model", "messages", "max_tokens"):
        if body.get(key) is None:
            raise refuse(f"{key}: Field required")
    for key in body:
        if key not in KNOWN:
            raise refuse(f"{key}: Extra inputs are not permitted")
    _check_numbers(body)
    _check_thinking(body)
    if not isinstance(body["messages"], list) or not body["messages"]:
        raise refuse("messages: at least one message is required")
    for index, message in enumerate(body["messages"]):
        _check_message(message, index, last=index == len(body["messages"]) - 1)
    if body["messages"][0]["role"] != "user":
        raise refuse('messages: first message must use the "user" role')
    _check_system(body.get("system"))
    _check_pairs(list(_combined(body["messages"])))
    _check_tools(body)


def _check_numbers(body: Mapping[str, Any]) -> None:
    if not isinstance(body["max_tokens"], int) or body["max_tokens"] < 1:
        raise refuse("max_tokens: Input should be greater than or equal to 1")
    for name in ("temperature", "top_p"):
        value = body.get(name)
        if value is not None and not 0 <= value <= 1:
            raise refuse(f"{name}: Input should be less than or equal to 1")


def _check_thinking(body: Mapping[str, Any]) -> None:
    thinking = body.get("thinking") or {}
    if thinking.get("type") != "enabled":
        return
    budget = thinking.get("budget_tokens", 0)
    if budget < 1024:
        raise refuse(
            "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024"
        )
    if body["max_tokens"] <= budget:
        raise refuse("`max_tokens` must be greater than `thinking.budget_tokens`.")
    if body.get("temperature") not in (None, 1):
        raise refuse("`temperature` may only be set to 1 when thinking is enabled.")
    if (body.get("tool_choice") or {}).get("type") in ("any", "tool"):
        raise refuse("Thinking may not be enabled when tool_choice forces tool use.")


def _check_system(system: object) -> None:
    for index, block in enumerate(system if isinstance(system, list) else []):
        if block.get("type") != "text" or not block.get("text"):
            raise refuse(f"system.{index}: text content blocks must be non-empty")


def _check_message(message: object, index: int, *, last: bool) -> None:
    if not isinstance(message, dict):
        raise refuse(f"messages.{index}: Input should be an object")
    role = message.get("role")
    if role == "system":
        raise refuse(
            'messages: Unexpected role "system". The Messages API accepts a top-level `system` '
            'parameter, not "system" as an input message role.'
        )
    if role not in ("user", "assistant"):
        raise refuse(f"messages.{index}.role: Input should be 'user' or 'assistant'")
    blocks = blocks_of(message)
    if not blocks and not (last and role == "assistant"):
        raise refuse(
            f"messages.{index}: all messages must have non-empty content except for the optional "
            "final assistant message"
        )
    for number, block in enumerate(blocks):
        _check_block(block, f"messages.{index}.content.{number}", role)


def blocks_of(message: Mapping[str, Any]) -> list[Block]:
    """A message's content as blocks: a plain text is one text block."""
    content = message.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    return content if isinstance(content, list) else []


def _check_block(block: Block, where: str, role: str) -> None:
    kind = block.get("type")
    allowed = _USER if role == "user" else _ASSISTANT
    if kind not in allowed and not str(kind).endswith("_tool_result"):
        raise refuse(f"{where}.type: Input tag '{kind}' found using 'type' does not match any")
    if kind == "text":
        if not block.get("text"):
            raise refuse("messages: text content blocks must be non-empty")
        if not str(block["text"]).strip():
            raise refuse("messages: text content blocks must contain non-whitespace text")
    if kind == "image":
        _check_source(block.get("source") or {}, f"{where}.image.source")
    if kind == "thinking" and not isinstance(block.get("signature"), str):
        raise refuse(f"{where}.thinking.signature: Field required")
    if kind == "tool_use":
        _check_id(block.get("id"), f"{where}.tool_use.id")
        if not isinstance(block.get("input"), dict):
            raise refuse(f"{where}.tool_use.input: Input should be a valid dictionary")
    if kind == "tool_result":
        _check_id(block.get("tool_use_id"), f"{where}.tool_result.tool_use_id")


def _check_id(value: object, where: str) -> None:
    if not isinstance(value, str):
        raise refuse(f"{where}: Field required")
    if not _ID.match(value):
        raise refuse(f"{where}: String should match pattern '{_ID.pattern}'")


def _check_source(source: Mapping[str, Any], where: str) -> None:
    if source.get("type") == "base64" and source.get("media_type") not in _IMAGES:
        raise refuse(f"{where}.base64.media_type: Input should be 'image/jpeg', 'image/png', ...")
    if source.get("type") not in ("base64", "url", "file"):
        raise refuse(f"{where}: Input tag '{source.get('type')}' does not match any")


def _combined(messages: list[Mapping[str, Any]]) -> Iterator[tuple[int, str, list[Block]]]:
    turn: tuple[int, str, list[Block]] | None = None
    for index, message in enumerate(messages):
        if turn and turn[1] == message["role"]:
            turn[2].extend(blocks_of(message))
            continue
        if turn:
            yield turn
        turn = (index, message["role"], list(blocks_of(message)))
    if turn:
        yield turn


def _check_pairs(turns: list[tuple[int, str, list[Block]]]) -> None:
    called: list[str] = []
    for index, _, blocks in [*turns, (len(turns), "user", [])]:
        results = [block for block in blocks if block.get("type") == "tool_result"]
        for number, block in enumerate(results):
            if block["tool_use_id"] not in called:
                raise refuse(
                    f"messages.{index}.content.{number}: unexpected `tool_use_id` found in "
                    f"`tool_result` blocks: {block['tool_use_id']}. Each `tool_result` block must "
                    "have a corresponding `tool_use` block in the previous message."
                )
        missing = [name for name in called if name not in {b["tool_use_id"] for b in results}]
        leading = [block.get("type") == "tool_result" for block in blocks[: len(results)]]
        if missing or (called and not all(leading)):
            raise refuse(
                f"messages.{index - 1}: `tool_use` ids were found without `tool_result` blocks "
                f"immediately after: {', '.join(missing or called)}. Each `tool_use` block must "
                "have a corresponding `tool_result` block in the next message."
            )
        called = [block["id"] for block in blocks if block.get("type") == "tool_use"]


def _check_tools(body: Mapping[str, Any]) -> None:
    tools = body.get("tools") or []
    for index, tool in enumerate(tools):
        if tool.get("type", "custom") != "custom":
            continue
        schema = tool.get("input_schema")
        if not isinstance(schema, dict):
            raise refuse(f"tools.{index}.custom.input_schema: Field required")
        if schema.get("type") != "object":
            raise refuse(f"tools.{index}.custom.input_schema.type: Field required")
    choice = body.get("tool_choice")
    if choice is None:
        return
    if not tools:
        raise refuse("tool_choice: may only be specified while providing tools")
    kind = choice.get("type") if isinstance(choice, dict) else None
    if kind not in ("auto", "any", "tool", "none"):
        raise refuse(f"tool_choice: Input tag '{kind}' does not match any of the expected tags")
    if kind == "tool" and choice.get("name") not in {tool.get("name") for tool in tools}:
        raise refuse(f"Tool '{choice.get('name')}' not found in provided tools")
