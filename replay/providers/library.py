"""A prompt as the messages, settings and tools of ``pydantic_ai``.

It imports that library, which costs a second and 100 MB with its clients: only the worker's send
reaches this module, and only in the cross lane.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic_ai import BinaryContent, DocumentUrl, ImageUrl
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    ModelResponsePart,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserContent,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.output import OutputObjectDefinition
from pydantic_ai.tools import ToolDefinition

from replay.dialects import CHAT, MESSAGES, RESPONSES, Prompt, media
from replay.dialects.carry import CallIds, Notes, ids_for, left_out, object_schema
from replay.dialects.prompt import Call, Media, Part, Reasoning, Result, Text, Turn
from replay.dialects.settle import settled
from replay.dialects.write.messages import BEFORE

_PROVIDERS = {CHAT: "openai", RESPONSES: "openai", MESSAGES: "anthropic"}
_IMAGES = ("image/jpeg", "image/png", "image/gif", "image/webp")
_SOUNDS = ("audio/wav", "audio/mpeg")


def messages_of(prompt: Prompt, api: str) -> list[ModelMessage]:
    """The conversation, mended as every API wants it. What it can't hold shows on the wire."""
    notes: Notes = []
    ids = ids_for(api, notes)
    messages: list[ModelMessage] = []
    for turn in settled(prompt).turns:
        if turn.role == "assistant":
            said = list(_said(turn, ids))
            if said:
                messages.append(ModelResponse(parts=said))
            continue
        asked = list(_asked(turn, api, ids, notes))
        last = messages[-1] if messages else None
        if isinstance(last, ModelRequest):
            messages[-1] = ModelRequest(parts=[*last.parts, *asked])
        elif asked:
            messages.append(ModelRequest(parts=asked))
    return _begun(messages)


def settings_of(prompt: Prompt, api: str, timeout: float) -> dict[str, Any]:
    """The settings that were recorded, under the library's names. Of retries the client knows."""
    options = prompt.options
    settings = {
        "temperature": prompt.temperature,
        "max_tokens": prompt.max_tokens,
        "top_p": options.top_p,
        "seed": options.seed,
        "stop_sequences": list(options.stop) or None,
        "service_tier": options.service_tier,
        "parallel_tool_calls": options.parallel_tool_calls if prompt.tools else None,
        "tool_choice": _choice(prompt),
        "openai_text_verbosity": options.verbosity if api != MESSAGES else None,
        "extra_body": _any_json(prompt, api),
        "anthropic_cache": {"short": True, "long": "1h"}.get(options.cache or ""),
        **_thinking(options.reasoning, api),
    }
    given = {name: value for name, value in settings.items() if value is not None}
    return {**given, "timeout": timeout}


def parameters_of(prompt: Prompt, api: str) -> ModelRequestParameters:
    """The tools offered and the shape of the answer."""
    notes: Notes = []
    tools = [
        ToolDefinition(
            name=tool.name,
            description=tool.description,
            parameters_json_schema=object_schema(tool.schema, tool.path, notes),
            # Left open, the library would tighten the schema where it can.
            strict=bool(tool.strict),
        )
        for tool in prompt.tools
    ]
    if prompt.schema is None:
        return ModelRequestParameters(function_tools=tools)
    shape = prompt.schema
    # Anthropic knows strict shapes only, and the library says so by an error.
    strict = shape.strict or api == MESSAGES
    wanted = OutputObjectDefinition(json_schema=dict(shape.schema), name=shape.name, strict=strict)
    return ModelRequestParameters(function_tools=tools, output_mode="native", output_object=wanted)


def _choice(prompt: Prompt) -> str | list[str] | None:
    choice = prompt.tool_choice if prompt.tools else None
    return choice if isinstance(choice, str | None) else list(choice)


def _any_json(prompt: Prompt, api: str) -> dict[str, Any] | None:
    """JSON of any shape, which the library asks for with words of its own only."""
    if not prompt.json_only or api == MESSAGES:
        return None
    form = {"type": "json_object"}
    if api == CHAT:
        return {"response_format": form}
    verbosity = prompt.options.verbosity
    return {"text": {"format": form, **({"verbosity": verbosity} if verbosity else {})}}


