"""Messages, their parts, and completion requests, as Rig 0.44 decodes and writes them (§2.2)."""

from __future__ import annotations

import re
from typing import Any

from rewyn_sdk.encode import rig_json
from rewyn_sdk.errors import DecodeError
from rewyn_sdk.jsontext import parse
from rewyn_sdk.schema import (
    Type,
    adjacent,
    anything,
    array,
    boolean,
    double,
    external,
    identifier,
    mapping,
    nulled,
    optional,
    provider_call_id,
    required,
    some_text,
    struct,
    tagged,
    text,
    unsigned,
    uuid,
    words,
    wrong,
)

U64, U32, U16, U8 = unsigned(64), unsigned(32), unsigned(16), unsigned(8)
_HEX = re.compile(r"[0-9a-fA-F]{16}")


def _native(value: Any) -> dict[str, Any] | None:
    """Rig drops a native item whose fingerprint is no string of 16 hex digits."""
    if not isinstance(value, dict) or "item" not in value:
        return None
    mark = value.get("fingerprint")
    if not isinstance(mark, str) or not _HEX.fullmatch(mark):
        return None
    return {"item": value["item"], "fingerprint": mark.lower()}


def _arguments(value: dict[str, Any]) -> tuple[dict[str, Any], str | None]:
    """The arguments as an object, and their text if they were none."""
    given = value.get("arguments")
    if given is None or isinstance(given, dict):
        return given or {}, None
    if not isinstance(given, str):
        return {}, rig_json(given)
    try:
        read = parse(given, strict=True) if given.strip() else {}
    except DecodeError:
        return {}, given
    return (read, None) if isinstance(read, dict) else ({}, None if read is None else given)


def _function(value: Any) -> dict[str, Any]:
    function: dict[str, Any] = _FUNCTION(value)
    function["arguments"], invalid = _arguments(value)
    if "invalid_arguments" not in function and invalid is not None:
        function["invalid_arguments"] = invalid
    return function


def _schema(value: Any) -> Any:
    if isinstance(value, (dict, bool)):
        return value
    raise wrong(value, "a JSON Schema")


IMAGE_TYPE = words("jpeg", "png", "gif", "webp", "heic", "heif", "svg")
DOCUMENT_TYPE = words(
    *("pdf", "txt", "rtf", "html", "css", "markdown", "csv", "xml", "javascript", "python")
)
AUDIO_TYPE = words("wav", "mp3", "aiff", "aac", "ogg", "flac", "m4a", "pcm16", "pcm24")
VIDEO_TYPE = words("avi", "mp4", "mpeg", "mov", "webm")

CALL_ID = external({"provider": provider_call_id, "local": uuid})
ORIGIN = struct(
    {
        "api": required(text),
        "provider": required(text),
        "model": required(text),
        "response_model": optional(identifier),
        "response_id": optional(identifier),
        "context": optional(text),
    }
)
SOURCE = adjacent(
    "type",
    "value",
    {
        "url": text,
        "base64": text,
        "fileId": text,
        "raw": array(U8),
        "string": text,
        "unknown": None,
    },
)
TEXT_PART = struct(
    {"text": required(text), "citations": optional(anything), "native": optional(_native)}
)
IMAGE_PART = struct(
    {
        "data": required(SOURCE),
        "media_type": optional(IMAGE_TYPE),
        "detail": optional(words("low", "high", "auto")),
        "native": optional(_native),
    }
)


def _media(types: Type, *, with_params: bool) -> Type:
    params = {"additional_params": optional(anything)} if with_params else {}
    return struct({"data": required(SOURCE), "media_type": optional(types), **params})


RESULT_PART = tagged(
    "type",
    {"text": TEXT_PART, "json": struct({"value": required(anything)}), "image": IMAGE_PART},
)
USER_PART = tagged(
    "type",
    {
        "text": TEXT_PART,
        "toolresult": struct(
            {
                "call": required(CALL_ID),
                "name": required(some_text),
                "content": required(array(RESULT_PART)),
                "is_error": optional(boolean, False),
            }
        ),
        "image": IMAGE_PART,
        "audio": _media(AUDIO_TYPE, with_params=False),
        "video": _media(VIDEO_TYPE, with_params=True),
        "document": _media(DOCUMENT_TYPE, with_params=True),
    },
)
_FUNCTION = struct(
    {
        "name": required(some_text),
        "arguments": nulled(anything),
        "invalid_arguments": optional(text),
    }
)
ASSISTANT_PART = tagged(
    "type",
    {
        "text": TEXT_PART,
        "reasoning": struct(
            {
                "text": required(text),
                "redacted": optional(boolean, False),
                "native": optional(_native),
            }
        ),
        "toolcall": struct(
            {
                "id": required(CALL_ID),
                "function": required(_function),
                "native": optional(_native),
            }
        ),
        "image": IMAGE_PART,
        "opaque": struct({"item": required(anything), "replay": required(boolean)}),
    },
)
STOP = external({"stop": None, "length": None, "tool_use": None, "error": text, "aborted": text})
MESSAGE = tagged(
    "role",
    {
        "system": struct({"content": required(text)}),
        "user": struct({"content": required(array(USER_PART))}),
        "assistant": struct(
            {
                "content": required(array(ASSISTANT_PART)),
                "origin": optional(ORIGIN),
                "stop": optional(STOP),
            }
        ),
    },
)

TOOL_DEFINITION = struct(
    {"name": required(text), "description": required(text), "parameters": required(anything)}
)
DOCUMENT = struct({"id": required(text), "text": required(text)}, rest=text)
TOOL_CHOICE = external(
    {
        "auto": None,
        "none": None,
        "required": None,
        "specific": struct({"function_names": required(array(text))}),
    }
)
REASONING = external(
    {
        "off": None,
        "effort": words("minimal", "low", "medium", "high", "xhigh", "max"),
        "budget": struct({"tokens": required(U64)}),
    }
)
OPTIONS = struct(
    {
        "reasoning": nulled(REASONING),
        "cache": nulled(words("none", "short", "long")),
        "service_tier": nulled(words("auto", "default", "flex", "priority")),
        "verbosity": nulled(words("low", "medium", "high")),
        "parallel_tool_calls": nulled(boolean),
        "top_p": nulled(double),
        "seed": nulled(U64),
        "stop": optional(array(text), []),
        "on_unsupported": optional(words("error", "ignore")),
    }
)
REQUEST = struct(
    {
        "model": nulled(text),
        "chat_history": required(array(MESSAGE)),
        "documents": required(array(DOCUMENT)),
        "tools": required(array(TOOL_DEFINITION)),
        "temperature": nulled(double),
        "max_tokens": nulled(U64),
        "tool_choice": nulled(TOOL_CHOICE),
        "additional_params": nulled(anything),
        "output_schema": nulled(_schema),
        "accept_unknown_finish_reasons": optional(boolean, False),
        "options": optional(OPTIONS, OPTIONS({})),
        "provider_options": optional(mapping(mapping(mapping(anything))), {}),
    }
)