def _thinking(reasoning: str | Mapping[str, Any] | None, api: str) -> dict[str, Any]:
    if reasoning == "off":
        return {"thinking": False}
    if not isinstance(reasoning, Mapping):
        return {}
    budget = (reasoning.get("budget") or {}).get("tokens")
    if budget is not None and api == MESSAGES:
        return {"anthropic_thinking": {"type": "enabled", "budget_tokens": budget}}
    return {"thinking": reasoning.get("effort")}


def _begun(messages: list[ModelMessage]) -> list[ModelMessage]:
    """A user's turn in front, where a trimmed history begins with the model's."""
    first = messages[0] if messages else None
    lead = list(first.parts) if isinstance(first, ModelRequest) else []
    if first is None or not all(isinstance(part, SystemPromptPart) for part in lead):
        return messages
    begun = ModelRequest(parts=[*lead, UserPromptPart(content=BEFORE)])
    return [begun, *(messages[1:] if lead else messages)]


def _asked(turn: Turn, api: str, ids: CallIds, notes: Notes) -> Iterator[ModelRequestPart]:
    if turn.role == "system":
        if turn.text().strip():
            yield SystemPromptPart(content=turn.text())
        return
    content: list[UserContent] = []
    for part in turn.parts:
        if isinstance(part, Result):
            yield _returned(part, api, ids, notes)
        else:
            content += _content(part, api, notes)
    if content:
        only = content[0] if len(content) == 1 and isinstance(content[0], str) else content
        yield UserPromptPart(content=only)


def _content(part: Part, api: str, notes: Notes) -> list[UserContent]:
    if isinstance(part, Text):
        return [part.text] if part.text.strip() else []
    return [_medium(part, api, notes)] if isinstance(part, Media) else []


def _medium(part: Media, api: str, notes: Notes) -> UserContent:
    """A medium the library passes on; one that it would fetch itself stays out, as a text."""
    if part.source == "text":
        return part.value
    if part.source == "url" and part.kind == "image":
        detail = {"detail": part.detail} if part.detail and api != MESSAGES else None
        mime = part.mime or "image/jpeg"
        return ImageUrl(url=part.value, media_type=mime, vendor_metadata=detail)
    pdf = part.kind == "document" and part.mime in (None, media.PDF)
    if part.source == "url" and pdf and api != CHAT:
        return DocumentUrl(url=part.value, media_type=media.PDF)
    data = media.decoded(part.value) if part.source == "base64" else None
    if data is not None and _fits(part, api):
        detail = {"detail": part.detail} if part.detail and api != MESSAGES else None
        return BinaryContent(data=data, media_type=part.mime or "", vendor_metadata=detail)
    written = media.as_text(part.value) if part.kind == "document" and data is not None else None
    return left_out(part, api, notes) if written is None else written


def _fits(part: Media, api: str) -> bool:
    if part.kind == "image":
        return part.mime in _IMAGES
    if part.kind == "audio":
        return api == CHAT and part.mime in _SOUNDS
    return part.kind == "document" and part.mime == media.PDF


def _returned(result: Result, api: str, ids: CallIds, notes: Notes) -> ToolReturnPart:
    parts = [item for part in result.parts for item in _content(part, api, notes)]
    texts = [item for item in parts if isinstance(item, str)]
    content: Any = "\n".join(texts) if len(texts) == len(parts) else parts
    return ToolReturnPart(
        tool_name=result.name or "tool",
        content=content,
        tool_call_id=ids.spell(result.call_id, result.path),
        outcome="failed" if result.is_error else "success",
    )


def _said(turn: Turn, ids: CallIds) -> Iterator[ModelResponsePart]:
    for part in turn.parts:
        if isinstance(part, Text) and part.text.strip():
            yield TextPart(content=part.text)
        elif isinstance(part, Call):
            called = ids.spell(part.id, part.path)
            yield ToolCallPart(tool_name=part.name, args=dict(part.arguments), tool_call_id=called)
        elif isinstance(part, Reasoning):
            yield from _thought(part)


def _thought(part: Reasoning) -> Iterator[ThinkingPart]:
    native = part.native
    signature = native.item.get("signature") if native else None
    if isinstance(signature, str) and native:
        # The library sends a signature back only to the provider it is named with.
        origin = _PROVIDERS.get(native.api, "other")
        yield ThinkingPart(content=part.text, signature=signature, provider_name=origin)
    elif part.text.strip():
        yield ThinkingPart(content=part.text)
